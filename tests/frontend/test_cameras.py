"""Which camera took a photo: the user decides, then EXIF, then the look of the collection."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, Image

from vgpa.config import FeatureConfig
from vgpa.errors import InputError
from vgpa.frontend.cameras import PhotoFacts, assign_cameras, counts_original_pixels, read_facts
from vgpa.scene import Camera, FocalSource

CONFIG = FeatureConfig()


def write_photo(
    path: Path, size: tuple[int, int] = (120, 80), model: str = "", focal_35mm: int = 0, gps: object = None
) -> None:
    exif = Image.Exif()
    if model:
        exif[ExifTags.Base.Make], exif[ExifTags.Base.Model] = "Maker", model
    if focal_35mm:
        exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.FocalLengthIn35mmFilm] = focal_35mm
    if gps is not None:
        exif.get_ifd(ExifTags.IFD.GPSInfo).update(gps)  # type: ignore[call-overload]
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.zeros((size[1], size[0], 3), dtype=np.uint8)).save(path, exif=exif)


def read_all(folder: Path) -> dict[str, PhotoFacts]:
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.jpg"))
    return {name: read_facts(folder / name, "SIMPLE_RADIAL") for name in names}


def groups(folder: Path, config: FeatureConfig = CONFIG) -> list[set[str]]:
    """Sets of photos that share a camera."""
    assigned = assign_cameras(read_all(folder), config)
    keys = {key for key, _ in assigned.values()}
    return sorted(({name for name in assigned if assigned[name][0] == key} for key in keys), key=sorted)


def test_exif_gives_focal_length_and_decides_who_shares(tmp_path: Path) -> None:
    write_photo(tmp_path / "a.jpg", model="One", focal_35mm=28)
    write_photo(tmp_path / "b.jpg", model="One", focal_35mm=28)
    write_photo(tmp_path / "zoomed.jpg", model="One", focal_35mm=50)
    write_photo(tmp_path / "other.jpg", model="Two", focal_35mm=28)
    write_photo(tmp_path / "turned.jpg", size=(80, 120), model="One", focal_35mm=28)
    assert groups(tmp_path) == [{"a.jpg", "b.jpg"}, {"other.jpg"}, {"turned.jpg"}, {"zoomed.jpg"}]
    camera = read_all(tmp_path)["a.jpg"].camera
    assert camera.focal_source is FocalSource.EXIF
    assert camera.params[0] == pytest.approx(28 / 35 * 120, rel=0.1)


def test_silent_photos_of_one_size_are_frames_of_one_camera(tmp_path: Path) -> None:
    for name in ("a.jpg", "b.jpg", "c.jpg"):
        write_photo(tmp_path / name)
    assert groups(tmp_path) == [{"a.jpg", "b.jpg", "c.jpg"}]
    facts = read_all(tmp_path)["a.jpg"]
    assert facts.camera.focal_source is FocalSource.GUESS
    assert facts.camera.params[0] == pytest.approx(1.2 * 120)


def test_silent_photos_of_several_sizes_are_strangers(tmp_path: Path) -> None:
    write_photo(tmp_path / "a.jpg")
    write_photo(tmp_path / "b.jpg")
    write_photo(tmp_path / "c.jpg", size=(100, 90))
    assert len(groups(tmp_path)) == 3


@pytest.mark.parametrize(("mode", "num"), [("single", 1), ("folder", 2), ("image", 4)])
def test_the_user_decides_who_shares(mode: str, num: int, tmp_path: Path) -> None:
    for name in ("x/a.jpg", "x/b.jpg", "y/a.jpg", "y/b.jpg"):
        write_photo(tmp_path / name, model=name[0], focal_35mm=30)
    assert len(groups(tmp_path, replace(CONFIG, camera_mode=mode))) == num  # type: ignore[arg-type]


def test_one_camera_has_one_size(tmp_path: Path) -> None:
    write_photo(tmp_path / "a.jpg")
    write_photo(tmp_path / "b.jpg", size=(100, 90))
    with pytest.raises(InputError, match=r"'b\.jpg' is 100 x 90 pixels"):
        groups(tmp_path, replace(CONFIG, camera_mode="single"))


def test_known_parameters_are_the_users(tmp_path: Path) -> None:
    write_photo(tmp_path / "a.jpg", model="One", focal_35mm=28)
    write_photo(tmp_path / "b.jpg", model="Two", focal_35mm=50)
    assigned = assign_cameras(read_all(tmp_path), replace(CONFIG, camera_params="99,60,40,0.1"))
    assert assigned["a.jpg"][0] == assigned["b.jpg"][0]
    camera = assigned["a.jpg"][1]
    assert camera.focal_source is FocalSource.USER
    np.testing.assert_array_equal(camera.params, [99, 60, 40, 0.1])


@pytest.mark.parametrize(
    ("focal_px", "details", "expected"),
    [
        (7874.0, {37386: 50.0, 41486: 4000.0, 41488: 2}, True),
        (7874.0, {37386: 50.0, 41486: 1574.8, 41488: 3}, True),
        (1440.0, {37386: 50.0, 41486: 4000.0, 41488: 2}, False),
        (7874.0, {37386: 50.0, 41989: 75}, False),
        (7874.0, {37386: "nonsense", 41486: 4000.0, 41488: 9}, False),
    ],
)
def test_focal_lengths_made_from_focal_plane_resolution_are_recognised(
    focal_px: float, details: dict[int, object], expected: bool
) -> None:
    camera = Camera("SIMPLE_RADIAL", 1200, 800, np.array([focal_px, 600, 400, 0]), FocalSource.EXIF)
    assert counts_original_pixels(camera, details) is expected


@pytest.mark.parametrize("seed", range(20))
def test_garbage_exif_is_no_exif_or_some_camera(seed: int, tmp_path: Path) -> None:
    write_photo(tmp_path / "good.jpg", model="One", focal_35mm=28)
    exif = bytearray(Image.open(tmp_path / "good.jpg").info["exif"])
    rng = np.random.default_rng(seed)
    for place in rng.integers(6, len(exif), 12):
        exif[place] = rng.integers(0, 256)
    Image.open(tmp_path / "good.jpg").save(tmp_path / "bad.jpg", exif=bytes(exif))
    camera = read_facts(tmp_path / "bad.jpg", "SIMPLE_RADIAL").camera
    assert np.isfinite(camera.params).all()
    assert (camera.width_px, camera.height_px) == (120, 80)


def test_gps_is_read_with_its_hemispheres(tmp_path: Path) -> None:
    tag = ExifTags.GPS
    gps = {
        tag.GPSLatitudeRef: "S",
        tag.GPSLatitude: (33.0, 30.0, 36.0),
        tag.GPSLongitudeRef: "E",
        tag.GPSLongitude: (151.0, 12.0, 0.0),
        tag.GPSAltitude: 25.0,
    }
    write_photo(tmp_path / "a.jpg", gps=gps)
    assert read_all(tmp_path)["a.jpg"].gps == pytest.approx((-33.51, 151.2, 25.0))


def test_nonsense_gps_is_no_position(tmp_path: Path) -> None:
    tag = ExifTags.GPS
    write_photo(tmp_path / "a.jpg", gps={tag.GPSLatitudeRef: "N", tag.GPSLatitude: (999.0, 0.0, 0.0)})
    write_photo(tmp_path / "b.jpg")
    assert [facts.gps for facts in read_all(tmp_path).values()] == [None, None]
