"""Bundle adjustment in rounds: each triangulates afresh, believes less error than the last, and adjusts.

Early rounds use the longest tracks only and a forgiving loss, because poses are coarse; the last uses every track
and decides what stays. A camera that too few points support is dropped rather than handed out wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vgpa.colmap.bundle import BundleOptions
from vgpa.compute.beside import beside
from vgpa.config import BundleRound, MappingConfig
from vgpa.errors import NoModelError
from vgpa.geometry.rotation import BoolArray
from vgpa.mapping.cover import covering_tracks, sampled_tracks, well_supported_images
from vgpa.mapping.extend import without_images
from vgpa.mapping.lenses import adjust_believably, known_lenses, lenses_as_given, lost_lenses, with_given_lenses
from vgpa.mapping.principal_point import explains_principal_point, freeable_cameras
from vgpa.mapping.triangulate import PointFilter, Points, keep_good, observation_errors_px, triangulate
from vgpa.scene import ImageSet, Keypoints, Poses, Reconstruction, Tracks
from vgpa.stages import advance

MAX_COARSE_ERROR_PX, MAX_COARSE_SCALE_PX = 1000.0, 100.0
COARSE_SHRINKAGE = 3.0
"""Factor by which the loss narrows from one coarse round to the next."""
COARSE_NUM_COVERED = 50
"""Observations that every image keeps in a coarse round: enough to find a place, not to be exact."""
FITTING_ERROR_PX = 12.0
"""Error up to which an observation speaks for poses that may still be coarse."""
COARSE_ERROR_PER_SCALE = 12.0
"""Observations up to this many scales of the loss are used in a coarse round."""
SETTLED_FOCAL_CHANGE = 0.01
"""A round is run again, if it may be, while the focal length of a typical image changes by more than this part."""
MIN_NOISE_PX = 0.05
"""Noise of keypoints that a loss must allow for, however well a model fits."""
NUM_READJUSTING = 40
"""Iterations at most after images came back: the model is nearly where it should be."""
NUM_SAMPLED, SEED = 10_000, 0
"""Observations that tell whether principal points are to be free, and the seed by which they are drawn."""
MIN_IMAGES_TO_HOLD = 3
"""Images of one camera from which on it is its lens that is uncertain, if it runs away, and not the images' poses."""
PATIENCE = 0.3
"""Factor on the tolerance of a round that frees principal points: they move far in steps that bring little."""
COVER_RESERVE = 1.5
"""Tracks that are triangulated for a covering subset, over those that it needs: some of them turn out bad."""


@dataclass(frozen=True, eq=False)
class _Given:
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
        )


def build_model(
    images: ImageSet,
    poses: Poses,
    keypoints: Keypoints,
    tracks: Tracks,
    config: MappingConfig,
    num_threads: int,
    last_tracks: Tracks | None = None,
) -> Reconstruction:
    """The model that the tracks support, from approximate poses.

    Args:
        last_tracks: for one more last round. More of them may be wrong, so they wait until poses are good.
    """
    given = _Given(images, keypoints, tracks, config, num_threads)
    start = _model(images, poses, Points(np.zeros((0, 3)), Tracks.empty(), np.zeros(0)))
    coarse, fine = _coarse_rounds(start, given), config.rounds[:-1] if last_tracks is None else config.rounds
    num_rounds = len(coarse) + len(fine) + 1
    model = _run_coarse_rounds(start, given, coarse, num_rounds)
    for number, settings in enumerate(fine, start=len(coarse)):
        advance(number, num_rounds)
        model = _run_until_settled(model, given, settings)
    advance(num_rounds - 1, num_rounds)
    last = given if last_tracks is None else replace(given, tracks=last_tracks)
    model = _run_last_round(model, last, checked=given)
    return model if config.rounds[-1].min_num_covered is None else _with_all_points(model, last)


def readjust(model: Reconstruction, keypoints: Keypoints, config: MappingConfig, num_threads: int) -> Reconstruction:
    """The model after one more adjustment of all its cameras and points, by the settings of the last round."""
    given = _Given(model.images, keypoints, model.tracks, config, num_threads)
    options = replace(given.options(config.rounds[-1], model), max_iterations=NUM_READJUSTING)
    return _adjust(model, given, config.rounds[-1], options)


