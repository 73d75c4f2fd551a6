"""Scores of one COLMAP model as a line of JSON: coverage, errors against a reference, and the floor on its time.

    python benchmarks/mapping_score.py MODEL REFERENCE [--floor] [--fix-intrinsics]

The floor is one bundle adjustment of the finished model, started from itself: no mapper that ends with one can be
faster. It is measured twice, stopping at the tolerance of vgpa's last round, and with pycolmap's own default of none,
which goes on for up to 100 iterations. A process of its own, so that `mapping.py` stays small: a child's peak memory
starts from its parent's.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import asdict
from pathlib import Path

import pycolmap

from vgpa.colmap.model import read_model
from vgpa.colmap.silence import silenced
from vgpa.config import default
from vgpa.errors import InputError
from vgpa.evaluate import evaluate


def score(folder: Path, reference: Path) -> dict[str, object]:
    """Registered images, points and all scores; without scores where the two models share fewer than two images."""
    model = read_model(folder)[0]
    facts = {"num_registered": model.num_registered, "num_points": model.num_points}
    try:
        return facts | {"scores": asdict(evaluate(model, read_model(reference)[0]))}
    except InputError:
        return facts | {"scores": None}


def adjustment_seconds(folder: Path, tolerance: float, is_fixed: bool) -> float:
    """Seconds of one bundle adjustment of the model, started from itself."""
    with silenced():
        model = pycolmap.Reconstruction(folder)
    options = pycolmap.BundleAdjustmentOptions()
    options.print_summary = False
    options.refine_focal_length = options.refine_extra_params = not is_fixed
    options.ceres.loss_function_type = pycolmap.LossFunctionType.HUBER
    options.ceres.loss_function_scale = 1.0
    options.ceres.solver_options.function_tolerance = tolerance
    options.ceres.solver_options.max_num_iterations = default().mapping.rounds[-1].max_iterations
    options.ceres.solver_options.num_threads = os.cpu_count() or 1
    config = pycolmap.BundleAdjustmentConfig()
    for image_id in model.reg_image_ids():
        config.add_image(image_id)
    config.fix_gauge(pycolmap.BundleAdjustmentGauge.TWO_CAMS_FROM_WORLD)
    with silenced():
        start = time.perf_counter()
        pycolmap.create_default_ceres_bundle_adjuster(options, config, model).solve()
        return time.perf_counter() - start


def main() -> None:
    """Score, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--floor", action="store_true")
    parser.add_argument("--fix-intrinsics", action="store_true")
    given = parser.parse_args()
    facts = score(given.model, given.reference)
    if given.floor:
        tolerances = {"floor_s": default().mapping.rounds[-1].tolerance, "full_floor_s": 0.0}
        facts |= {
            name: adjustment_seconds(given.model, value, given.fix_intrinsics) for name, value in tolerances.items()
        }
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
