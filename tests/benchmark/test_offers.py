"""A scene is offered as the table says: fewer pairs, the reference's intrinsics, or none."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.datasets.layouts import LAYOUTS, make_truth
from vgpa.benchmark.offers import Offer, make_offer, nearest_pairs, outlier_percent
from vgpa.benchmark.tables import Setup
from vgpa.colmap.database import read_problem
from vgpa.datasets import DatasetScene, dataset
from vgpa.scene import FocalSource, Reconstruction

NEAREST = Setup("nearest", pairs="nearest")
KNOWN = Setup("known", intrinsics="known")
ESTIMATED = Setup("estimated", intrinsics="estimated")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> DatasetScene:
    root = tmp_path_factory.mktemp("folder")
    LAYOUTS["folder"].write(root, make_truth())
    return dataset("folder").load_scene(root, "plaza")


def test_a_scene_with_a_database_is_offered_as_it_is(scene: DatasetScene, tmp_path: Path) -> None:
    offer = make_offer(scene, Setup(), tmp_path, 30)
    assert offer.database == scene.database
    assert offer.fix_intrinsics


@pytest.mark.parametrize("name", ["onedsfm", "resfm"])
def test_tracks_become_a_database_once(name: str, tmp_path: Path) -> None:
    LAYOUTS[name].write(tmp_path, make_truth())
    tracked = dataset(LAYOUTS[name].dataset).load_scene(tmp_path, LAYOUTS[name].scene)
    offer = make_offer(tracked, Setup(), tmp_path / "out", 30)
    before = offer.database.stat().st_mtime_ns
    assert make_offer(tracked, Setup(), tmp_path / "out", 30).database.stat().st_mtime_ns == before
    assert read_problem(offer.database).view_graph.num_edges == 15


@pytest.mark.parametrize("num_neighbours", [1, 2, 5])
def test_each_image_keeps_its_nearest_neighbours(num_neighbours: int, scene: DatasetScene, tmp_path: Path) -> None:
    assert scene.database is not None
    before = scene.database.read_bytes()
    offer = make_offer(scene, NEAREST, tmp_path, num_neighbours)
    graph = read_problem(offer.database).view_graph
    assert scene.database.read_bytes() == before, "the dataset's own database was changed"
    assert graph.degree.min() >= num_neighbours
    assert graph.num_edges <= num_neighbours * 6
    assert (graph.num_edges == 15) is (num_neighbours == 5)


def test_near_is_what_shares_most_matches(scene: DatasetScene) -> None:
    assert scene.database is not None
    graph = read_problem(scene.database).view_graph
    names = read_problem(scene.database).images.names
    expected = set()
    for image in range(6):
        own = np.flatnonzero((graph.edge_index == image).any(axis=0))
        others = graph.edge_index[:, own].sum(axis=0) - image
        best = sorted(range(5), key=lambda k: (-graph.num_inliers[own[k]], others[k]))[:2]
        expected |= {tuple(sorted((names[image], names[others[k]]))) for k in best}
    assert set(nearest_pairs(scene.database, None, 2)) == expected


def test_outliers_are_observations_that_the_reference_contradicts(scene: DatasetScene, tmp_path: Path) -> None:
    offer = make_offer(scene, Setup(), tmp_path, 30)
    assert outlier_percent(offer) == 0.0
    path = tmp_path / "wrong.db"
    shutil.copyfile(offer.database, path)
    keypoints = read_problem(path).keypoints.of(0).astype(np.float32)
    keypoints[:15] += 50.0  # a quarter of what one of six images sees
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE keypoints SET data = ? WHERE image_id = 1", (keypoints.tobytes(),))
    assert outlier_percent(replace(offer, database=path)) == pytest.approx(100 * 15 / 360, abs=0.3)


def camera_of(offer: Offer) -> tuple[FocalSource, np.ndarray]:
    camera = read_problem(offer.database).images.cameras[0]
    return camera.focal_source, camera.params


def test_estimated_intrinsics_start_from_nothing(scene: DatasetScene, tmp_path: Path) -> None:
    offer = make_offer(scene, ESTIMATED, tmp_path, 30)
    source, params = camera_of(offer)
    problem = read_problem(offer.database)
    assert not offer.fix_intrinsics
    assert source in (FocalSource.GUESS, FocalSource.VOTED)
    assert len(problem.images.cameras) == 1, "images that shared a camera share it still"
    assert params[0] != pytest.approx(800, abs=1e-6)
    assert problem.view_graph.num_edges > 0


def test_what_a_killed_sweep_left_is_not_reused(scene: DatasetScene, tmp_path: Path) -> None:
    forgotten = make_offer(scene, ESTIMATED, tmp_path, 30).database
    unknown = DatasetScene("plaza", _without_prior(scene), database=forgotten)
    whole = make_offer(unknown, KNOWN, tmp_path / "first", 30).database
    (tmp_path / "second").mkdir()
    shutil.copy(whole, tmp_path / "second" / f"unfinished-{whole.name}")
    again = make_offer(unknown, KNOWN, tmp_path / "second", 30).database
    assert read_problem(again).view_graph.num_edges == read_problem(whole).view_graph.num_edges
    assert [path.name for path in again.parent.iterdir()] == [whole.name]


def test_known_intrinsics_are_the_references(scene: DatasetScene, tmp_path: Path) -> None:
    assert make_offer(scene, KNOWN, tmp_path, 30).database == scene.database
    forgotten = make_offer(scene, ESTIMATED, tmp_path, 30).database
    unknown = DatasetScene("plaza", _without_prior(scene), database=forgotten)
    offer = make_offer(unknown, KNOWN, tmp_path / "again", 30)
    source, params = camera_of(offer)
    assert offer.fix_intrinsics
    assert source is FocalSource.PRIOR
    np.testing.assert_allclose(params, [800, 800, 500, 400])
    assert not make_offer(unknown, Setup(), tmp_path / "again", 30).fix_intrinsics


def _without_prior(scene: DatasetScene) -> Reconstruction:
    images = scene.reference.images
    cameras = tuple(replace(camera, focal_source=FocalSource.GUESS) for camera in images.cameras)
    return replace(scene.reference, images=images.with_cameras(cameras))