def _run_until_settled(model: Reconstruction, given: _Given, settings: BundleRound) -> Reconstruction:
    """The model after a round, which is run again, as often as it may be, while lenses move."""
    held: tuple[int, ...] = ()
    for _ in range(settings.max_runs):
        options = given.options(settings, model)
        options = replace(options, held_cameras=options.held_cameras + held)
        before, model = model, _run_round(model, given, settings, options)
        # A lens that is as it was given has run away, and would do so again.
        held = lenses_as_given(model.images, given.images)
        # If lenses moved, the points of this round were found with others than it ends with.
        if _typical_focal_change(before, model) < SETTLED_FOCAL_CHANGE:
            break
    return model


def _run_coarse_rounds(
    start: Reconstruction, given: _Given, coarse: list[BundleRound], num_rounds: int
) -> Reconstruction:
    """The model after coarse rounds, or as it was, if that fits better.

    Where poses were good but many tracks are wrong, a wide loss follows the wrong ones, and leads far away.
    """
    model = start
    try:
        for number, settings in enumerate(coarse):
            advance(number, num_rounds)
            model = _run_until_settled(model, given, settings)
    except NoModelError:
        return start
    return start if coarse and _num_fitting(model, given) < _num_fitting(start, given) else model


def _num_fitting(model: Reconstruction, given: _Given) -> int:
    """Observations of the tracks of a first round that fit a model's poses."""
    first = replace(given.config.rounds[0], max_error_px=FITTING_ERROR_PX)
    return _triangulate(model, given, first).tracks.num_observations


def _typical_focal_change(before: Reconstruction, after: Reconstruction) -> float:
    """The relative change of the focal length of a typical (median) registered image."""
    change = [
        abs(new.params[0] / old.params[0] - 1)
        for old, new in zip(before.images.cameras, after.images.cameras, strict=True)
    ]
    return float(np.median(np.array(change)[after.images.camera_idx[after.poses.is_known]]))


def _coarse_rounds(model: Reconstruction, given: _Given) -> list[BundleRound]:
    """Rounds before the first, for poses so coarse that its loss would see nothing but outliers.

    The loss starts as wide as the errors are and narrows from round to round, while hardly anything is thrown out: a
    camera that is off by degrees must stay to be pulled in. Long lenses need this most, for a degree is many pixels.
    Intrinsics are held, for they would explain what is wrong with the poses; but focal lengths that nobody knows are
    themselves what is wrong.
    """
    first = given.config.rounds[0]
    if not first.is_adaptive:
        return []
    points = _triangulate(model, given, replace(first, max_error_px=MAX_COARSE_ERROR_PX))
    if len(points.xyz) == 0:
        return []
    # Where a part of the model is bent away, most points still look fine; the worst tenth tells.
    scale_px = min(float(np.quantile(points.error_px, 0.9)) / 1.5, MAX_COARSE_SCALE_PX)
    coarse, rounds = replace(first, min_num_covered=COARSE_NUM_COVERED, only_unknown_focal=True), []
    while scale_px > first.loss_scale_px * COARSE_SHRINKAGE:
        error_px = max(COARSE_ERROR_PER_SCALE * scale_px, first.max_error_px)
        rounds.append(replace(coarse, max_error_px=error_px, loss_scale_px=scale_px))
        scale_px /= COARSE_SHRINKAGE
    return rounds


def _run_last_round(model: Reconstruction, given: _Given, checked: _Given) -> Reconstruction:
    """The model after the last round, with free principal points if they explain enough of the checked tracks.

    Mostly they do not, so the round goes ahead without them while that is being tried.
    """
    last, config = given.config.rounds[-1], given.config
    options = given.options(last, model)
    if not freeable_cameras(model, options, config).any():
        return _run_round(model, given, last, options)

    def is_explained() -> BoolArray:
        alone = replace(options, num_threads=1)
        return np.array(explains_principal_point(_sample(model, checked), given.keypoints, alone, config))

    with beside(is_explained, given.num_threads) as needs_principal_points:
        finished = _run_round(model, given, last, options)
        if not needs_principal_points():
            return finished
    min_num = config.min_images_for_principal_point
    tolerance = PATIENCE * options.tolerance
    freed = replace(options, min_images_for_principal_point=min_num, tolerance=tolerance, may_climb=True)
    # An image that was lost under principal points that did not fit may fit under others.
    is_complete = finished.num_registered == model.num_registered
    return _run_round(finished if is_complete else model, given, last, freed)


