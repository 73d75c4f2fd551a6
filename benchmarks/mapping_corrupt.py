"""Damaged copies of a COLMAP database, to see how mappers take wrong and missing pairs.

    python benchmarks/mapping_corrupt.py DATABASE FOLDER SEED

wrong-10.db, -20, -30, -40: that part of the verified pairs, the same ones first, has another relative pose and matches
that agree with it: keypoints near each other's epipolar lines, in front of both cameras, as many as before where there
are enough. Half of the poses are arbitrary, half are the measured one turned about the image's vertical (its horizontal
where the camera moved up or down, as in photos that lie on their side), as repeated structures turn it. top-30.db, -15,
-8: only pairs that are among the N with most inliers of one of their images. The seed decides which pairs are wrong and
how. Copies that are there already stay.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mapping_robustness import TOP, WRONG_PERCENT
from numpy.typing import NDArray

from vgpa.colmap.cameras import mean_focal_px, principal_point, unproject
from vgpa.colmap.database import read_problem
from vgpa.colmap.tables import MAX_NUM_IMAGES
from vgpa.geometry.rotation import exp_map, matrix_to_quaternion_wxyz, normalize, skew
from vgpa.scene import Camera, FocalSource, Problem

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


def write_wrong(database: Path, folder: Path, seed: int) -> None:
    """Copies in which a part of the pairs is wrong, each with all wrong pairs of the one before."""
    problem = read_problem(database)
    order = np.random.default_rng(seed).permutation(problem.view_graph.num_edges)
    wrong: list[WrongPair] = []
    for percent in WRONG_PERCENT:
        edges = order[len(wrong) : round(percent / 100 * len(order))].tolist()
        wrong += [_wrong_pair(problem, edge, np.random.default_rng((seed, edge))) for edge in edges]
        with _copied(database, folder / f"wrong-{percent}.db") as connection:
            for pair in wrong:
                _replace(connection, pair)


def write_thinned(database: Path, copy: Path, num_kept: int) -> None:
    """A copy with each image's best pairs only."""
    with _copied(database, copy) as connection:
        rows = connection.execute("SELECT pair_id, rows FROM two_view_geometries ORDER BY rows DESC").fetchall()
        num_pairs: dict[int, int] = {}
        for pair_id, _ in rows:
            ends = divmod(pair_id, MAX_NUM_IMAGES)
            if min(num_pairs.get(end, 0) for end in ends) >= num_kept:
                for table in ("two_view_geometries", "matches"):
                    connection.execute(f"DELETE FROM {table} WHERE pair_id = ?", (pair_id,))
            for end in ends:
                num_pairs[end] = num_pairs.get(end, 0) + 1


@contextmanager
def _copied(database: Path, copy: Path) -> Iterator[sqlite3.Connection]:
    """A copy to change; it takes its name when it is complete."""
    partial = copy.with_suffix(".partial")
    shutil.copyfile(database, partial)
    with closing(sqlite3.connect(partial)) as connection, connection:
        yield connection
    partial.replace(copy)


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
    is_turned = edge % 2 == 0 and bool(problem.view_graph.has_direction[edge])
    for trial in range(MAX_NUM_TRIALS):
        # In very narrow views turned poses have no matches at all; then it is an arbitrary one after all.
        make_pose = _turned_pose if is_turned and trial < MAX_NUM_TRIALS / 2 else _arbitrary_pose
        rotation, direction = make_pose(problem, edge, rng)
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


def _arbitrary_pose(problem: Problem, edge: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Any rotation, and a direction under which the rays of two keypoints meet in front of both cameras.

    Under a direction that is arbitrary, too, hardly any do where the view is narrow, and without matches the pair would
    be missing instead of wrong.
    """
    turn = exp_map(normalize(rng.normal(size=3)) * rng.uniform(0, np.pi))
    a, b = (_some_rays(problem, k, 1, rng)[1][0] for k in problem.view_graph.edge_index[:, edge].tolist())
    return turn, normalize(rng.uniform(0.2, 1) * b - rng.uniform(0.2, 1) * turn @ a)


def _turned_pose(problem: Problem, edge: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The measured pose turned about the image's vertical, or its horizontal where the camera moved up or down."""
    motion = problem.view_graph.cam_j_from_cam_i[edge]
    angle = np.radians(rng.uniform(MIN_TURN_DEG, 180)) * rng.choice([-1, 1])
    right, down, _ = np.abs(motion.translation)
    turn = exp_map(angle * np.array([0.0, 1, 0] if down <= right else [1.0, 0, 0]))
    return turn @ motion.rotation, turn @ motion.translation


def _agreeing_matches(
    problem: Problem, pair: tuple[int, int], rotation: Floats, direction: Floats, rng: np.random.Generator
) -> NDArray[np.int64]:
    """(n, 2) keypoints of both images that agree with the pose, each used once."""
    chosen, rays = zip(*(_some_rays(problem, k, MAX_NUM_TRIED, rng) for k in pair), strict=True)
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


def _some_rays(
    problem: Problem, image: int, max_num: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Floats]:
    """Random keypoints (n,) of an image, and their rays (n, 3)."""
    picked = rng.permutation(problem.keypoints.num_of()[image])[:max_num]
    return picked, unproject(problem.images, np.full(len(picked), image), problem.keypoints.of(image)[picked])


def _matrix(camera: Camera) -> Floats:
    """The camera matrix K without distortion."""
    focal_px, (cx, cy) = mean_focal_px(camera), principal_point(camera)
    return np.array([[focal_px, 0, cx], [0, focal_px, cy], [0, 0, 1.0]])


def main() -> None:
    """Write all copies of one database."""
    database, folder, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / f"wrong-{WRONG_PERCENT[-1]}.db").exists():
        write_wrong(database, folder, seed)
    for num_kept in TOP:
        copy = folder / f"top-{num_kept:02d}.db"
        if not copy.exists():
            write_thinned(database, copy, num_kept)


if __name__ == "__main__":
    main()
