"""Photos of a folder: only photos count, and one that cannot be read is named with its reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vgpa.errors import InputError
from vgpa.frontend.photos import find_problem, list_photos, require_two


def save_photo(path: Path, size: tuple[int, int] = (80, 60)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(0).integers(0, 255, (size[1], size[0], 3)).astype(np.uint8)
    Image.fromarray(pixels).save(path)


def test_other_files_are_left_alone_and_names_are_relative(tmp_path: Path) -> None:
    save_photo(tmp_path / "b.jpg")
    save_photo(tmp_path / "sub" / "a.PNG")
    (tmp_path / "K.txt").write_text("1 0 0")
    assert list_photos(tmp_path) == ["b.jpg", "sub/a.PNG"]


def test_broken_photos_have_a_reason(tmp_path: Path) -> None:
    for name in ("good.jpg", "cut.jpg"):
        save_photo(tmp_path / name)
    (tmp_path / "cut.jpg").write_bytes((tmp_path / "cut.jpg").read_bytes()[:2000])
    (tmp_path / "text.png").write_text("this is no photo")
    save_photo(tmp_path / "tiny.png", (1, 1))
    problems = {path.name: find_problem(path) for path in tmp_path.iterdir()}
    assert problems["good.jpg"] is None
    assert "truncated" in str(problems["cut.jpg"])
    assert "cannot identify" in str(problems["text.png"])
    assert "1 x 1" in str(problems["tiny.png"])


def test_too_few_photos_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no photos"):
        list_photos(tmp_path)
    with pytest.raises(InputError, match=r"1 readable photo; 'a\.jpg' cannot be read: broken"):
        require_two(tmp_path, 1, {"a.jpg": "broken"})


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        list_photos(tmp_path / "nowhere")
