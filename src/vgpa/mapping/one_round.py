"""One round of bundle adjustment: triangulate afresh, adjust, and throw out what does not fit.

A camera that too few points support, or whose lens ran away, is dropped rather than handed out wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vgpa.colmap.bundle import BundleOptions
from vgpa.config import BundleRound, MappingConfig
from vgpa.errors import NoModelError
from vgpa.mapping.cover import covering_tracks, well_supported_images
from vgpa.mapping.extend import without_images
from vgpa.mapping.lenses import adjust_believably, known_lenses, lenses_as_given, lost_lenses, with_given_lenses
from vgpa.mapping.triangulate import PointFilter, Points, keep_good, observation_errors_px, triangulate
from vgpa.scene import ImageSet, Keypoints, Poses, Reconstruction, Tracks

SETTLED_FOCAL_CHANGE = 0.01
"""A round is run again, if it may be, while the focal length of a typical image changes by more than this part."""
MIN_NOISE_PX = 0.05
"""Noise of keypoints that a loss must allow for, however well a model fits."""
MIN_IMAGES_TO_HOLD = 3
"""Images of one camera from which on it is its lens that is uncertain, if it runs away, and not the images' poses."""
COVER_RESERVE = 1.5
"""Tracks that are triangulated for a covering subset, over those that it needs: some of them turn out bad."""


@dataclass(frozen=True, eq=False)
class Given:
    """What all rounds of a model have in common."""

    images: ImageSet
    keypoints: Keypoints
    tracks: Tracks
    config: MappingConfig
    num_threads: int

    def wanted(self, settings: BundleRound) -> PointFilter:
        """What a point must satisfy in this round."""
        return PointFilter(settings.max_error_px, self.config.min_angle_deg, min_num_views=2)

    def options(self, settings: BundleRound, model: Reconstruction) -> BundleOptions:
        """How this round adjusts a model."""
        scale_px = settings.loss_scale_px
        if settings.is_scale_relative and model.num_points > 0:
            errors = observation_errors_px(model.images, model.poses, self.keypoints, model.tracks, model.xyz)
            scale_px *= max(float(np.median(errors)), MIN_NOISE_PX)
        return BundleOptions(
            settings.loss,
            scale_px,
            settings.tolerance,
            settings.max_iterations,
            settings.refine_intrinsics and not self.config.fix_intrinsics,
            self.num_threads,
            held_cameras=self.config.held_cameras + (known_lenses(self.images) if settings.only_unknown_focal else ()),
            may_climb=settings.may_climb,
            refine_distortion=not settings.only_unknown_focal,
            trust_radius=settings.trust_radius,
        )


def run_until_settled(model: Reconstruction, given: Given, settings: BundleRound) -> Reconstruction:
    """The model after a round, which is run again, as often as it may be, while lenses move."""
    held: tuple[int, ...] = ()
    for _ in range(settings.max_runs):
        options = given.options(settings, model)
        options = replace(options, held_cameras=options.held_cameras + held)
        before, model = model, run_round(model, given, settings, options)
        # A lens that is as it was given has run away, and would do so again.
        held = lenses_as_given(model.images, given.images)
        # If lenses moved, the points of this round were found with others than it ends with.
        if _typical_focal_change(before, model) < SETTLED_FOCAL_CHANGE:
            break
    return model


def run_round(model: Reconstruction, given: Given, settings: BundleRound, options: BundleOptions) -> Reconstruction:
    """The model after one round."""
    points = triangulate_tracks(model, given, settings)
    model = drop_weak_images(model_of(model.images, model.poses, points), given.config)
    if settings.min_num_covered is not None:
        model = model.select_points(covering_tracks(model.tracks, settings.min_num_covered))
    return adjust(model, given, settings, options)


def adjust(model: Reconstruction, given: Given, settings: BundleRound, options: BundleOptions) -> Reconstruction:
    """The model after bundle adjustment, without what then does not fit."""
    model = adjust_believably(model, given.keypoints, options, given.images, MIN_IMAGES_TO_HOLD)
    model = _drop_lost_cameras(model, given.images)
    wanted = given.wanted(settings)
    points = keep_good(model.images, model.poses, given.keypoints, model.tracks, model.xyz, wanted)
    model = drop_weak_images(model_of(model.images, model.poses, points), given.config)
    if model.num_registered < 2:
        raise NoModelError(
            "No two images share enough points after a round of bundle adjustment",
            "Add photos with more overlap, or check that they show one rigid scene",
        )
    return model


def triangulate_tracks(model: Reconstruction, given: Given, settings: BundleRound) -> Points:
    """The points of all tracks that a round may use."""
    tracks = given.tracks
    if settings.min_num_covered is not None:
        posed = posed_tracks(model, given)
        tracks = posed.select(covering_tracks(posed, round(COVER_RESERVE * settings.min_num_covered)))
    return triangulate(model.images, model.poses, given.keypoints, tracks, given.wanted(settings))


def posed_tracks(model: Reconstruction, given: Given) -> Tracks:
    """The given tracks as far as images with poses see them."""
    return given.tracks.select_observations(model.poses.is_known[given.tracks.image_idx])


def model_of(images: ImageSet, poses: Poses, points: Points) -> Reconstruction:
    grey = np.full((len(points.xyz), 3), 128, dtype=np.uint8)
    return Reconstruction(images, poses, points.xyz, points.tracks, points.error_px, grey)


def drop_weak_images(model: Reconstruction, config: MappingConfig) -> Reconstruction:
    """Without the images that too few points support, and without the points that then have one view."""
    good = well_supported_images(model.tracks, len(model.images), config.min_num_points)
    if good[model.poses.is_known].all():
        return model
    tracks = model.tracks.select_observations(good[model.tracks.image_idx])
    dropped = replace(model, poses=model.poses.keep(good), tracks=tracks)
    return dropped.select_points(tracks.lengths >= 2)


def _drop_lost_cameras(model: Reconstruction, given: ImageSet) -> Reconstruction:
    """Without the images whose focal length ran away in an adjustment; it becomes again what it was given as."""
    is_lost = lost_lenses(model.images, given)
    if not is_lost.any():
        return model
    images = with_given_lenses(model.images, given, is_lost)
    return replace(without_images(model, is_lost[images.camera_idx]), images=images)


def _typical_focal_change(before: Reconstruction, after: Reconstruction) -> float:
    """The relative change of the focal length of a typical (median) registered image."""
    change = [
        abs(new.params[0] / old.params[0] - 1)
        for old, new in zip(before.images.cameras, after.images.cameras, strict=True)
    ]
    return float(np.median(np.array(change)[after.images.camera_idx[after.poses.is_known]]))
