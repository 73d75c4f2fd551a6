"""Small pictures: only of images to look at, only from the folder of the photos, and never a reason to fail."""

from __future__ import annotations

import base64
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from vgpa.report.thumbnails import MAX_NUM_OF_A_KIND, SIZE_PX, make_thumbnails, read_photo


def row(name: str, state: str = "no_matches", doubts: list[str] | None = None) -> dict[str, Any]:
    return {"name": name, "state": state, "doubts": doubts or []}


def write_photo(path: Path, size: tuple[int, int] = (400, 300)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (200, 60, 30)).save(path)


def decoded(uri: str) -> Image.Image:
    assert uri.startswith("data:image/jpeg;base64,")
    return Image.open(BytesIO(base64.b64decode(uri.split(",")[1])))


def test_missing_and_doubtful_images_have_pictures_and_others_none(tmp_path: Path) -> None:
    for name in ("lost.jpg", "doubtful.png", "sub/good.jpg"):
        write_photo(tmp_path / name)
    rows = [row("sub/good.jpg", "registered"), row("doubtful.png", "registered", ["far away"]), row("lost.jpg")]
    found = make_thumbnails(rows, tmp_path)
    assert set(found) == {"1", "2"}
    assert all(decoded(uri).size == (SIZE_PX, round(SIZE_PX * 3 / 4)) for uri in found.values())


def test_each_reason_has_a_bounded_number_of_pictures(tmp_path: Path) -> None:
    write_photo(tmp_path / "a.jpg")
    rows = [row("a.jpg", state) for state in ("no_matches", "no_features") for _ in range(MAX_NUM_OF_A_KIND + 5)]
    assert len(make_thumbnails(rows, tmp_path)) == 2 * MAX_NUM_OF_A_KIND


def test_no_name_leads_out_of_the_folder(tmp_path: Path) -> None:
    write_photo(tmp_path / "secret.jpg")
    inside = tmp_path / "photos"
    inside.mkdir()
    (inside / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    for name in ("../secret.jpg", str(tmp_path / "secret.jpg"), "link.jpg"):
        assert read_photo(inside, name, 50) is None, name


@pytest.mark.parametrize("content", [b"", b"no photo", b"\xff\xd8\xff\xe0 cut", b"P6 99999 99999 255\n"])
def test_files_that_are_no_photos_have_no_picture(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.jpg").write_bytes(content)
    assert make_thumbnails([row("a.jpg"), row("absent.jpg"), row("nul\0.jpg"), row("x" * 3000)], tmp_path) == {}


def test_a_photo_taken_upright_is_shown_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (400, 300)).save(tmp_path / "a.jpg", exif=exif)
    photo = read_photo(tmp_path, "a.jpg", 100)
    assert photo is not None
    assert photo.size == (75, 100)


def test_odd_modes_become_colours(tmp_path: Path) -> None:
    for mode in ("L", "P", "RGBA", "I;16", "1"):
        Image.new(mode, (40, 30)).save(tmp_path / "a.png")
        photo = read_photo(tmp_path, "a.png", 20)
        assert photo is not None, mode
        assert photo.mode == "RGB", mode
