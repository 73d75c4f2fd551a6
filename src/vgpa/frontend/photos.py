"""The photos of a folder: which files are photos, and which of them can be read.

A photo is a file with a photo's suffix; other files (notes, calibration) are left alone. Each photo is decoded
once at low resolution, because a truncated file often opens and only fails while it is read.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from vgpa.errors import InputError

SUFFIXES = {".jpg", ".jpeg", ".png", ".tif", ".tiff", ".bmp", ".webp"}
MIN_SIDE_PX = 32


def list_photos(folder: Path) -> list[str]:
    """Names of all photos below a folder: POSIX paths relative to it, sorted."""
    if not folder.is_dir():
        raise InputError(f"There is no folder of photos at {folder}", "Give the path of a folder that holds them")
    found = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    names = sorted(path.relative_to(folder).as_posix() for path in found)
    if not names:
        kinds = ", ".join(sorted(suffix[1:] for suffix in SUFFIXES))
        raise InputError(f"There are no photos in {folder}", f"Put at least two files there ({kinds})")
    return names


def require_two(folder: Path, num_readable: int, unreadable: dict[str, str]) -> None:
    """Raise unless at least two photos can be read; `unreadable` gives the reasons of the others."""
    if num_readable >= 2:
        return
    broken = "".join(f"; {name!r} cannot be read: {why}" for name, why in list(unreadable.items())[:3])
    raise InputError(
        f"{folder} holds {num_readable} readable photo{'' if num_readable == 1 else 's'}{broken}",
        "Give at least two photos of the same scene",
    )


def find_problem(path: Path) -> str | None:
    """Why a photo cannot be used, or None."""
    try:
        with Image.open(path) as image:
            width, height = image.size
            if min(width, height) < MIN_SIDE_PX:
                return f"only {width} x {height} pixels"
            # JPEG decodes eight times smaller, which still reads the whole file.
            image.draft("L", (width // 8, height // 8))
            image.load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        return str(error).splitlines()[0] if str(error) else type(error).__name__
    return None
