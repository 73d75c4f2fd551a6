"""Photos of a model, found by name and copied next to an export.

Names come from a model file, which anybody may have written: one that would lead out of a folder is refused before
anything is read or written.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath

from vgpa.errors import InputError, OutputError
from vgpa.scene import ImageSet

FOLDER = "images"
"""Where photos lie in an export."""


def check_names(names: Iterable[str]) -> None:
    """Raise unless every name stays inside the folder that it is joined to."""
    for name in names:
        posix, windows = PurePosixPath(name), PureWindowsPath(name)
        is_inside = not posix.is_absolute() and not windows.drive and ".." not in windows.parts
        if not is_inside or not posix.name or "\0" in name:
            raise InputError(
                f"The model calls an image {name!r}, which is no path inside a folder of photos",
                "Rename it in the model; names are relative to the image folder",
            )


def check_photos(source: Path, target: Path, names: Iterable[str]) -> None:
    """Raise unless all photos are below `source`, and writing them below `target` leaves those alone."""
    if not source.is_dir():
        raise InputError(f"There is no folder of photos at {source}", "Give the path of the folder with --images")
    if target.resolve() == source.resolve():
        raise InputError(f"The export would overwrite the photos in {source}", "Give another folder with -o")
    for name in names:
        if not (source / name).is_file():
            raise InputError(
                f"The photo {name!r} of the model is not in {source}",
                "Give with --images the folder that the model was made from",
            )
        if not (target / name).resolve().is_relative_to(target.resolve()):
            raise OutputError(f"{target / name} is a link out of the export", "Give an empty folder with -o")


def copy_photos(images: ImageSet, source: Path, target: Path) -> None:
    """Copy the photos of `source` as they are."""
    for name in images.names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)
