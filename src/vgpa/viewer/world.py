"""From a model to what is drawn: upright, of a fixed size, with colours for errors. Pure functions on arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vgpa.geometry.alignment import Similarity, scene_size
from vgpa.geometry.rotation import FloatArray, rotation_angle_rad
from vgpa.report.scene import display_box, relative_distance, upright_from_world
from vgpa.scene import Poses, Reconstruction

SIZE = 10.0
"""Longest side of the scene as drawn, whatever the units of the model."""
ERROR_COLORS = np.array([[59, 130, 246], [44, 199, 181], [247, 185, 40], [239, 68, 68]], dtype=np.float64)
"""From no error to `limit`, as in the report."""


@dataclass(frozen=True)
class Change:
    """How far the cameras of a stage are from the final ones, as medians.

    Attributes:
        rotation_deg: angle.
        position_percent: distance, in percent of the size of the scene.
        num_images: images that have a pose at the stage.
    """

    rotation_deg: float
    position_percent: float
    num_images: int


@dataclass(frozen=True, eq=False)
class ViewedWorld:
    """How a model is drawn.

    Attributes:
        view_from_world: after it z is up, the middle of the scene is the origin, and the scene has size `SIZE`.
        errors_px: (num_images,) mean error of the points that each image sees; NaN where it sees none.
        limit_px: where the colour scale of errors ends: at two pixels, or beyond where errors are larger.
    """

    view_from_world: Similarity
    errors_px: FloatArray
    limit_px: float


def view_world(model: Reconstruction) -> ViewedWorld:
    """How to draw a model of any units and orientation."""
    cameras = model.poses.cam_from_world[model.poses.is_known]
    upright = upright_from_world(cameras)
    centre = cameras.centre @ upright.T
    box = display_box(model.xyz @ upright.T, centre[relative_distance(centre) <= 8])
    scale = SIZE / float((box[:, 1] - box[:, 0]).max())
    errors_px = mean_errors_px(model)
    limit_px = max(2.0, float(np.nanpercentile([0.0, *errors_px], 95)))
    return ViewedWorld(Similarity(scale, upright, -scale * box.mean(axis=1)), errors_px, limit_px)


def error_colors(error_px: FloatArray, limit_px: float) -> NDArray[np.uint8]:
    """(n, 3) colours of errors (n,) from 0 to the limit and beyond; grey where there is no error to tell."""
    at = np.clip(np.nan_to_num(error_px) / limit_px, 0, 1) * (len(ERROR_COLORS) - 1)
    stops = np.arange(len(ERROR_COLORS))
    color = np.stack([np.interp(at, stops, channel) for channel in ERROR_COLORS.T], axis=-1)
    return np.where(np.isnan(error_px)[:, None], 150, np.rint(color)).astype(np.uint8)


def mean_errors_px(model: Reconstruction) -> FloatArray:
    """(num_images,) mean error of the points that each image sees; NaN where it sees none."""
    tracks, num = model.tracks, len(model.images)
    count = np.bincount(tracks.image_idx, minlength=num)
    total = np.bincount(tracks.image_idx, model.error_px[tracks.track_idx], num)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def measure_change(stage: Poses, final: Poses) -> Change:
    """How far a stage's cameras, already in the final world, are from the final ones."""
    both = stage.is_known & final.is_known
    before, after = stage.cam_from_world[both], final.cam_from_world[both]
    angle = np.degrees(rotation_angle_rad(before.rotation, after.rotation))
    distance = np.linalg.norm(before.centre - after.centre, axis=-1)
    size = scene_size(after.centre) or 1.0
    return Change(float(np.median(angle)), 100 * float(np.median(distance)) / size, int(both.sum()))
