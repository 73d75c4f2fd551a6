"""Straightening: rays stay, photos and keypoints move together, and COLMAP sees the same error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pycolmap
import pytest
from PIL import Image

from tests.report.export.models import LENSES, error_px, make_model
from tests.synthetic import HEIGHT_PX, WIDTH_PX
from vgpa.colmap.cameras import unproject
from vgpa.colmap.model import write_model
from vgpa.colmap.undistort import undistort_model, undistort_photos
from vgpa.errors import InputError
from vgpa.scene import Camera, ImageSet, Keypoints, Reconstruction


def all_rays(model: Reconstruction, keypoints: Keypoints) -> np.ndarray:
    return unproject(model.images, np.repeat(np.arange(len(model.images)), keypoints.num_of()), keypoints.xy_px)


@pytest.mark.parametrize("lens", LENSES)
def test_cameras_become_pinholes_and_rays_stay(lens: str) -> None:
    model, keypoints = make_model(lens)
    straight, moved = undistort_model(model, keypoints)
    assert {camera.model for camera in straight.images.cameras} == {"PINHOLE"}
    np.testing.assert_allclose(all_rays(straight, moved), all_rays(model, keypoints), atol=1e-8)
    np.testing.assert_array_equal(straight.tracks.image_idx, model.tracks.image_idx)


def test_colmap_measures_the_same_error(tmp_path: Path) -> None:
    model, keypoints = make_model("OPENCV", "SIMPLE_RADIAL")
    write_model(*undistort_model(model, keypoints), tmp_path)
    straight = pycolmap.Reconstruction(tmp_path)
    straight.update_point_3d_errors()
    # Straightening stretches the picture a little, and the error with it.
    assert straight.compute_mean_reprojection_error() == pytest.approx(error_px(model, keypoints).mean(), rel=0.03)


def test_keypoints_that_no_ray_reaches_lose_their_observation() -> None:
    model, keypoints = make_model("SIMPLE_RADIAL")
    lens = Camera("SIMPLE_RADIAL", WIDTH_PX, HEIGHT_PX, np.array([800.0, 500, 400, -0.3]))
    xy_px = keypoints.xy_px.copy()
    xy_px[7] = 20_000, 20_000
    model = replace(model, images=model.images.with_cameras((lens,)))
    straight, moved = undistort_model(model, replace(keypoints, xy_px=xy_px))
    assert np.isfinite(moved.xy_px).all()
    assert straight.tracks.num_observations == model.tracks.num_observations - 1
    assert straight.num_points == model.num_points


def one_image(lens: str, name: str = "a.png") -> ImageSet:
    camera = Camera(lens, WIDTH_PX, HEIGHT_PX, np.array(LENSES[lens]))
    return ImageSet((name,), np.zeros(1, dtype=np.int64), (camera,), np.ones(1, dtype=np.int64))


@pytest.mark.parametrize("lens", ["SIMPLE_RADIAL", "OPENCV", "OPENCV_FISHEYE"])
@pytest.mark.parametrize("spot_px", [(150.5, 120.25), (500.0, 400.0), (870.0, 650.75)])
def test_photo_and_keypoint_move_to_the_same_place(lens: str, spot_px: tuple[float, float], tmp_path: Path) -> None:
    images = one_image(lens, "deep/in/a.png")
    # The first pixel's centre is at (0.5, 0.5).
    x, y = np.meshgrid(np.arange(WIDTH_PX) + 0.5, np.arange(HEIGHT_PX) + 0.5)
    spot = 255 * np.exp(-((x - spot_px[0]) ** 2 + (y - spot_px[1]) ** 2) / (2 * 4.0**2))
    (tmp_path / "photos/deep/in").mkdir(parents=True)
    red = np.stack([spot, 0 * spot, 0 * spot], axis=-1).astype(np.uint8)
    Image.fromarray(red).save(tmp_path / "photos/deep/in/a.png")
    undistort_photos(images, tmp_path / "photos", tmp_path / "straight")
    photo = np.asarray(Image.open(tmp_path / "straight/deep/in/a.png"), dtype=float)
    assert photo[..., 1:].max() == 0
    model, _ = make_model(lens)
    empty = model.select_points(np.zeros(model.num_points, dtype=bool))
    keypoints = Keypoints(np.array([0, 1, 1, 1, 1, 1, 1]), np.array([spot_px]))
    straight, moved = undistort_model(empty, keypoints)
    assert photo.shape[:2] == (straight.images.cameras[0].height_px, straight.images.cameras[0].width_px)
    rows, columns = np.indices(photo.shape[:2]) + 0.5
    found = np.array([np.sum(columns * photo[..., 0]), np.sum(rows * photo[..., 0])]) / photo[..., 0].sum()
    np.testing.assert_allclose(found, moved.xy_px[0], atol=0.15)


def test_photos_of_a_pinhole_are_copied_as_they_are(tmp_path: Path) -> None:
    images = one_image("PINHOLE", "a.jpg")
    Image.new("RGB", (WIDTH_PX, HEIGHT_PX)).save(tmp_path / "a.jpg", quality=37)
    undistort_photos(images, tmp_path, tmp_path / "straight")
    assert (tmp_path / "straight/a.jpg").read_bytes() == (tmp_path / "a.jpg").read_bytes()


@pytest.mark.parametrize("name", ["a.jpg", "a.webp", "a.tif", "a.bmp", "a.PNG"])
def test_every_kind_of_photo_is_written(name: str, tmp_path: Path) -> None:
    Image.new("L", (WIDTH_PX, HEIGHT_PX), 90).save(tmp_path / name)
    undistort_photos(one_image("SIMPLE_RADIAL", name), tmp_path, tmp_path / "straight")
    with Image.open(tmp_path / "straight" / name) as photo:
        assert abs(int(np.asarray(photo.convert("L"))[300, 300]) - 90) <= 2


@pytest.mark.parametrize("photo", [b"no photo", None])
def test_photos_that_do_not_fit_are_refused(photo: bytes | None, tmp_path: Path) -> None:
    if photo is None:
        Image.new("RGB", (64, 48)).save(tmp_path / "a.png")
    else:
        (tmp_path / "a.png").write_bytes(photo)
    with pytest.raises(InputError, match=r"cannot be read|64 x 48"):
        undistort_photos(one_image("OPENCV"), tmp_path, tmp_path / "straight")
