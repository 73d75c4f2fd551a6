"""Whether principal points should be free: only where the images tell them.

Lenses are rarely centred on their sensors to the pixel, and a few pixels can cost more accuracy than anything else
in a model with unknown intrinsics. But where the images hardly determine it, a free principal point only soaks up
other errors; so it stays in the centre unless its freedom explains a good part of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vgpa.colmap.bundle import BundleOptions, bundle_adjust
from vgpa.colmap.cameras import principal_point_offset
from vgpa.config import MappingConfig
from vgpa.mapping.triangulate import observation_errors_px
from vgpa.scene import Keypoints, Reconstruction

MAX_OFFSET = 0.05
"""Distance of a believable principal point from the image centre, in longer image sides."""
LOSS_SCALE_PX = 1.0
"""Scale of the Huber loss by which models with and without the freedom are compared."""
NUM_TRIAL_ITERATIONS = 4
MIN_DECREASE = 0.03
"""Part of the cost that freeing principal points must remove. Surveyed scenes lose 4 to 5% of it and become five times
as accurate; five other scenes lose 1 to 2%, and their poses move away from the reference."""


def explains_principal_point(
    model: Reconstruction, keypoints: Keypoints, options: BundleOptions, config: MappingConfig
) -> bool:
    """Whether cameras of many images fit the model's observations clearly better with a free principal point."""
    min_num = config.min_images_for_principal_point
    used = np.bincount(model.images.camera_idx[model.poses.is_known], minlength=len(model.images.cameras))
    if min_num is None or used.max() < min_num:
        return False
    options = replace(options, loss="huber", loss_scale_px=LOSS_SCALE_PX, min_images_for_principal_point=min_num)
    before = _huber_cost(model, keypoints)
    # A few iterations tell whether there is anything to gain; most models have nothing, and stop here.
    freed = bundle_adjust(model, keypoints, replace(options, max_iterations=NUM_TRIAL_ITERATIONS))
    if _huber_cost(freed, keypoints) > (1 - MIN_DECREASE / 2) * before:
        return False
    freed = bundle_adjust(freed, keypoints, options)
    is_far = max(map(principal_point_offset, freed.images.cameras)) > MAX_OFFSET
    return not is_far and _huber_cost(freed, keypoints) <= (1 - MIN_DECREASE) * before


def _huber_cost(model: Reconstruction, keypoints: Keypoints) -> float:
    """Sum over all observations of the Huber loss of their reprojection error."""
    error = observation_errors_px(model.images, model.poses, keypoints, model.tracks, model.xyz)
    return float(np.sum(np.where(error < LOSS_SCALE_PX, error**2, LOSS_SCALE_PX * (2 * error - LOSS_SCALE_PX))))
