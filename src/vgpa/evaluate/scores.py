"""All figures of a reconstruction against a reference, in one record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vgpa.errors import InputError
from vgpa.evaluate.metrics import auc, pair_errors_deg, registration_aware
from vgpa.geometry.alignment import align_cameras, scene_size
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import rotation_angle_rad
from vgpa.scene import Reconstruction

THRESHOLDS_DEG = (1, 5, 30)


@dataclass(frozen=True)
class Scores:
    """Accuracy and coverage against a reference.

    Attributes:
        num_images: images of the reference.
        num_registered: those of them that the model registered.
        rotation_mean_deg, rotation_median_deg: orientation errors after alignment.
        position_mean, position_median: centre errors after alignment, in units of the reference.
        position_mean_relative: mean centre error over the size of the scene.
        auc: per threshold in degrees, area under recall of max(rotation, direction) error over registered pairs.
        ra_auc: the same over all pairs of reference images, unregistered pairs counting as wrong.
    """

    num_images: int
    num_registered: int
    rotation_mean_deg: float
    rotation_median_deg: float
    position_mean: float
    position_median: float
    position_mean_relative: float
    auc: dict[int, float]
    ra_auc: dict[int, float]


def evaluate(model: Reconstruction, reference: Reconstruction) -> Scores:
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
    return score_poses(estimated, true, len(theirs))


def score_poses(estimated: Rigid, true: Rigid, num_images: int) -> Scores:
    """Score the poses of the same registered cameras; `num_images` counts the unregistered ones too."""
    aligned = align_cameras(estimated, true).apply_to_cameras(estimated)
    rotation = np.degrees(rotation_angle_rad(aligned.rotation, true.rotation))
    position = np.linalg.norm(aligned.centre - true.centre, axis=-1)
    size = scene_size(true.centre)
    worst = np.maximum(*pair_errors_deg(estimated, true))
    area = {threshold: auc(worst, threshold) for threshold in THRESHOLDS_DEG}
    return Scores(
        num_images=num_images,
        num_registered=len(true),
        rotation_mean_deg=float(rotation.mean()),
        rotation_median_deg=float(np.median(rotation)),
        position_mean=float(position.mean()),
        position_median=float(np.median(position)),
        position_mean_relative=float(position.mean()) / size if size > 0 else 0.0,
        auc=area,
        ra_auc={t: registration_aware(a, len(true), num_images) for t, a in area.items()},
    )
