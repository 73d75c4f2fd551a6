"""Models: a round trip through COLMAP's files keeps everything, and bundle adjustment finds the minimum."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pycolmap
import pytest
from scipy.spatial.transform import Rotation

from tests.synthetic import Truth, make_problem
from vgpa.colmap import bundle
from vgpa.colmap.bundle import BundleOptions, bundle_adjust
from vgpa.colmap.cameras import MODEL_NAMES, check_params, focal_change, has_believable_focal, project, unproject
from vgpa.colmap.model import read_model, write_model
from vgpa.errors import InputError
from vgpa.evaluate import evaluate
from vgpa.geometry.rigid import Rigid
from vgpa.scene import Camera, ImageSet, Poses, Reconstruction, Tracks

OPTIONS = BundleOptions("huber", 1.0, 1e-10, 100, refine_intrinsics=False, num_threads=1)


def true_model(truth: Truth) -> Reconstruction:
    num_images, num_points = len(truth.problem.images), len(truth.xyz)
    tracks = Tracks(
        num_images * np.arange(num_points + 1),
        np.tile(np.arange(num_images), num_points),
        np.repeat(np.arange(num_points), num_images),
    )
    color = np.random.default_rng(0).integers(0, 255, (num_points, 3))
    error = np.linspace(0, 1, num_points)
    return Reconstruction(truth.problem.images, Poses.of_all(truth.cam_from_world), truth.xyz, tracks, error, color)


@pytest.mark.parametrize("is_text", [False, True])
def test_round_trip_through_files(is_text: bool, tmp_path: Path) -> None:
    truth = make_problem(5, 30)
    model = true_model(truth)
    write_model(model, truth.problem.keypoints, tmp_path / "bin")
    folder = tmp_path / "bin"
    if is_text:
        folder = tmp_path / "text"
        folder.mkdir()
        pycolmap.Reconstruction(tmp_path / "bin").write_text(folder)
    read, keypoints = read_model(folder)
    assert read.images.names == model.images.names
    np.testing.assert_allclose(read.poses.cam_from_world.matrix, model.poses.cam_from_world.matrix, atol=1e-12)
    np.testing.assert_allclose(read.xyz, model.xyz)
    np.testing.assert_array_equal(read.color, model.color)
    np.testing.assert_allclose(read.error_px, model.error_px, atol=1e-6)
    np.testing.assert_array_equal(read.tracks.offsets, model.tracks.offsets)
    np.testing.assert_array_equal(read.tracks.image_idx, model.tracks.image_idx)
    np.testing.assert_allclose(keypoints.xy_px, truth.problem.keypoints.xy_px, rtol=1e-6)
    assert evaluate(read, model).auc[1] == pytest.approx(1, abs=1e-5)


def test_files_are_those_that_pycolmap_would_write(tmp_path: Path) -> None:
    truth = make_problem(5, 30)
    model = true_model(truth)
    known = np.array([True, True, False, True, True])
    tracks = model.tracks.select_observations(known[model.tracks.image_idx]).select(np.arange(30) % 3 > 0)
    part = replace(model.select_points(np.arange(30) % 3 > 0), poses=model.poses.keep(known), tracks=tracks)
    write_model(part, truth.problem.keypoints, tmp_path / "ours")
    (tmp_path / "theirs").mkdir()
    pycolmap.Reconstruction(tmp_path / "ours").write(tmp_path / "theirs")
    names = sorted(path.name for path in (tmp_path / "ours").iterdir())
    assert names == ["cameras.bin", "frames.bin", "images.bin", "points3D.bin", "rigs.bin"]
    for name in names:
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes(), name


def test_unregistered_images_are_not_written(tmp_path: Path) -> None:
    truth = make_problem(5, 30)
    model = true_model(truth)
    known = np.array([True, True, False, True, True])
    tracks = model.tracks.select_observations(known[model.tracks.image_idx])
    write_model(replace(model, poses=model.poses.keep(known), tracks=tracks), truth.problem.keypoints, tmp_path)
    assert read_model(tmp_path)[0].images.names == tuple(np.array(model.images.names)[known])


def test_bundle_adjustment_undoes_a_perturbation() -> None:
    truth = make_problem(6, 80)
    model = true_model(truth)
    rng = np.random.default_rng(1)
    turn = Rotation.from_rotvec(rng.normal(size=(6, 3)) * 0.005).as_matrix()
    moved = Rigid.from_centre(
        turn @ truth.cam_from_world.rotation, truth.cam_from_world.centre + rng.normal(size=(6, 3)) * 0.02
    )
    start = replace(model, poses=Poses.of_all(moved), xyz=model.xyz + rng.normal(size=(80, 3)) * 0.01)
    solved = bundle_adjust(start, truth.problem.keypoints, OPTIONS)
    assert evaluate(start, model).auc[1] < 0.8
    assert evaluate(solved, model).rotation_mean_deg < 1e-3


@pytest.mark.parametrize("min_filled", [0.5, 1.1])
def test_a_system_where_all_see_the_same_finds_the_minimum_dense_or_not(
    min_filled: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "MIN_FILLED", min_filled)
    truth = make_problem(bundle.MAX_NUM_SMALL + 4, 60)
    model = true_model(truth)
    moved = replace(model, xyz=model.xyz + 0.05 * np.random.default_rng(1).normal(size=model.xyz.shape))
    assert bundle._is_filled(moved) == (min_filled < 1)
    adjusted = bundle_adjust(moved, truth.problem.keypoints, OPTIONS)
    assert evaluate(adjusted, model).auc[1] > 0.999


def test_focal_length_is_refined_only_when_asked() -> None:
    truth = make_problem(6, 80)
    model = true_model(truth)
    camera = model.images.cameras[0]
    wrong = replace(
        model, images=model.images.with_cameras((replace(camera, params=camera.params * [1.05, 1.05, 1, 1]),))
    )
    fixed = bundle_adjust(wrong, truth.problem.keypoints, OPTIONS)
    free = bundle_adjust(wrong, truth.problem.keypoints, replace(OPTIONS, refine_intrinsics=True))
    assert fixed.images.cameras[0].params[0] == pytest.approx(840)
    assert free.images.cameras[0].params[0] == pytest.approx(800, rel=1e-3)
    assert free.images.cameras[0].focal_source == camera.focal_source


def test_pixels_to_rays_and_back() -> None:
    cameras = (
        Camera("SIMPLE_RADIAL", 640, 480, np.array([500.0, 320, 240, 0.05])),
        Camera("OPENCV", 640, 480, np.array([500.0, 510, 320, 240, 0.05, 0.01, 1e-3, 1e-3])),
    )
    images = ImageSet(("a", "b"), np.array([0, 1]), cameras, np.arange(2))
    rng = np.random.default_rng(0)
    image_idx = rng.integers(0, 2, 50)
    xy_px = rng.uniform([50, 50], [590, 430], (50, 2))
    rays = unproject(images, image_idx, xy_px)
    np.testing.assert_allclose(np.linalg.norm(rays, axis=-1), 1)
    np.testing.assert_allclose(project(images, image_idx, 7 * rays), xy_px, atol=1e-6)
    assert np.isnan(project(images, image_idx, -rays)).all()


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read as a COLMAP model"):
        read_model(tmp_path)
    with pytest.raises(InputError, match="no model folder"):
        read_model(tmp_path / "nowhere")


@pytest.mark.parametrize(("model", "params"), [("NO_SUCH_MODEL", ""), ("PINHOLE", "1,2"), ("PINHOLE", "1,2,3,x")])
def test_camera_options_that_do_not_fit_are_refused(model: str, params: str) -> None:
    with pytest.raises(InputError):
        check_params(model, params)


@pytest.mark.parametrize("name", MODEL_NAMES.values())
def test_every_camera_model_can_be_asked_for_its_focal_length(name: str) -> None:
    """Some have one focal length, some two, and one has none."""
    params = np.array(pycolmap.Camera.create_from_model_name(1, name, 500.0, 640, 480).params)
    camera = Camera(name, 640, 480, params)
    twice = replace(camera, params=params * np.where(params == 500, 2, 1))
    assert has_believable_focal(camera) == (name != "EQUIRECTANGULAR")
    assert set(focal_change(camera, twice)) <= {2.0}
