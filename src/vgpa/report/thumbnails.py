"""Small pictures of the photos that a reader should look at: the missing ones and the doubtful ones.

Names come from databases that anybody may have written: none is followed out of the folder of the photos.
"""

from __future__ import annotations

import base64
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image, ImageOps

from vgpa.scene import ImageState

SIZE_PX = 176
"""Longest side of a picture."""
MAX_NUM_OF_A_KIND = 24
"""Pictures for each reason: a reader sees the kind of photo, and the page stays small."""
QUALITY = 72


def read_photo(folder: Path, name: str, size_px: int) -> Image.Image | None:
    """A photo, upright and at most this large, or None where there is none below the folder that can be read."""
    try:
        path = (folder / name).resolve()
        if not (path.is_relative_to(folder.resolve()) and path.is_file()):
            return None
        with Image.open(path) as image:
            image.draft("RGB", (size_px, size_px))
            small = ImageOps.exif_transpose(image).convert("RGB")
    except (OSError, ValueError, SyntaxError, ArithmeticError, Image.DecompressionBombError):
        return None
    small.thumbnail((size_px, size_px))
    return small


def make_thumbnails(rows: list[dict[str, Any]], folder: Path) -> dict[str, str]:
    """JPEG data URIs of the images to look at, by their row in the report's list (as text, for JSON)."""
    num_of_kind: dict[str, int] = {}
    found: dict[str, str] = {}
    for k, row in enumerate(rows):
        kind = row["state"] if row["state"] != ImageState.REGISTERED else "doubtful" if row.get("doubts") else ""
        if not kind or num_of_kind.get(kind, 0) == MAX_NUM_OF_A_KIND:
            continue
        photo = read_photo(folder, row["name"], SIZE_PX)
        if photo is not None:
            found[str(k)] = _data_uri(photo)
            num_of_kind[kind] = num_of_kind.get(kind, 0) + 1
    return found


def _data_uri(photo: Image.Image) -> str:
    buffer = BytesIO()
    photo.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
