"""Random parts of a scene: whether a mapper that does well on a collection also does on fewer of its photos.

    VGPA_DATA=... python benchmarks/subsets.py SCENE ... [--seeds FIRST END] [--preset default|fast] [--few]
                                                         [--cameras [--apart]]

Seed k keeps 40, 55, 70 or 85% of the images (k modulo 4), drawn at random, at least five, and the verified pairs
between them. With --few it keeps 8, 10, 12, 15 or 18 images (k modulo 5) that hang together: from a random one, one by
one along the pairs, the more likely the more matches there are. Printed for each: images kept and registered,
observations, RA-AUC@5 against the reference's images among those kept; and the mean of all. Settings that were chosen
on some seeds are to be judged on others. With --cameras the database is the one that `databases.py cameras` makes (and
keeps in runs/databases), where every image has a camera of its own; with --apart each also keeps a lens of its own.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from statistics import mean

import numpy as np
from databases import FOLDER, make_with_cameras

from vgpa.colmap.database import read_problem
from vgpa.colmap.model import read_model
from vgpa.config import PRESETS, Config
from vgpa.errors import NoModelError
from vgpa.evaluate import evaluate
from vgpa.geometry.rotation import BoolArray
from vgpa.mapping.extend import without_images
from vgpa.scene import Problem, Reconstruction, ViewGraph
from vgpa.solve import solve
from vgpa.stages import StageLog

PARTS = (0.4, 0.55, 0.7, 0.85)
MIN_NUM_IMAGES = 5
SIZES = (8, 10, 12, 15, 18)
MAX_COUNTED = 200
"""Matches of a pair beyond which more of them make it no likelier to be drawn."""


def draw(num: int, seed: int) -> BoolArray:
    """(num,) mask of random images."""
    num_kept = max(MIN_NUM_IMAGES, round(PARTS[seed % len(PARTS)] * num))
    is_kept = np.zeros(num, dtype=np.bool_)
    is_kept[np.random.default_rng(seed).permutation(num)[:num_kept]] = True
    return is_kept


def draw_few(graph: ViewGraph, seed: int) -> BoolArray:
    """(num_images,) mask of few images that hang together."""
    rng, num = np.random.default_rng(seed), graph.num_images
    weight = np.zeros((num, num))
    weight[tuple(graph.edge_index)] = np.minimum(graph.num_inliers, MAX_COUNTED)
    weight += weight.T
    is_kept = np.zeros(num, dtype=np.bool_)
    is_kept[rng.integers(num)] = True
    while is_kept.sum() < SIZES[seed % len(SIZES)]:
        near = weight[is_kept].sum(axis=0) * ~is_kept
        if not near.any():
            break
        is_kept[rng.choice(num, p=near / near.sum())] = True
    return is_kept


def run(
    problem: Problem, reference: Reconstruction, seed: int, config: Config, are_few: bool
) -> tuple[int, int, int, float]:
    """Images kept, images registered, observations and RA-AUC@5 of one draw."""
    is_kept = draw_few(problem.view_graph, seed) if are_few else draw(len(problem.images), seed)
    num_kept = int(is_kept.sum())
    names = {name for name, kept in zip(problem.images.names, is_kept, strict=True) if kept}
    truth = without_images(reference, np.array([name not in names for name in reference.images.names]))
    part = problem.select_edges(np.asarray(is_kept[problem.view_graph.edge_index].all(axis=0)))
    try:
        model = solve(part, config, StageLog()).model
    except NoModelError:
        return num_kept, 0, 0, 0.0
    return num_kept, model.num_registered, model.tracks.num_observations, evaluate(model, truth).ra_auc[5]


def main() -> None:
    """Run, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="+", metavar="SCENE")
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 16), metavar=("FIRST", "END"))
    parser.add_argument("--preset", choices=sorted(PRESETS), default="default")
    for flag in ("--few", "--cameras", "--apart"):
        parser.add_argument(flag, action="store_true")
    given = parser.parse_args()
    config = replace(PRESETS[given.preset](), num_threads=1)
    config = replace(config, mapping=replace(config.mapping, tie_lenses=not given.apart))
    data = Path(os.environ["VGPA_DATA"])
    for scene in given.scenes:
        folder = data / "scenes" / scene
        database, (reference, _) = folder / "database.db", read_model(folder / "reference")
        if given.cameras:
            (database,) = make_with_cameras(data, scene, FOLDER)
        problem = read_problem(database)
        rows = [run(problem, reference, k, config, given.few) for k in range(*given.seeds)]
        for seed, row in zip(range(*given.seeds), rows, strict=True):
            print(f"{scene} {seed:3d}: {row[1]} of {row[0]} images, {row[2]} observations, {row[3]:.3f}", flush=True)
        print(f"{scene}: {sum(r[1] for r in rows)} of {sum(r[0] for r in rows)}, {mean(r[3] for r in rows):.3f}")


if __name__ == "__main__":
    main()
