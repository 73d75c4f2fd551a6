"""The photos of a folder: which files are photos, and which of them can be read.

A photo is a file with a photo's suffix; other files (notes, calibration) are left alone. Each photo is decoded
once at low resolution, because a truncated file often opens and only fails while it is read.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from vgpa.errors import InputError

SUFFIXES = {".jpg", ".jpeg", ".png", ".tif", ".tiff", ".bmp", ".webp"}
MIN_SIDE_PX = 32


@dataclass(frozen=True)
class Photos:
    """A folder of photos.

    Attributes:
        folder: where they are.
        names: readable photos, POSIX paths relative to the folder, sorted.
        unreadable: name of every other photo, with the reason.
    """

    folder: Path
    names: tuple[str, ...]
    unreadable: dict[str, str]


def find_photos(folder: Path) -> Photos:
    """All photos below a folder; raises when there are not at least two that can be read."""
    if not folder.is_dir():
        raise InputError(f"There is no folder of photos at {folder}", "Give the path of a folder that holds them")
    found = sorted(p for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
    problems = {path.relative_to(folder).as_posix(): _problem(path) for path in found}
    names = tuple(name for name, problem in problems.items() if problem is None)
    unreadable = {name: problem for name, problem in problems.items() if problem is not None}
    if not found:
        kinds = ", ".join(sorted(suffix[1:] for suffix in SUFFIXES))
        raise InputError(f"There are no photos in {folder}", f"Put at least two files there ({kinds})")
    if len(names) < 2:
        broken = "".join(f"; {name!r} cannot be read: {why}" for name, why in list(unreadable.items())[:3])
        raise InputError(
            f"{folder} holds {len(names)} readable photo{'' if len(names) == 1 else 's'}{broken}",
            "Give at least two photos of the same scene",
        )
    return Photos(folder, names, unreadable)


def _problem(path: Path) -> str | None:
    """Why a photo cannot be used, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as image:
                if min(image.size) < MIN_SIDE_PX:
                    return f"only {image.size[0]} x {image.size[1]} pixels"
                # JPEG decodes eight times smaller, which still reads the whole file.
                image.draft("L", (image.size[0] // 8, image.size[1] // 8))
                image.load()
    except (
        OSError,
        ValueError,
        SyntaxError,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ) as error:
        return str(error).splitlines()[0] if str(error) else type(error).__name__
    return None
