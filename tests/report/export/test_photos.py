"""Names of a model never become paths outside the folders they belong to."""

from __future__ import annotations

from pathlib import Path

import pytest

from vgpa.errors import InputError, OutputError
from vgpa.report.export.photos import check_names, check_photos


@pytest.mark.parametrize(
    "name", ["../a.jpg", "a/../../b.jpg", "/etc/a.jpg", "..", "a/..", "", ".", "C:\\a.jpg", "..\\a.jpg", "a\0.jpg"]
)
def test_names_that_lead_out_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="no path inside"):
        check_names(["good.jpg", name])


@pytest.mark.parametrize("name", ["a.jpg", "walk/a b.jpg", "..a.jpg", "a..b.jpg", "<img src=x>.jpg", "ä/ö.jpg", "a\\b"])
def test_odd_names_that_stay_inside_are_fine(name: str) -> None:
    check_names([name])


def test_missing_photos_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").touch()
    check_photos(tmp_path, tmp_path / "out", ["a.jpg"])
    with pytest.raises(InputError, match=r"'b\.jpg'"):
        check_photos(tmp_path, tmp_path / "out", ["a.jpg", "b.jpg"])
    with pytest.raises(InputError, match="no folder"):
        check_photos(tmp_path / "nowhere", tmp_path / "out", ["a.jpg"])


def test_photos_are_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").touch()
    with pytest.raises(InputError, match="overwrite"):
        check_photos(tmp_path, tmp_path / "sub" / "..", ["a.jpg"])


def test_a_link_in_the_target_does_not_lead_out(tmp_path: Path) -> None:
    source, target = tmp_path / "photos", tmp_path / "out"
    (source / "walk").mkdir(parents=True)
    (source / "walk/a.jpg").touch()
    target.mkdir()
    (target / "walk").symlink_to(tmp_path)
    with pytest.raises(OutputError, match="link"):
        check_photos(source, target, ["walk/a.jpg"])
