"""Bundle adjustment in rounds: each triangulates afresh, believes less error than the last, and adjusts.

Early rounds use the longest tracks only and a forgiving loss, because poses are coarse; the last uses every track
and decides what stays. A camera that too few points support is dropped rather than handed out wrong.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vgpa.colmap.bundle import BundleOptions, bundle_adjust
from vgpa.colmap.cameras import principal_point_offset
from vgpa.config import BundleRound, MappingConfig
from vgpa.errors import NoModelError
from vgpa.mapping.cover import covering_tracks, well_supported_images
from vgpa.mapping.triangulate import PointFilter, Points, keep_good, observation_errors_px, triangulate
from vgpa.scene import ImageSet, Keypoints, Poses, Reconstruction, Tracks

MAX_COARSE_ERROR_PX, MAX_COARSE_SCALE_PX = 1000.0, 100.0
COARSE_SHRINKAGE = 3.0
"""Factor by which the loss narrows from one coarse round to the next."""
COARSE_ERROR_PER_SCALE = 12.0
"""Observations up to this many scales of the loss are used in a coarse round."""
SETTLED_FOCAL_CHANGE = 0.01
"""A round is run again, if it may be, while a focal length changes by more than this part in it."""
MAX_PRINCIPAL_POINT_OFFSET = 0.05
"""Distance of a believable principal point from the image centre, in longer image sides."""
NUM_TRIAL_ITERATIONS = 4
MIN_DECREASE = 0.03
"""Part of the cost that freeing principal points must remove. Surveyed scenes lose 4 to 5% of it and become five times
as accurate; five other scenes lose 1 to 2%, and their poses move away from the reference."""


def build_model(
    images: ImageSet,
    poses: Poses,
    keypoints: Keypoints,
    tracks: Tracks,
    config: MappingConfig,
    num_threads: int,
) -> Reconstruction:
    """The model that the tracks support, from approximate poses."""
    model = _model(images, poses, Points(np.zeros((0, 3)), Tracks.empty(), np.zeros(0)))
    for settings in (*_coarse_rounds(model, keypoints, tracks, config), *config.rounds):
        for _ in range(settings.max_runs):
            before, model = model, _run_round(model, keypoints, tracks, settings, config, num_threads)
            if model.num_registered < 2:
                raise NoModelError(
                    "No two images share enough points after a round of bundle adjustment",
                    "Add photos with more overlap, or check that they show one rigid scene",
                )
            # If lenses moved, the points of this round were found with others than it ends with.
            if _focal_change(before, model) < SETTLED_FOCAL_CHANGE:
                break
    if config.rounds[-1].min_num_covered is not None:
        model = _with_all_points(model, keypoints, tracks, config)
    return _free_principal_points(model, keypoints, config, num_threads)


def _focal_change(before: Reconstruction, after: Reconstruction) -> float:
    """The largest relative change of a focal length among the cameras of registered images."""
    used = np.unique(after.images.camera_idx[after.poses.is_known])
    pairs = [(before.images.cameras[k].params[0], after.images.cameras[k].params[0]) for k in used]
    return max(abs(new / old - 1) for old, new in pairs)


def _coarse_rounds(
    model: Reconstruction, keypoints: Keypoints, tracks: Tracks, config: MappingConfig
) -> list[BundleRound]:
    """Rounds before the first, for poses so coarse that its loss would see nothing but outliers.

    The loss starts as wide as the errors are and narrows from round to round, while hardly anything is thrown out: a
    camera that is off by degrees must stay to be pulled in. Long lenses need this most, for a degree is many pixels.
    """
    first = config.rounds[0]
    anything = PointFilter(MAX_COARSE_ERROR_PX, config.min_angle_deg, min_num_views=2)
    points = triangulate(model.images, model.poses, keypoints, tracks, anything)
    if not first.is_adaptive or len(points.xyz) == 0:
        return []
    # Where a part of the model is bent away, most points still look fine; the worst tenth tells.
    scale_px = min(float(np.quantile(points.error_px, 0.9)) / 1.5, MAX_COARSE_SCALE_PX)
    rounds = []
    while scale_px > first.loss_scale_px * COARSE_SHRINKAGE:
        error_px = max(COARSE_ERROR_PER_SCALE * scale_px, first.max_error_px)
        rounds.append(replace(first, max_error_px=error_px, loss_scale_px=scale_px))
        scale_px /= COARSE_SHRINKAGE
    return rounds


def _with_all_points(
    model: Reconstruction, keypoints: Keypoints, tracks: Tracks, config: MappingConfig
) -> Reconstruction:
    """The points of every track under the final poses, where the last round adjusted a subset only."""
    wanted = PointFilter(config.rounds[-1].max_error_px, config.min_angle_deg, min_num_views=2)
    points = triangulate(model.images, model.poses, keypoints, tracks, wanted)
    return _drop_weak_images(_model(model.images, model.poses, points), config)


def _options(settings: BundleRound, config: MappingConfig, num_threads: int, refine_intrinsics: bool) -> BundleOptions:
    return BundleOptions(
        settings.loss,
        settings.loss_scale_px,
        settings.tolerance,
        settings.max_iterations,
        refine_intrinsics and not config.fix_intrinsics,
        num_threads,
    )


def _free_principal_points(
    model: Reconstruction, keypoints: Keypoints, config: MappingConfig, num_threads: int
) -> Reconstruction:
    """The model after one more adjustment, in which cameras of many images find their principal point.

    Lenses are rarely centred on their sensors to the pixel, and a few pixels can cost more accuracy than anything else
    in a model with unknown intrinsics. But where the images hardly determine it, a free principal point only soaks up
    other errors; so the model stays as it was unless the freedom explains a good part of them.
    """
    min_num, last = config.min_images_for_principal_point, config.rounds[-1]
    used = np.bincount(model.images.camera_idx[model.poses.is_known], minlength=len(model.images.cameras))
    if config.fix_intrinsics or min_num is None or used.max() < min_num:
        return model
    options = replace(_options(last, config, num_threads, True), min_images_for_principal_point=min_num)
    before = _huber_cost(model, keypoints, last.loss_scale_px)
    # A few iterations tell whether there is anything to gain; most models have nothing, and stop here.
    freed = bundle_adjust(model, keypoints, replace(options, max_iterations=NUM_TRIAL_ITERATIONS))
    if _huber_cost(freed, keypoints, last.loss_scale_px) > (1 - MIN_DECREASE / 2) * before:
        return model
    freed = bundle_adjust(freed, keypoints, options)
    is_far = max(map(principal_point_offset, freed.images.cameras)) > MAX_PRINCIPAL_POINT_OFFSET
    if is_far or _huber_cost(freed, keypoints, last.loss_scale_px) > (1 - MIN_DECREASE) * before:
        return model
    wanted = PointFilter(last.max_error_px, config.min_angle_deg, min_num_views=2)
    points = keep_good(freed.images, freed.poses, keypoints, freed.tracks, freed.xyz, wanted)
    return _drop_weak_images(_model(freed.images, freed.poses, points), config)


def _run_round(
    model: Reconstruction,
    keypoints: Keypoints,
    tracks: Tracks,
    settings: BundleRound,
    config: MappingConfig,
    num_threads: int,
) -> Reconstruction:
    wanted = PointFilter(settings.max_error_px, config.min_angle_deg, min_num_views=2)
    points = triangulate(model.images, model.poses, keypoints, tracks, wanted)
    model = _drop_weak_images(_model(model.images, model.poses, points), config)
    if settings.min_num_covered is not None:
        model = model.select_points(covering_tracks(model.tracks, settings.min_num_covered))
    options = _options(settings, config, num_threads, settings.refine_intrinsics)
    model = bundle_adjust(model, keypoints, options)
    points = keep_good(model.images, model.poses, keypoints, model.tracks, model.xyz, wanted)
    return _drop_weak_images(_model(model.images, model.poses, points), config)


def _huber_cost(model: Reconstruction, keypoints: Keypoints, scale_px: float) -> float:
    """Sum over all observations of the Huber loss of their reprojection error."""
    error = observation_errors_px(model.images, model.poses, keypoints, model.tracks, model.xyz)
    return float(np.sum(np.where(error < scale_px, error**2, scale_px * (2 * error - scale_px))))


def _model(images: ImageSet, poses: Poses, points: Points) -> Reconstruction:
    grey = np.full((len(points.xyz), 3), 128, dtype=np.uint8)
    return Reconstruction(images, poses, points.xyz, points.tracks, points.error_px, grey)


def _drop_weak_images(model: Reconstruction, config: MappingConfig) -> Reconstruction:
    """Without the images that too few points support, and without the points that then have one view."""
    good = well_supported_images(model.tracks, len(model.images), config.min_num_points)
    if good[model.poses.is_known].all():
        return model
    tracks = model.tracks.select_observations(good[model.tracks.image_idx])
    dropped = replace(model, poses=model.poses.keep(good), tracks=tracks)
    return dropped.select_points(tracks.lengths >= 2)