def _run_round(model: Reconstruction, given: _Given, settings: BundleRound, options: BundleOptions) -> Reconstruction:
    """The model after one round."""
    points = _triangulate(model, given, settings)
    model = _drop_weak_images(_model(model.images, model.poses, points), given.config)
    if settings.min_num_covered is not None:
        model = model.select_points(covering_tracks(model.tracks, settings.min_num_covered))
    return _adjust(model, given, settings, options)


def _adjust(model: Reconstruction, given: _Given, settings: BundleRound, options: BundleOptions) -> Reconstruction:
    """The model after bundle adjustment, without what then does not fit."""
    model = adjust_believably(model, given.keypoints, options, given.images, MIN_IMAGES_TO_HOLD)
    model = _drop_lost_cameras(model, given.images)
    wanted = given.wanted(settings)
    points = keep_good(model.images, model.poses, given.keypoints, model.tracks, model.xyz, wanted)
    model = _drop_weak_images(_model(model.images, model.poses, points), given.config)
    if model.num_registered < 2:
        raise NoModelError(
            "No two images share enough points after a round of bundle adjustment",
            "Add photos with more overlap, or check that they show one rigid scene",
        )
    return model


def _triangulate(model: Reconstruction, given: _Given, settings: BundleRound) -> Points:
    """The points of all tracks that a round may use."""
    tracks = given.tracks
    if settings.min_num_covered is not None:
        posed = _posed_tracks(model, given)
        tracks = posed.select(covering_tracks(posed, round(COVER_RESERVE * settings.min_num_covered)))
    return triangulate(model.images, model.poses, given.keypoints, tracks, given.wanted(settings))


def _sample(model: Reconstruction, given: _Given) -> Reconstruction:
    """The model with the points of randomly chosen tracks, about `NUM_SAMPLED` observations in all."""
    posed = _posed_tracks(model, given)
    min_num = max(NUM_SAMPLED // model.num_registered, given.config.min_num_points)
    tracks = posed.select(sampled_tracks(posed, min_num, SEED))
    wanted = given.wanted(given.config.rounds[-1])
    return _model(model.images, model.poses, triangulate(model.images, model.poses, given.keypoints, tracks, wanted))


def _posed_tracks(model: Reconstruction, given: _Given) -> Tracks:
    """The given tracks as far as images with poses see them."""
    return given.tracks.select_observations(model.poses.is_known[given.tracks.image_idx])


def _with_all_points(model: Reconstruction, given: _Given) -> Reconstruction:
    """The points of every track under the final poses, where the last round adjusted a subset only."""
    points = _triangulate(model, given, replace(given.config.rounds[-1], min_num_covered=None))
    return _drop_weak_images(_model(model.images, model.poses, points), given.config)


def _model(images: ImageSet, poses: Poses, points: Points) -> Reconstruction:
    grey = np.full((len(points.xyz), 3), 128, dtype=np.uint8)
    return Reconstruction(images, poses, points.xyz, points.tracks, points.error_px, grey)


def _drop_lost_cameras(model: Reconstruction, given: ImageSet) -> Reconstruction:
    """Without the images whose focal length ran away in an adjustment; it becomes again what it was given as."""
    is_lost = lost_lenses(model.images, given)
    if not is_lost.any():
        return model
    images = with_given_lenses(model.images, given, is_lost)
    return replace(without_images(model, is_lost[images.camera_idx]), images=images)


def _drop_weak_images(model: Reconstruction, config: MappingConfig) -> Reconstruction:
    """Without the images that too few points support, and without the points that then have one view."""
    good = well_supported_images(model.tracks, len(model.images), config.min_num_points)
    if good[model.poses.is_known].all():
        return model
    tracks = model.tracks.select_observations(good[model.tracks.image_idx])
    dropped = replace(model, poses=model.poses.keep(good), tracks=tracks)
    return dropped.select_points(tracks.lengths >= 2)
