"""Rotation errors of a model's cameras against another model, image by image; nothing is run here."""

from __future__ import annotations

import numpy as np

from vgpa.evaluate.scores import Protocol, camera_errors
from vgpa.geometry.rotation import BoolArray, FloatArray
from vgpa.scene import Reconstruction


def rotation_errors_deg(
    model: Reconstruction, reference: Reconstruction, is_anchor: BoolArray | None = None
) -> FloatArray:
    """(num_images,) error of each camera that both models have, else NaN.

    Args:
        is_anchor: (num_images,) the cameras by which the model is aligned; all, if none are named.
    """
    place = {name: k for k, name in enumerate(reference.images.names) if reference.poses.is_known[k]}
    at = np.array([place.get(name, -1) for name in model.images.names])
    is_scored = model.poses.is_known & (at >= 0)
    true = reference.poses.cam_from_world[np.maximum(at, 0)]
    stays = np.flatnonzero(is_scored if is_anchor is None else is_scored & is_anchor)
    true_from_ours = Protocol().align(model.poses.cam_from_world[stays], true[stays])
    rotation_deg, _ = camera_errors(true_from_ours.apply_to_cameras(model.poses.cam_from_world), true)
    return np.where(is_scored, rotation_deg, np.nan)
