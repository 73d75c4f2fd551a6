"""Damaged copies of a database: as many wrong pairs as said, which agree with themselves; the best pairs stay."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from vgpa.colmap.cameras import match_rays
from vgpa.colmap.database import read_problem
from vgpa.geometry.rotation import rotation_angle_rad
from vgpa.scene import Problem


@pytest.fixture
def copies(
    synthetic_database: tuple[Path, Path],
    script: Callable[[str], ModuleType],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    monkeypatch.setattr(sys, "argv", ["mapping_corrupt.py", str(synthetic_database[0]), str(tmp_path), "0"])
    script("mapping_corrupt").main()
    return tmp_path


def find_wrong(problem: Problem, original: Problem) -> np.ndarray:  # type: ignore[type-arg]
    """(num_edges,) edges whose relative pose is another one."""
    assert (problem.view_graph.edge_index == original.view_graph.edge_index).all()
    before, after = (p.view_graph.cam_j_from_cam_i for p in (original, problem))
    turned = rotation_angle_rad(before.rotation, after.rotation) > np.radians(5)
    moved = np.sum(before.translation * after.translation, axis=1) < np.cos(np.radians(5))
    return np.asarray(turned | moved)


def test_wrong_pairs_are_as_many_as_said_and_stay_wrong(copies: Path, synthetic_database: tuple[Path, Path]) -> None:
    original = read_problem(synthetic_database[0])
    wrong_before = np.zeros(original.view_graph.num_edges, dtype=bool)
    for percent in (10, 20, 30, 40):
        wrong = find_wrong(read_problem(copies / f"wrong-{percent}.db"), original)
        assert wrong.sum() == pytest.approx(percent / 100 * len(wrong), abs=1.5)
        assert wrong[wrong_before].all()
        wrong_before = wrong


def test_matches_of_wrong_pairs_agree_with_them(copies: Path, synthetic_database: tuple[Path, Path]) -> None:
    problem = read_problem(copies / "wrong-40.db")
    wrong = find_wrong(problem, read_problem(synthetic_database[0]))
    ray_i, ray_j = match_rays(problem)
    motion = problem.view_graph.cam_j_from_cam_i[problem.matches.edge_idx]
    turned = np.einsum("nab,nb->na", motion.rotation, ray_i)
    normal = np.cross(motion.translation, turned)
    off_plane = np.abs(np.sum(normal * ray_j, axis=1)) / np.linalg.norm(normal, axis=1)
    of_wrong = wrong[problem.matches.edge_idx]
    assert of_wrong.any()
    assert off_plane[of_wrong].max() < 0.01
    assert problem.view_graph.num_inliers[wrong].min() >= 15


@pytest.mark.parametrize("num_kept", [8, 15, 30])
def test_each_image_keeps_its_best_pairs(num_kept: int, copies: Path, synthetic_database: tuple[Path, Path]) -> None:
    before, after = (read_pairs(path) for path in (synthetic_database[0], copies / f"top-{num_kept:02d}.db"))
    best = set()
    for image in range(1, 13):
        of_image = [pair for pair in before if image in divmod(pair, 2147483647)]
        limit = sorted((before[pair] for pair in of_image), reverse=True)[:num_kept][-1]
        best |= {pair for pair in of_image if before[pair] > limit}
        assert sum(pair in after for pair in of_image) >= min(num_kept, len(of_image))
    assert best <= set(after) <= set(before)
    assert (len(after) < len(before)) == (num_kept < 11)


def test_copies_that_are_there_are_not_made_again(copies: Path, script: Callable[[str], ModuleType]) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in copies.iterdir()}
    script("mapping_corrupt").main()
    assert {path.name: path.stat().st_mtime_ns for path in copies.iterdir()} == before
    assert len(before) == 7


def read_pairs(database: Path) -> dict[int, int]:
    """Inliers of every verified pair."""
    with closing(sqlite3.connect(database)) as connection:
        return dict(connection.execute("SELECT pair_id, rows FROM two_view_geometries"))
