"""Lenses that are found wrong while a database is read: relative poses follow, and known lenses stay."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from itertools import combinations
from pathlib import Path

import numpy as np
import pycolmap
import pytest
from scipy.spatial.transform import Rotation

from vgpa.colmap.cameras import mean_focal_px
from vgpa.colmap.database import read_problem
from vgpa.geometry.rotation import normalize, rotation_angle_rad, skew

NUM, NUM_POINTS, CENTRE = 16, 40, np.array([500.0, 400.0])
TRUE_PX = 1000 * np.random.default_rng(3).uniform(0.8, 2.5, NUM)


@pytest.fixture(scope="module")
def cropped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[tuple[int, int], np.ndarray]]:
    """A database of photos whose focal lengths are said to be twice as long, and the true rotation of every pair.

    Pairs are verified as calibrated, with the essential matrix that follows from the wrong focal lengths. Each has
    points of its own: nothing but the lenses joins them.
    """
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("cropped") / "database.db"
    keypoints: list[list[np.ndarray]] = [[] for _ in range(NUM)]
    rotations, geometries = {}, {}
    for i, j in combinations(range(NUM), 2):
        rotation = Rotation.from_rotvec(rng.normal(size=3) * 0.3).as_matrix()
        translation = normalize(rng.normal(size=3))
        ray = np.column_stack([rng.uniform(-0.2, 0.2, (NUM_POINTS, 2)), np.ones(NUM_POINTS)])
        xyz_i = ray * rng.uniform(5, 9, NUM_POINTS)[:, None]
        xyz_j = xyz_i @ rotation.T + translation
        for k, xyz in ((i, xyz_i), (j, xyz_j)):
            keypoints[k].append(TRUE_PX[k] * xyz[:, :2] / xyz[:, 2:] + CENTRE)
        start_i, start_j = (NUM_POINTS * (len(keypoints[k]) - 1) for k in (i, j))
        rows = np.arange(NUM_POINTS)
        matches = np.column_stack([start_i + rows, start_j + rows]).astype(np.uint32)
        F = (
            np.linalg.inv(_calibration(TRUE_PX[j])).T
            @ skew(translation)
            @ rotation
            @ np.linalg.inv(_calibration(TRUE_PX[i]))
        )
        geometry = pycolmap.TwoViewGeometry()
        geometry.config = int(pycolmap.TwoViewGeometryConfiguration.CALIBRATED)
        geometry.F, geometry.E = F, _calibration(2 * TRUE_PX[j]).T @ F @ _calibration(2 * TRUE_PX[i])
        geometry.inlier_matches = matches
        rotations[i, j], geometries[i, j] = rotation, geometry
    _write(path, keypoints, geometries)
    return path, rotations


def _calibration(focal_px: float) -> np.ndarray:
    return np.array([[focal_px, 0, CENTRE[0]], [0, focal_px, CENTRE[1]], [0, 0, 1]])


def _write(
    path: Path, keypoints: list[list[np.ndarray]], geometries: dict[tuple[int, int], pycolmap.TwoViewGeometry]
) -> None:
    with closing(pycolmap.Database.open(path)) as database:
        for k in range(NUM):
            params = [2 * TRUE_PX[k], *CENTRE]
            camera = pycolmap.Camera(model="SIMPLE_PINHOLE", width=1000, height=800, params=params, camera_id=k + 1)
            camera.has_prior_focal_length = True
            database.write_camera(camera, use_camera_id=True)
            image = pycolmap.Image(name=f"{k:02d}.jpg", camera_id=k + 1, image_id=k + 1)
            database.write_image(image, use_image_id=True)
            database.write_keypoints(k + 1, np.concatenate(keypoints[k]).astype(np.float32))
        for (i, j), geometry in geometries.items():
            database.write_matches(i + 1, j + 1, geometry.inlier_matches)
            database.write_two_view_geometry(i + 1, j + 1, geometry)


def test_pairs_of_lenses_that_were_wrong_get_their_poses_anew(
    cropped: tuple[Path, dict[tuple[int, int], np.ndarray]],
) -> None:
    problem = read_problem(cropped[0])
    found_px = [mean_focal_px(problem.images.camera_of(k)) for k in range(NUM)]
    np.testing.assert_allclose(found_px, TRUE_PX, rtol=0.11)
    graph = problem.view_graph
    true = np.array([cropped[1][i, j] for i, j in graph.edge_index.T.tolist()])
    off_deg = np.degrees(rotation_angle_rad(graph.cam_j_from_cam_i.rotation, true))
    assert np.median(off_deg) < 3
    wrong = read_problem(cropped[0], are_lenses_known=True).view_graph.cam_j_from_cam_i.rotation
    assert np.median(np.degrees(rotation_angle_rad(wrong, true))) > 2 * np.median(off_deg)


def test_lenses_that_are_known_stay(cropped: tuple[Path, dict[tuple[int, int], np.ndarray]]) -> None:
    images = read_problem(cropped[0], are_lenses_known=True).images
    np.testing.assert_allclose([mean_focal_px(images.camera_of(k)) for k in range(NUM)], 2 * TRUE_PX)


def test_a_focal_length_of_nothing_does_not_spoil_the_rest(
    cropped: tuple[Path, dict[tuple[int, int], np.ndarray]], tmp_path: Path
) -> None:
    copy = tmp_path / "database.db"
    shutil.copy(cropped[0], copy)
    with closing(sqlite3.connect(copy)) as connection, connection:
        zero = np.array([0.0, *CENTRE]).tobytes()
        connection.execute("UPDATE cameras SET params = ?, prior_focal_length = 0 WHERE camera_id = 1", (zero,))
    images = read_problem(copy).images
    np.testing.assert_allclose([mean_focal_px(images.camera_of(k)) for k in range(1, NUM)], TRUE_PX[1:], rtol=0.11)
