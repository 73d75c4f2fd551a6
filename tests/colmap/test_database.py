"""Databases: what pycolmap wrote is what we read, the file stays as it was, and broken ones are refused."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pycolmap
import pytest

from vgpa.colmap.database import read_problem
from vgpa.colmap.model import read_model
from vgpa.errors import InputError
from vgpa.geometry.rigid import relative
from vgpa.geometry.rotation import direction_angle_rad, normalize, rotation_angle_rad


def test_counts_and_keypoints_are_those_of_pycolmap(synthetic_database: tuple[Path, Path]) -> None:
    problem = read_problem(synthetic_database[0])
    with closing(pycolmap.Database.open(synthetic_database[0])) as database:
        images = sorted(database.read_all_images(), key=lambda image: image.image_id)
        ids, geometries = database.read_two_view_geometries()
        assert problem.images.names == tuple(image.name for image in images)
        assert problem.view_graph.num_edges == len(ids)
        for k, image in enumerate(images):
            np.testing.assert_array_equal(problem.keypoints.of(k), database.read_keypoints(image.image_id)[:, :2])
        num_inliers = {
            tuple(pycolmap.pair_id_to_image_pair(p)): len(g.inlier_matches)
            for p, g in zip(ids, geometries, strict=True)
        }
    read = zip(*problem.images.image_id[problem.view_graph.edge_index].tolist(), strict=True)
    assert dict(zip(read, problem.view_graph.num_inliers.tolist(), strict=True)) == num_inliers


def test_missing_relative_poses_are_recovered(synthetic_database: tuple[Path, Path]) -> None:
    problem = read_problem(synthetic_database[0])
    true, _ = read_model(synthetic_database[1])
    assert true.images.names == problem.images.names
    i, j = problem.view_graph.edge_index
    motion = relative(true.poses.cam_from_world[i], true.poses.cam_from_world[j])
    measured = problem.view_graph.cam_j_from_cam_i
    assert np.degrees(rotation_angle_rad(measured.rotation, motion.rotation)).max() < 1
    assert np.degrees(direction_angle_rad(measured.translation, normalize(motion.translation))).max() < 1


def test_reading_changes_nothing(synthetic_database: tuple[Path, Path], tmp_path: Path) -> None:
    copy = tmp_path / "database.db"
    shutil.copy(synthetic_database[0], copy)
    before = hashlib.sha256(copy.read_bytes()).hexdigest()
    read_problem(copy)
    assert hashlib.sha256(copy.read_bytes()).hexdigest() == before
    assert [path.name for path in tmp_path.iterdir()] == ["database.db"]


SPOIL = {
    "keypoints of a wrong length": "UPDATE keypoints SET data = x'0011' WHERE image_id = 1",
    "keypoints that are not numbers": "UPDATE keypoints SET data = zeroblob(length(data) - 4) || x'0000c07f'",
    "matches of a wrong length": "UPDATE two_view_geometries SET data = x'001122'",
    "a match to a missing keypoint": "UPDATE keypoints SET rows = 1, data = substr(data, 1, 4 * cols)",
    "millions of rows claimed": "UPDATE two_view_geometries SET rows = 4000000000",
    "an image without its camera": "UPDATE images SET camera_id = 77",
    "a pair without its image": "DELETE FROM images WHERE image_id = 2",
    "an unknown camera model": "UPDATE cameras SET model = 999",
    "too few camera parameters": "UPDATE cameras SET params = zeroblob(8)",
    "a table missing": "DROP TABLE two_view_geometries",
}


@pytest.mark.parametrize("name", SPOIL)
def test_a_broken_database_is_refused_in_a_sentence(
    name: str, synthetic_database: tuple[Path, Path], tmp_path: Path
) -> None:
    copy = tmp_path / "database.db"
    shutil.copy(synthetic_database[0], copy)
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(SPOIL[name])
        connection.commit()
    with pytest.raises(InputError, match="cannot be read as a COLMAP database"):
        read_problem(copy)


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0" + bytes(100)])
def test_a_file_that_is_no_database_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "database.db"
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as a COLMAP database"):
        read_problem(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no database"):
        read_problem(tmp_path / "nothing.db")


def test_panoramic_pairs_keep_their_rotation_only(synthetic_database: tuple[Path, Path], tmp_path: Path) -> None:
    copy = tmp_path / "database.db"
    shutil.copy(synthetic_database[0], copy)
    panoramic = int(pycolmap.TwoViewGeometryConfiguration.PANORAMIC)
    quaternion = np.array([1.0, 0, 0, 0]).tobytes()
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute(
            "UPDATE two_view_geometries SET config = ?, qvec = ?, tvec = ?",
            (panoramic, quaternion, np.array([1.0, 0, 0]).tobytes()),
        )
        connection.commit()
    graph = read_problem(copy).view_graph
    assert graph.num_edges > 0
    assert not graph.has_direction.any()


def test_databases_of_old_colmaps_are_read(synthetic_database: tuple[Path, Path], tmp_path: Path) -> None:
    copy = tmp_path / "database.db"
    shutil.copy(synthetic_database[0], copy)
    with closing(sqlite3.connect(copy)) as connection:
        for column in ("qvec", "tvec", "camera1", "camera2"):
            connection.execute(f"ALTER TABLE two_view_geometries DROP COLUMN {column}")
        for table in ("rigs", "rig_sensors", "frames", "frame_data", "pose_priors"):
            connection.execute(f"DROP TABLE {table}")
        connection.commit()
    old, new = read_problem(copy).view_graph, read_problem(synthetic_database[0]).view_graph
    np.testing.assert_array_equal(old.edge_index, new.edge_index)
    np.testing.assert_allclose(old.cam_j_from_cam_i.translation, new.cam_j_from_cam_i.translation, atol=1e-9)


def test_watermarks_are_no_edges(synthetic_database: tuple[Path, Path], tmp_path: Path) -> None:
    copy = tmp_path / "database.db"
    shutil.copy(synthetic_database[0], copy)
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute(
            "UPDATE two_view_geometries SET config = ?",
            (int(pycolmap.TwoViewGeometryConfiguration.WATERMARK),),
        )
        connection.commit()
    assert read_problem(copy).view_graph.num_edges == 0
