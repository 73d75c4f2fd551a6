"""What every dataset keeps to, whatever its files look like."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.datasets.layouts import LAYOUTS, NUM_IMAGES, NUM_POINTS, Layout, make_truth
from tests.synthetic import Truth
from vgpa.colmap.cameras import project
from vgpa.datasets import DATASET_NAMES, DatasetScene, dataset
from vgpa.errors import InputError
from vgpa.evaluate.scores import camera_errors
from vgpa.scene import FocalSource

PARTLY = ("half", "garbled")
"""Damage that may leave a file readable: half a list is a list."""


@pytest.fixture(scope="module")
def truth() -> Truth:
    return make_truth()


@pytest.fixture(scope="module", params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> Layout:
    return LAYOUTS[request.param]


@pytest.fixture(scope="module")
def root(layout: Layout, truth: Truth, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(layout.dataset)
    layout.write(folder, truth)
    return folder


@pytest.fixture(scope="module")
def scene(layout: Layout, root: Path) -> DatasetScene:
    return dataset(layout.dataset).load_scene(root, layout.scene)


def test_every_dataset_is_tested() -> None:
    assert {layout.dataset for layout in LAYOUTS.values()} == set(DATASET_NAMES)


def test_the_scene_is_listed(layout: Layout, root: Path) -> None:
    scenes = dataset(layout.dataset).list_scenes(root)
    assert layout.scene in scenes
    assert scenes == sorted(set(scenes))


def test_a_folder_without_scenes_lists_none(layout: Layout, tmp_path: Path) -> None:
    (tmp_path / "something else").mkdir()
    (tmp_path / "notes.txt").write_text("nothing here")
    assert dataset(layout.dataset).list_scenes(tmp_path) == []


def test_names_are_those_of_the_photos(layout: Layout, scene: DatasetScene, truth: Truth) -> None:
    assert scene.name == layout.scene
    assert scene.reference.images.names == truth.problem.images.names


def test_poses_are_the_true_ones(scene: DatasetScene, truth: Truth) -> None:
    assert scene.reference.poses.is_known.all()
    rotation_deg, position = camera_errors(scene.reference.poses.cam_from_world, truth.cam_from_world)
    np.testing.assert_allclose(rotation_deg, 0, atol=1e-5)
    np.testing.assert_allclose(position, 0, atol=1e-6)


def test_points_are_seen_where_they_were(layout: Layout, scene: DatasetScene, truth: Truth) -> None:
    """Poses and intrinsics together, in COLMAP's pixels."""
    images = scene.reference.images
    if not layout.has_intrinsics:
        assert {camera.focal_source for camera in images.cameras} == {FocalSource.GUESS}
        return
    assert {camera.focal_source for camera in images.cameras} == {FocalSource.PRIOR}
    assert all((camera.width_px, camera.height_px) == (1000, 800) for camera in images.cameras)
    image_idx = np.repeat(np.arange(NUM_IMAGES), NUM_POINTS)
    in_cam = scene.reference.poses.cam_from_world[image_idx].apply(np.tile(truth.xyz, (NUM_IMAGES, 1)))
    np.testing.assert_allclose(project(images, image_idx, in_cam), truth.problem.keypoints.xy_px, atol=1e-3)


def test_photos_are_found(layout: Layout, scene: DatasetScene) -> None:
    assert (scene.image_dir is not None) == layout.has_photos
    if scene.image_dir is not None:
        assert all((scene.image_dir / name).is_file() for name in scene.reference.images.names)


def test_tracks_show_the_true_points(layout: Layout, scene: DatasetScene, truth: Truth) -> None:
    if not layout.has_tracks:
        assert scene.tracks is None
        return
    assert scene.tracks is not None
    assert scene.keypoints is not None
    assert scene.tracks.lengths.tolist() == [NUM_IMAGES] * NUM_POINTS
    observed = scene.keypoints.xy_px[scene.keypoints.offsets[scene.tracks.image_idx] + scene.tracks.keypoint_idx]
    expected = truth.problem.keypoints.xy_px.reshape(NUM_IMAGES, NUM_POINTS, 2)
    np.testing.assert_allclose(observed, expected[scene.tracks.image_idx, scene.tracks.track_idx], atol=1e-6)


def test_an_unknown_scene_is_one_sentence(layout: Layout, root: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        dataset(layout.dataset).load_scene(root, "nowhere")


@pytest.mark.parametrize("damage", ["removed", "empty", "half", "garbled"])
def test_a_damaged_scene_names_the_file(layout: Layout, root: Path, damage: str, tmp_path: Path) -> None:
    """Whatever happens to one file, the scene is read, or refused with one sentence that says where."""
    copy = tmp_path / "copy"
    refused: dict[Path, InputError] = {}
    for file in sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file()):
        shutil.copytree(root, copy)
        _damage(copy / file, damage)
        try:
            dataset(layout.dataset).load_scene(copy, layout.scene)
        except InputError as error:
            refused[file] = error
        shutil.rmtree(copy)
    for error in refused.values():
        assert str(copy) in error.what
        assert "\n" not in str(error)
    needed = {path.relative_to(root) for path in root.rglob("*") if path.suffix != ".jpg" and path.is_file()}
    unnoticed = {path.name for path in needed.difference(refused)}
    assert unnoticed <= {"K.txt", "pair.txt", "database.db"} | (
        {"cameras.bin", "cc.txt"} if damage in PARTLY else set()
    )


def _damage(path: Path, damage: str) -> None:
    content = path.read_bytes()
    if damage == "removed":
        path.unlink()
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "half":
        path.write_bytes(content[: len(content) // 2])
    else:
        noise = np.random.default_rng(0).integers(0, 256, len(content), dtype=np.uint8)
        path.write_bytes(content[:20] + noise.tobytes()[20:])
