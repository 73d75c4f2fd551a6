"""A scene becomes a database, from its tracks or its photos, with the dataset's intrinsics or without."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.datasets.layouts import LAYOUTS, make_truth
from vgpa import config
from vgpa.colmap.database import read_problem
from vgpa.datasets import DatasetScene, dataset
from vgpa.datasets.database import make_database
from vgpa.datasets.reference import make_images, make_reference, pinhole
from vgpa.demo import DemoCameras
from vgpa.errors import InputError
from vgpa.geometry.rigid import Rigid
from vgpa.scene import FocalSource, Problem


def load(layout_name: str, root: Path) -> DatasetScene:
    layout = LAYOUTS[layout_name]
    layout.write(root, make_truth())
    return dataset(layout.dataset).load_scene(root, layout.scene)


def median_error_deg(problem: Problem, scene: DatasetScene) -> float:
    """Of the measured relative rotations against the reference, matched by name."""
    names = list(scene.reference.images.names)
    order = [names.index(name) for name in problem.images.names]
    rotation = scene.reference.poses.cam_from_world[order].rotation
    return float(np.median(problem.view_graph.rotation_residuals_deg(rotation)))


@pytest.mark.parametrize("layout_name", ["onedsfm", "resfm"])
def test_tracks_become_verified_pairs(layout_name: str, tmp_path: Path) -> None:
    scene = load(layout_name, tmp_path)
    path = make_database(scene, tmp_path / "work", config.default())
    problem = read_problem(path)
    assert sorted(problem.images.names) == sorted(scene.reference.images.names)
    assert problem.view_graph.num_edges == 15
    assert median_error_deg(problem, scene) < 0.05
    assert {camera.focal_source for camera in problem.images.cameras} == {FocalSource.PRIOR}


def test_a_database_of_ones_own_is_used_as_it_is(tmp_path: Path) -> None:
    scene = load("folder", tmp_path)
    assert make_database(scene, tmp_path / "work", config.default()) == scene.database
    assert not (tmp_path / "work").exists()


def test_a_finished_database_is_kept(tmp_path: Path) -> None:
    scene = load("resfm", tmp_path)
    path = make_database(scene, tmp_path / "work", config.default())
    before = path.stat()
    assert make_database(scene, tmp_path / "work", config.default()).stat() == before


def test_forgotten_intrinsics_are_guesses(tmp_path: Path) -> None:
    scene = load("resfm", tmp_path)
    path = make_database(scene, tmp_path / "work", config.default(), forget_intrinsics=True)
    camera = read_problem(path).images.cameras[0]
    assert camera.model == "SIMPLE_RADIAL"
    # The synthetic cameras have another focal length (800); what the pairs vote for may replace the guess.
    assert camera.focal_source in (FocalSource.GUESS, FocalSource.VOTED)


def test_nothing_to_make_it_from_is_one_sentence(tmp_path: Path) -> None:
    scene = replace(load("imc", tmp_path), image_dir=None)
    with pytest.raises(InputError, match="neither photos nor tracks"):
        make_database(scene, tmp_path / "work", config.default())


def test_photos_become_verified_pairs(demo_photos: Path, demo_cameras: DemoCameras, tmp_path: Path) -> None:
    """Only photos that the reference names, with its intrinsics."""
    shutil.copytree(demo_photos, tmp_path / "photos")
    names = sorted(path.name for path in demo_photos.iterdir())[:3]
    k = np.diag([demo_cameras.focal_px, demo_cameras.focal_px, 1.0])
    k[:2, 2] = demo_cameras.width / 2, demo_cameras.height / 2
    images = make_images(names, [pinhole(k, (demo_cameras.width, demo_cameras.height))] * 3)
    poses = Rigid.from_matrix(demo_cameras.rotation[:3], demo_cameras.translation[:3])
    scene = DatasetScene("demo", make_reference(images, poses), image_dir=tmp_path / "photos")
    problem = read_problem(make_database(scene, tmp_path / "work", config.default()))
    assert problem.images.names == tuple(names)
    np.testing.assert_allclose(problem.images.cameras[0].params[0], demo_cameras.focal_px)
    assert median_error_deg(problem, scene) < 1.0
    (tmp_path / "photos" / names[0]).unlink()
    with pytest.raises(InputError, match="1 of 3 photos are not there"):
        make_database(scene, tmp_path / "again", config.default())
