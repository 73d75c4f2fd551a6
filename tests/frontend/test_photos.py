"""Photos of a folder: only photos count, and one that cannot be read is named with its reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vgpa.errors import InputError
from vgpa.frontend.photos import find_photos


def save_photo(path: Path, size: tuple[int, int] = (80, 60)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(0).integers(0, 255, (size[1], size[0], 3)).astype(np.uint8)
    Image.fromarray(pixels).save(path)


def test_other_files_are_left_alone_and_names_are_relative(tmp_path: Path) -> None:
    save_photo(tmp_path / "b.jpg")
    save_photo(tmp_path / "sub" / "a.PNG")
    (tmp_path / "K.txt").write_text("1 0 0")
    photos = find_photos(tmp_path)
    assert photos.names == ("b.jpg", "sub/a.PNG")
    assert not photos.unreadable


def test_broken_photos_are_named_with_a_reason(tmp_path: Path) -> None:
    for name in ("a.jpg", "b.jpg", "cut.jpg"):
        save_photo(tmp_path / name)
    (tmp_path / "cut.jpg").write_bytes((tmp_path / "cut.jpg").read_bytes()[:2000])
    (tmp_path / "text.png").write_text("this is no photo")
    save_photo(tmp_path / "tiny.png", (1, 1))
    photos = find_photos(tmp_path)
    assert photos.names == ("a.jpg", "b.jpg")
    assert set(photos.unreadable) == {"cut.jpg", "text.png", "tiny.png"}
    assert "1 x 1" in photos.unreadable["tiny.png"]


@pytest.mark.parametrize(("num", "message"), [(0, "no photos"), (1, "1 readable photo")])
def test_too_few_photos_are_an_error(tmp_path: Path, num: int, message: str) -> None:
    for k in range(num):
        save_photo(tmp_path / f"{k}.jpg")
    with pytest.raises(InputError, match=message):
        find_photos(tmp_path)


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        find_photos(tmp_path / "nowhere")
