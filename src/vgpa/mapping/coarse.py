"""Rounds before the first, for poses so coarse that its loss would see nothing but outliers.

The same wide loss believes wrong tracks where poses were good; so these rounds count only if more fits after them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vgpa.config import BundleRound
from vgpa.errors import NoModelError
from vgpa.geometry.rotation import FloatArray
from vgpa.mapping.one_round import Given, run_until_settled, triangulate_tracks
from vgpa.scene import Reconstruction
from vgpa.stages import advance

MAX_COARSE_ERROR_PX, MAX_COARSE_SCALE_PX = 1000.0, 100.0
COARSE_SHRINKAGE = 3.0
"""Factor by which the loss narrows from one coarse round to the next."""
COARSE_NUM_COVERED = 50
"""Observations that every image keeps in a coarse round: enough to find a place, not to be exact."""
COARSE_MAX_ITERATIONS = 20
"""Steps of a coarse round. Where it takes more of them it is lost among wrong tracks, and not found in fifty either."""
FITTING_ERROR_PX = 12.0
"""Error up to which an observation speaks for poses that may still be coarse."""
COARSE_ERROR_PER_SCALE = 12.0
"""Observations up to this many scales of the loss are used in a coarse round."""


def coarse_rounds(model: Reconstruction, given: Given) -> list[BundleRound]:
    """Rounds before the first, for poses so coarse that its loss would see nothing but outliers.

    The loss starts as wide as the errors are and narrows from round to round, while hardly anything is thrown out: a
    camera that is off by degrees must stay to be pulled in. Long lenses need this most, for a degree is many pixels.
    Intrinsics are held, for they would explain what is wrong with the poses; but focal lengths that nobody knows are
    themselves what is wrong.
    """
    first = given.config.rounds[0]
    if not first.is_adaptive:
        return []
    points = triangulate_tracks(model, given, replace(first, max_error_px=MAX_COARSE_ERROR_PX))
    if len(points.xyz) == 0:
        return []
    scale_px = min(_scale_called_for_px(points.error_px), MAX_COARSE_SCALE_PX)
    coarse = replace(
        first, max_iterations=COARSE_MAX_ITERATIONS, min_num_covered=COARSE_NUM_COVERED, only_unknown_focal=True
    )
    rounds = []
    while scale_px > first.loss_scale_px * COARSE_SHRINKAGE:
        error_px = max(COARSE_ERROR_PER_SCALE * scale_px, first.max_error_px)
        rounds.append(replace(coarse, max_error_px=error_px, loss_scale_px=scale_px))
        scale_px /= COARSE_SHRINKAGE
    return rounds


def run_coarse_rounds(
    start: Reconstruction, given: Given, coarse: list[BundleRound], num_rounds: int
) -> Reconstruction:
    """The model after coarse rounds, or as it was, if that fits better.

    Where poses were good but many tracks are wrong, a wide loss follows the wrong ones, and leads far away. A round
    that is wider than the errors still call for, after those before it, is left out.
    """
    model = start
    try:
        for number, settings in enumerate(coarse):
            advance(number, num_rounds)
            called_for_px = _scale_called_for_px(model.error_px) if model.num_points else np.inf
            if settings.loss_scale_px <= COARSE_SHRINKAGE * called_for_px:
                model = run_until_settled(model, given, settings)
    except NoModelError:
        return start
    return start if coarse and _num_fitting(model, given) < _num_fitting(start, given) else model


def _scale_called_for_px(error_px: FloatArray) -> float:
    """The scale of a loss that sees the errors (num_points,) of nearly all points.

    Where a part of the model is bent away, most points still look fine; the worst tenth tells.
    """
    return float(np.quantile(error_px, 0.9)) / 1.5


def _num_fitting(model: Reconstruction, given: Given) -> int:
    """Observations of the tracks of a first round that fit a model's poses."""
    first = replace(given.config.rounds[0], max_error_px=FITTING_ERROR_PX)
    return triangulate_tracks(model, given, first).tracks.num_observations
