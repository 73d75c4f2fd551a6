"""Bundle adjustment in rounds: each triangulates afresh, believes less error than the last, and adjusts.

Early rounds use the longest tracks only and a forgiving loss, because poses are coarse; the last uses every track
and decides what stays. A camera that too few points support is dropped rather than handed out wrong.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vgpa.colmap.bundle import BundleOptions, bundle_adjust
from vgpa.config import BundleRound, MappingConfig
from vgpa.errors import NoModelError
from vgpa.mapping.cover import covering_tracks, well_supported_images
from vgpa.mapping.triangulate import PointFilter, Points, keep_good, triangulate
from vgpa.scene import ImageSet, Keypoints, Poses, Reconstruction, Tracks


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
    for number, settings in enumerate(config.rounds):
        model = _run_round(model, keypoints, tracks, settings, config, num_threads)
        if model.num_registered < 2:
            raise NoModelError(
                f"No two images share enough points after round {number + 1} of bundle adjustment",
                "Add photos with more overlap, or check that they show one rigid scene",
            )
    return model


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
        model = _select_points(model, covering_tracks(model.tracks, settings.min_num_covered))
    options = BundleOptions(
        settings.loss,
        settings.loss_scale_px,
        settings.tolerance,
        settings.max_iterations,
        settings.refine_intrinsics and not config.fix_intrinsics,
        num_threads,
    )
    model = bundle_adjust(model, keypoints, options)
    points = keep_good(model.images, model.poses, keypoints, model.tracks, model.xyz, wanted)
    return _drop_weak_images(_model(model.images, model.poses, points), config)


def _model(images: ImageSet, poses: Poses, points: Points) -> Reconstruction:
    grey = np.full((len(points.xyz), 3), 128, dtype=np.uint8)
    return Reconstruction(images, poses, points.xyz, points.tracks, points.error_px, grey)


def _select_points(model: Reconstruction, keep: NDArray[np.bool_]) -> Reconstruction:
    return replace(
        model,
        xyz=model.xyz[keep],
        tracks=model.tracks.select(keep),
        error_px=model.error_px[keep],
        color=model.color[keep],
    )


def _drop_weak_images(model: Reconstruction, config: MappingConfig) -> Reconstruction:
    """Without the images that too few points support, and without the points that then have one view."""
    good = well_supported_images(model.tracks, len(model.images), config.min_num_points)
    if good[model.poses.is_known].all():
        return model
    tracks = model.tracks.select_observations(good[model.tracks.image_idx])
    dropped = replace(model, poses=model.poses.keep(good), tracks=tracks)
    return _select_points(dropped, tracks.lengths >= 2)
