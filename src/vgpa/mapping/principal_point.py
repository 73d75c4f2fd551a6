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
from vgpa.geometry.rotation import BoolArray
from vgpa.mapping.triangulate import observation_errors_px
from vgpa.scene import Keypoints, Reconstruction

MAX_OFFSET = 0.03
"""Distance of a believable principal point from the image centre, in longer image sides."""
LOSS_SCALE_PX = 1.0
"""Scale of the Huber loss by which models with and without the freedom are compared."""
TOLERANCE = 1e-5
"""Relative decrease of the cost at which they count as adjusted: one that is not yet would lose the comparison."""
NUM_TRIAL_ITERATIONS = 4
MIN_DECREASE = 0.02
"""Part of the cost that freeing principal points must remove. Surveyed scenes lose 3 to 5% of it and become five times
as accurate; five other scenes lose about 1%, and their poses move away from the reference."""


def freeable_cameras(model: Reconstruction, options: BundleOptions, config: MappingConfig) -> BoolArray:
    """(num_cameras,) cameras with enough images to tell a principal point, if intrinsics are to be found at all."""
    min_num = config.min_images_for_principal_point
    used = np.bincount(model.images.camera_idx[model.poses.is_known], minlength=len(model.images.cameras))
    is_free: BoolArray = used >= (np.inf if min_num is None or not options.refine_intrinsics else min_num)
    is_free[list(options.held_cameras)] = False
    return is_free


def explains_principal_point(
    sample: Reconstruction, keypoints: Keypoints, options: BundleOptions, config: MappingConfig
) -> bool:
    """Whether cameras of many images fit their observations clearly better with a free principal point.

    Args:
        sample: a model with a fair sample of its points: the longest tracks alone tell little of a principal point.
    """
    is_free = freeable_cameras(sample, options, config)
    if not is_free.any():
        return False
    held_options = replace(options, loss="huber", loss_scale_px=LOSS_SCALE_PX, tolerance=TOLERANCE, may_climb=True)
    freed_options = replace(held_options, min_images_for_principal_point=config.min_images_for_principal_point)

    def decrease(held: Reconstruction, freed: Reconstruction) -> float:
        return 1 - _huber_cost(freed, keypoints) / max(_huber_cost(held, keypoints), 1e-12)

    # A few iterations tell whether there is anything to gain; most models have nothing, and stop here.
    held = bundle_adjust(sample, keypoints, replace(held_options, max_iterations=NUM_TRIAL_ITERATIONS))
    freed = bundle_adjust(sample, keypoints, replace(freed_options, max_iterations=NUM_TRIAL_ITERATIONS))
    if decrease(held, freed) < MIN_DECREASE / 2:
        return False
    held, freed = bundle_adjust(held, keypoints, held_options), bundle_adjust(freed, keypoints, freed_options)
    is_far = max(principal_point_offset(freed.images.cameras[k]) for k in np.flatnonzero(is_free)) > MAX_OFFSET
    return not is_far and decrease(held, freed) >= MIN_DECREASE


def _huber_cost(model: Reconstruction, keypoints: Keypoints) -> float:
    """Sum over all observations of the Huber loss of their reprojection error."""
    error = observation_errors_px(model.images, model.poses, keypoints, model.tracks, model.xyz)
    return float(np.sum(np.where(error < LOSS_SCALE_PX, error**2, LOSS_SCALE_PX * (2 * error - LOSS_SCALE_PX))))
