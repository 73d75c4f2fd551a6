"""Pairwise pose errors and the area under their recall curve."""

from __future__ import annotations

import numpy as np

from vgpa.geometry.rigid import Rigid, relative
from vgpa.geometry.rotation import FloatArray, direction_angle_rad, normalize, rotation_angle_rad


def pair_errors_deg(cam_from_world: Rigid, reference: Rigid) -> tuple[FloatArray, FloatArray]:
    """Errors of the relative pose of every pair of cameras; no alignment is needed.

    Args:
        cam_from_world: (n) estimated poses; reference: (n) poses of the same cameras.

    Returns:
        Two (n (n - 1) / 2,) arrays in degrees: rotation error, and error of the signed translation direction. Where
        neither pose has a baseline the direction error is 0; where only one has, it is 90.
    """
    i, j = np.triu_indices(len(cam_from_world), k=1)
    estimated, true = (relative(poses[i], poses[j]) for poses in (cam_from_world, reference))
    rotation = rotation_angle_rad(estimated.rotation, true.rotation)
    direction = direction_angle_rad(normalize(estimated.translation), normalize(true.translation))
    return np.degrees(rotation), np.degrees(direction)


def auc(errors: FloatArray, threshold: float) -> float:
    """Exact area under the recall curve up to the threshold, divided by it: the mean of max(0, 1 - error / threshold).

    0 when there is nothing to score.
    """
    return float(np.mean(np.maximum(0.0, 1.0 - errors / threshold))) if len(errors) else 0.0


def auc_by_degrees(errors: FloatArray, threshold: int) -> float:
    """The same area from a histogram of one-degree bins, as pose benchmarks of image matchers count it.

    It is the mean recall at 1, 2, ..., threshold degrees, and so never below the exact area. 0 when there is nothing to
    score.
    """
    if not len(errors):
        return 0.0
    counts, _ = np.histogram(errors, bins=np.arange(threshold + 1))
    return float(np.mean(np.cumsum(counts))) / len(errors)


def registration_aware(auc_value: float, num_registered: int, num_images: int) -> float:
    """RA-AUC: AUC over all pairs of input images, where pairs that are not registered score 0.

    It equals AUC times C(num_registered, 2) / C(num_images, 2).
    """
    num_pairs = num_images * (num_images - 1)
    return auc_value * num_registered * (num_registered - 1) / num_pairs if num_pairs else 0.0
