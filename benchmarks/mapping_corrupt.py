"""Damaged copies of a COLMAP database, to see how mappers take wrong and missing pairs.

    python benchmarks/mapping_corrupt.py DATABASE FOLDER

wrong-10.db, -20, -30, -40: that part of the verified pairs, the same ones first, has another relative pose and matches
that agree with it: keypoints near each other's epipolar lines, in front of both cameras, as many as before where there
are enough. Half of the poses are arbitrary, half are the true one turned about the camera's vertical, as repeated
structures turn it. top-30.db, -15, -8: only pairs that are among the N with most inliers of one of their images.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vgpa.colmap.cameras import mean_focal_px, principal_point, unproject
from vgpa.colmap.database import read_problem
from vgpa.colmap.tables import MAX_NUM_IMAGES
from vgpa.geometry.rotation import exp_map, matrix_to_quaternion_wxyz, normalize, skew
from vgpa.scene import Camera, FocalSource, Problem

WRONG_PERCENT, TOP = (10, 20, 30, 40), (30, 15, 8)
MIN_TURN_DEG = 20.0
MAX_ERROR_PX = 2.0
MAX_NUM_TRIED = 2000
"""Keypoints per image among which wrong matches are looked for."""
MIN_NUM_MATCHES, MAX_NUM_TRIALS = 15, 20
CALIBRATED, UNCALIBRATED = 2, 3
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WrongPair:
    """What stands in a row of two_view_geometries."""

    pair_id: int
    config: int
    matches: NDArray[np.int64]
    essential: Floats
    fundamental: Floats
    quaternion_wxyz: Floats
    direction: Floats


def write_wrong(database: Path, folder: Path, seed: int = 0) -> None:
    """Copies in which a part of the pairs is wrong, each with all wrong pairs of the one before."""
    problem = read_problem(database)
    order = np.random.default_rng(seed).permutation(problem.view_graph.num_edges)
    wrong: list[WrongPair] = []
    for percent in WRONG_PERCENT:
        edges = order[len(wrong) : round(percent / 100 * len(order))].tolist()
        wrong += [_wrong_pair(problem, edge, np.random.default_rng((seed, edge))) for edge in edges]
        copy = folder / f"wrong-{percent}.db"
        shutil.copyfile(database, copy)
        with closing(sqlite3.connect(copy)) as connection, connection:
            for pair in wrong:
                _replace(connection, pair)


def write_thinned(database: Path, copy: Path, num_kept: int) -> None:
    """A copy with each image's best pairs only."""
    shutil.copyfile(database, copy)
    with closing(sqlite3.connect(copy)) as connection, connection:
        rows = connection.execute("SELECT pair_id, rows FROM two_view_geometries ORDER BY rows DESC").fetchall()
        num_pairs: dict[int, int] = {}
        for pair_id, _ in rows:
            ends = divmod(pair_id, MAX_NUM_IMAGES)
            if min(num_pairs.get(end, 0) for end in ends) >= num_kept:
                for table in ("two_view_geometries", "matches"):
                    connection.execute(f"DELETE FROM {table} WHERE pair_id = ?", (pair_id,))
            for end in ends:
                num_pairs[end] = num_pairs.get(end, 0) + 1


def _replace(connection: sqlite3.Connection, pair: WrongPair) -> None:
    blob, num = pair.matches.astype(np.uint32).tobytes(), len(pair.matches)
    geometry = [x.tobytes() for x in (pair.fundamental, pair.essential, pair.quaternion_wxyz, pair.direction)]
    connection.execute(
        "UPDATE two_view_geometries SET rows = ?, data = ?, config = ?, F = ?, E = ?, H = NULL, qvec = ?, tvec = ? "
        "WHERE pair_id = ?",
        (num, blob, pair.config, *geometry, pair.pair_id),
    )
    connection.execute("UPDATE matches SET rows = ?, data = ? WHERE pair_id = ?", (num, blob, pair.pair_id))


