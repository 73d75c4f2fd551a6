"""Random parts of a scene: whether a mapper that does well on a collection also does on fewer of its photos.

    VGPA_DATA=... python benchmarks/subsets.py SCENE ... [--seeds FIRST END] [--preset default|fast]

Seed k keeps 40, 55, 70 or 85% of the images (k modulo 4), drawn at random, at least five, and the verified pairs
between them. Printed for each: images kept and registered, observations, RA-AUC@5 against the reference's images among
those kept; and the mean of all. Settings that were chosen on some seeds are to be judged on others.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from statistics import mean

import numpy as np

from vgpa.colmap.database import read_problem
from vgpa.colmap.model import read_model
from vgpa.config import PRESETS, Config
from vgpa.errors import NoModelError
from vgpa.evaluate import evaluate
from vgpa.mapping.extend import without_images
from vgpa.solve import solve
from vgpa.stages import StageLog

PARTS = (0.4, 0.55, 0.7, 0.85)
MIN_NUM_IMAGES = 5


def run(folder: Path, seed: int, config: Config) -> tuple[int, int, int, float]:
    """Images kept, images registered, observations and RA-AUC@5 of one draw."""
    problem, (reference, _) = read_problem(folder / "database.db"), read_model(folder / "reference")
    num = len(problem.images)
    num_kept = max(MIN_NUM_IMAGES, round(PARTS[seed % len(PARTS)] * num))
    is_kept = np.zeros(num, dtype=np.bool_)
    is_kept[np.random.default_rng(seed).permutation(num)[:num_kept]] = True
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
    given = parser.parse_args()
    config = replace(PRESETS[given.preset](), num_threads=1)
    for scene in given.scenes:
        rows = [run(Path(os.environ["VGPA_DATA"]) / "scenes" / scene, k, config) for k in range(*given.seeds)]
        for seed, row in zip(range(*given.seeds), rows, strict=True):
            print(f"{scene} {seed:3d}: {row[1]} of {row[0]} images, {row[2]} observations, {row[3]:.3f}", flush=True)
        print(f"{scene}: {sum(r[1] for r in rows)} of {sum(r[0] for r in rows)}, {mean(r[3] for r in rows):.3f}")


if __name__ == "__main__":
    main()
