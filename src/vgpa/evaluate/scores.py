"""All figures of a reconstruction against a reference, in one record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from vgpa.errors import InputError
from vgpa.evaluate.metrics import auc, auc_by_degrees, pair_errors_deg, registration_aware
from vgpa.geometry.alignment import Similarity, align_cameras, align_points, scene_size
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, rotation_angle_rad
from vgpa.scene import Reconstruction

THRESHOLDS_DEG = (1, 5, 30)
Alignment = Literal["paper", "umeyama"]
Area = Literal["exact", "degrees"]


@dataclass(frozen=True)
class Protocol:
    """How models are compared.

    Attributes:
        alignment: "paper" takes the rotation from orientations (chordal mean), then the scale and shift that minimise
            unsquared centre distances; "umeyama" fits all of it to the centres, robustly.
        area: the exact area under recall, or from a histogram of one-degree bins.
    """

    alignment: Alignment = "paper"
    area: Area = "exact"

    def align(self, estimated: Rigid, true: Rigid) -> Similarity:
        """The true world from the estimated one, for poses of the same cameras."""
        if self.alignment == "umeyama":
            return align_points(estimated.centre, true.centre)
        return align_cameras(estimated, true)


@dataclass(frozen=True)
class Scores:
    """Accuracy and coverage against a reference.

    Attributes:
        num_images: images of the reference.
        num_registered: those of them that the model registered.
        rotation_mean_deg, rotation_median_deg: orientation errors after alignment.
        position_mean, position_median: centre errors after alignment, in units of the reference.
        position_mean_relative, position_median_relative: the same over the size of the scene.
        auc: per threshold in degrees, area under recall of max(rotation, direction) error over registered pairs.
        ra_auc: the same over all pairs of reference images, unregistered pairs counting as wrong.
        rotation_auc, direction_auc: as `auc`, of the rotation error and of the direction error alone.
    """

    num_images: int
    num_registered: int
    rotation_mean_deg: float
    rotation_median_deg: float
    position_mean: float
    position_median: float
    position_mean_relative: float
    position_median_relative: float
    auc: dict[int, float]
    ra_auc: dict[int, float]
    rotation_auc: dict[int, float]
    direction_auc: dict[int, float]


def evaluate(model: Reconstruction, reference: Reconstruction, protocol: Protocol | None = None) -> Scores:
    """Score a model against a reference; images are matched by name."""
    ours = {name: k for k, name in enumerate(model.images.names) if model.poses.is_known[k]}
    theirs = {name: k for k, name in enumerate(reference.images.names) if reference.poses.is_known[k]}
    names = [name for name in theirs if name in ours]
    if len(names) < 2:
        raise InputError(
            f"The model and the reference have {len(names)} registered images of the same name in common",
            "At least two are needed; check that image names are relative to the same folder",
        )
    estimated = model.poses.cam_from_world[[ours[name] for name in names]]
    true = reference.poses.cam_from_world[[theirs[name] for name in names]]
    return score_poses(estimated, true, len(theirs), protocol)


def camera_errors(aligned: Rigid, true: Rigid) -> tuple[FloatArray, FloatArray]:
    """(num_cameras,) angle in degrees between orientations, and distance between centres, in the same world."""
    rotation = np.degrees(rotation_angle_rad(aligned.rotation, true.rotation))
    return rotation, np.asarray(np.linalg.norm(aligned.centre - true.centre, axis=-1))


def score_poses(estimated: Rigid, true: Rigid, num_images: int, protocol: Protocol | None = None) -> Scores:
    """Score the poses of the same registered cameras; `num_images` counts the unregistered ones too."""
    protocol = protocol or Protocol()
    rotation, position = camera_errors(protocol.align(estimated, true).apply_to_cameras(estimated), true)
    size = scene_size(true.centre)
    relative = position / size if size > 0 else np.zeros_like(position)
    area_of = auc if protocol.area == "exact" else auc_by_degrees
    turned, shifted = pair_errors_deg(estimated, true)
    whole, by_rotation, by_direction = (
        {threshold: area_of(errors, threshold) for threshold in THRESHOLDS_DEG}
        for errors in (np.maximum(turned, shifted), turned, shifted)
    )
    return Scores(
        num_images=num_images,
        num_registered=len(true),
        rotation_mean_deg=float(rotation.mean()),
        rotation_median_deg=float(np.median(rotation)),
        position_mean=float(position.mean()),
        position_median=float(np.median(position)),
        position_mean_relative=float(relative.mean()),
        position_median_relative=float(np.median(relative)),
        auc=whole,
        ra_auc={t: registration_aware(a, len(true), num_images) for t, a in whole.items()},
        rotation_auc=by_rotation,
        direction_auc=by_direction,
    )