def _wrong_pair(problem: Problem, edge: int, rng: np.random.Generator) -> WrongPair:
    i, j = problem.view_graph.edge_index[:, edge].tolist()
    num_wanted = int(problem.view_graph.num_inliers[edge])
    for _ in range(MAX_NUM_TRIALS):
        rotation, direction = _wrong_pose(problem, edge, rng)
        matches = _agreeing_matches(problem, (i, j), rotation, direction, rng)[:num_wanted]
        if len(matches) >= MIN_NUM_MATCHES:
            break
    essential = skew(direction) @ rotation
    first, second = (problem.images.camera_of(k) for k in (i, j))
    is_known = FocalSource.GUESS not in (first.focal_source, second.focal_source)
    return WrongPair(
        int(problem.images.image_id[i]) * MAX_NUM_IMAGES + int(problem.images.image_id[j]),
        CALIBRATED if is_known else UNCALIBRATED,
        matches,
        essential,
        np.linalg.inv(_matrix(second)).T @ essential @ np.linalg.inv(_matrix(first)),
        matrix_to_quaternion_wxyz(rotation),
        direction,
    )


def _wrong_pose(problem: Problem, edge: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """An arbitrary pose for odd edges, a turned one for even edges."""
    graph = problem.view_graph
    if edge % 2 or not graph.has_direction[edge]:
        turn = exp_map(normalize(rng.normal(size=3)) * rng.uniform(0, np.pi))
        return turn, normalize(rng.normal(size=3))
    angle = np.radians(rng.uniform(MIN_TURN_DEG, 180)) * rng.choice([-1, 1])
    turn = exp_map(np.array([0.0, angle, 0.0]))
    return turn @ graph.cam_j_from_cam_i.rotation[edge], turn @ graph.cam_j_from_cam_i.translation[edge]


def _agreeing_matches(
    problem: Problem, pair: tuple[int, int], rotation: Floats, direction: Floats, rng: np.random.Generator
) -> NDArray[np.int64]:
    """(n, 2) keypoints of both images that agree with the pose, each used once."""
    chosen, rays = [], []
    for k in pair:
        picked = rng.permutation(problem.keypoints.num_of()[k])[:MAX_NUM_TRIED]
        chosen.append(picked)
        rays.append(unproject(problem.images, np.full(len(picked), k), problem.keypoints.of(k)[picked]))
    turned = rays[0] @ rotation.T
    # Sine of the angle between a ray of the second image and the epipolar plane of one of the first.
    error = np.abs(normalize(np.cross(direction, turned)) @ rays[1].T)
    first, second = np.nonzero(error < MAX_ERROR_PX / mean_focal_px(problem.images.camera_of(pair[1])))
    a, b = turned[first], rays[1][second]
    # From d_i a + t = d_j b: d_i (a x b) = b x t and d_j (a x b) = a x t.
    across = np.cross(a, b)
    depths = [np.sum(across * np.cross(ray, direction), axis=-1) for ray in (b, a)]
    good = np.flatnonzero((depths[0] > 0) & (depths[1] > 0))
    good = rng.permutation(good)
    for end in (first, second):
        good = good[np.sort(np.unique(end[good], return_index=True)[1])]
    return np.stack([chosen[0][first[good]], chosen[1][second[good]]], axis=-1)


def _matrix(camera: Camera) -> Floats:
    """The camera matrix K without distortion."""
    focal_px, (cx, cy) = mean_focal_px(camera), principal_point(camera)
    return np.array([[focal_px, 0, cx], [0, focal_px, cy], [0, 0, 1.0]])


def main() -> None:
    """Write all copies of one database."""
    database, folder = (Path(argument) for argument in sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    write_wrong(database, folder)
    for num_kept in TOP:
        write_thinned(database, folder / f"top-{num_kept:02d}.db", num_kept)


if __name__ == "__main__":
    main()
