"""A finished model and the poses of further images become one model, and what was finished stays.

The new images' matches to points become observations of these points where they fit, and tracks that no point explains
yet become new points. The new poses are settled on a part of both, and then everything is drawn up once more under
the settled poses. Poses, intrinsics and points of the model do not move; cameras that only new images have do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vgpa.colmap.bundle import BundleOptions
from vgpa.config import Config
from vgpa.frontend.tracks import build_tracks
from vgpa.geometry.rotation import FloatArray, IntArray
from vgpa.mapping.agreement import disagreement_deg
from vgpa.mapping.cover import covering_tracks
from vgpa.mapping.lenses import adjust_believably
from vgpa.mapping.triangulate import PointFilter, Points, observation_errors_px, triangulate
from vgpa.scene import Poses, Problem, Reconstruction, Tracks

NUM_SETTLING = 1000
"""Observations of each new image that its pose is settled on; all of 7000 moved it by 0.01 deg in one scene."""
SETTLING_SCALE_PX = 1.0
"""Where the loss of that adjustment turns from quadratic to robust."""
NUM_AT_EASE = 30
"""Matches to points from which on a new image needs no points of two views."""
ROUGH = 3.0
"""New poses are rough: observations this many times worse than a finished model allows help to settle them."""


def extend_model(problem: Problem, model: Reconstruction, poses: Poses, config: Config) -> Reconstruction:
    """The model with the images that only `poses` knows, as far as enough points support them.

    Args:
        problem: all images and verified pairs; pairs of new images that agree with the poses are used.
    """
    is_new = poses.is_known & ~model.poses.is_known
    if not is_new.any():
        return model
    agreeing = _pairs_of(problem, replace(model, poses=poses), is_new, config)
    fresh = _fresh_tracks(agreeing, model, is_new, config)
    last = config.mapping.rounds[-1]
    wanted = PointFilter(last.max_error_px, config.mapping.min_angle_deg, min_num_views=2)
    rough = _grow(agreeing, model, poses, fresh, replace(wanted, max_error_px=ROUGH * last.max_error_px))
    settled = _settle(rough, problem, is_new, config)
    extended = _grow(agreeing, replace(model, images=settled.images), settled.poses, fresh, wanted)
    num_points = np.bincount(extended.tracks.image_idx, minlength=len(poses))
    return without_images(extended, is_new & (num_points < config.mapping.min_num_points))


def without_images(model: Reconstruction, is_out: NDArray[np.bool_]) -> Reconstruction:
    """The model without the images of the mask (num_images,), and without points that fewer than two others see."""
    tracks = model.tracks.select_observations(~is_out[model.tracks.image_idx])
    stays = tracks.lengths >= 2
    return replace(model, poses=model.poses.keep(~is_out), tracks=tracks).select_points(stays)


def links_to_points(problem: Problem, model: Reconstruction) -> IntArray:
    """(3, num_links) missing image, its keypoint (among all) and the point that a match ties it to, each once."""
    matches, point_of = problem.matches, model.point_of_keypoint(problem.keypoints)
    ends = problem.view_graph.edge_index[:, matches.edge_idx]
    keypoint = problem.keypoints.offsets[ends] + matches.keypoint_idx.T
    links = []
    for missing in (0, 1):
        point = point_of[keypoint[1 - missing]]
        is_link = ~model.poses.is_known[ends[missing]] & (point >= 0)
        links.append(keypoint[missing][is_link] * max(model.num_points, 1) + point[is_link])
    linked_keypoint, point = np.divmod(np.unique(np.concatenate(links)), max(model.num_points, 1))
    image_idx = np.searchsorted(problem.keypoints.offsets, linked_keypoint, side="right") - 1
    return np.stack([image_idx, linked_keypoint, point])


def with_points(model: Reconstruction, points: Points) -> Reconstruction:
    """The model and further points under its poses, in grey."""
    first, second = model.tracks, points.tracks
    grey = np.full((len(points.xyz), 3), 128, dtype=np.uint8)
    tracks = Tracks(
        np.concatenate([first.offsets, first.offsets[-1] + second.offsets[1:]]),
        np.concatenate([first.image_idx, second.image_idx]),
        np.concatenate([first.keypoint_idx, second.keypoint_idx]),
    )
    xyz: FloatArray = np.concatenate([model.xyz, points.xyz])
    error_px = np.concatenate([model.error_px, points.error_px])
    return replace(model, tracks=tracks, xyz=xyz, error_px=error_px, color=np.concatenate([model.color, grey]))


def _pairs_of(problem: Problem, model: Reconstruction, is_new: NDArray[np.bool_], config: Config) -> Problem:
    """The pairs of the new images that agree with the poses."""
    own = problem.select_edges(np.asarray(is_new[problem.view_graph.edge_index].any(axis=0)))
    return own.select_edges(disagreement_deg(own, model) <= config.averaging.max_rotation_error_deg)


def _fresh_tracks(problem: Problem, model: Reconstruction, is_new: NDArray[np.bool_], config: Config) -> Tracks:
    """Tracks that no point explains yet; of two views only where a new image has little else to stand on."""
    num_links = np.bincount(links_to_points(problem, model)[0], minlength=len(is_new))
    tracks = build_tracks(problem, replace(config.graph, min_track_length=2))
    in_need = (is_new & (num_links < NUM_AT_EASE))[tracks.image_idx]
    helps = np.bincount(tracks.track_idx[in_need], minlength=len(tracks)) > 0
    long_enough = tracks.lengths >= config.graph.min_track_length
    return _without_points(tracks.select(helps | long_enough), problem, model)


def _without_points(tracks: Tracks, problem: Problem, model: Reconstruction) -> Tracks:
    """The tracks of which no keypoint observes a point of the model."""
    keypoint = problem.keypoints.offsets[tracks.image_idx] + tracks.keypoint_idx
    linked = links_to_points(problem, model)[1]
    is_explained = (model.point_of_keypoint(problem.keypoints)[keypoint] >= 0) | np.isin(keypoint, linked)
    return tracks.select(np.bincount(tracks.track_idx[is_explained], minlength=len(tracks)) == 0)


def _grow(problem: Problem, model: Reconstruction, poses: Poses, fresh: Tracks, wanted: PointFilter) -> Reconstruction:
    """The model under more poses, with the observations that then fit, and with points of the fresh tracks."""
    seen = _observations_that_fit(problem, model, poses, wanted.max_error_px)
    points = triangulate(model.images, poses, problem.keypoints, fresh, wanted)
    tracks = _joined(model.tracks, seen)
    is_touched = np.zeros(len(tracks), dtype=np.bool_)
    is_touched[seen[0]] = True
    touched, error_px = tracks.select(is_touched), model.error_px.copy()
    errors = observation_errors_px(model.images, poses, problem.keypoints, touched, model.xyz[is_touched])
    mean = np.bincount(touched.track_idx, errors, len(touched)) / np.maximum(touched.lengths, 1)
    error_px[is_touched] = np.where(np.isfinite(mean), mean, error_px[is_touched])
    grown = replace(model, poses=poses, tracks=tracks, error_px=error_px)
    return with_points(grown, points)


def _observations_that_fit(
    problem: Problem, model: Reconstruction, poses: Poses, max_error_px: float
) -> tuple[IntArray, IntArray, IntArray]:
    """Point, image and keypoint (within the image) of new observations; each keypoint and each view of a point once."""
    image, keypoint, point = links_to_points(problem, model)
    number = keypoint - problem.keypoints.offsets[image]
    one_each = Tracks(np.arange(len(image) + 1), image, number)
    error = observation_errors_px(model.images, poses, problem.keypoints, one_each, model.xyz[point])
    best = np.argsort(error, kind="stable")
    best = best[error[best] <= max_error_px]
    best = best[_first_of_each(keypoint[best])]
    best = best[_first_of_each(point[best] * len(poses) + image[best])]
    return point[best], image[best], number[best]


def _first_of_each(key: IntArray) -> IntArray:
    """Where each value of the key comes first, in rising order of place."""
    return np.sort(np.unique(key, return_index=True)[1])


def _joined(tracks: Tracks, seen: tuple[IntArray, IntArray, IntArray]) -> Tracks:
    """The tracks with further observations: the track, image and keypoint of each."""
    track_idx = np.concatenate([tracks.track_idx, seen[0]])
    order = np.argsort(track_idx, kind="stable")
    return Tracks(
        np.concatenate([[0], np.cumsum(np.bincount(track_idx, minlength=len(tracks)))]),
        np.concatenate([tracks.image_idx, seen[1]])[order],
        np.concatenate([tracks.keypoint_idx, seen[2]])[order],
    )


def _settle(model: Reconstruction, problem: Problem, is_new: NDArray[np.bool_], config: Config) -> Reconstruction:
    """The model after an adjustment in which only new images, their own cameras, and points that they see, move."""
    of_new = model.tracks.select_observations(is_new[model.tracks.image_idx])
    chosen = (of_new.lengths > 0) & covering_tracks(of_new, NUM_SETTLING)
    last = config.mapping.rounds[-1]
    is_free = not config.mapping.fix_intrinsics
    options = BundleOptions(
        "huber",
        SETTLING_SCALE_PX,
        last.tolerance,
        last.max_iterations,
        is_free,
        config.num_threads,
        held_cameras=config.mapping.held_cameras,
        trust_radius=last.trust_radius,
    )
    return adjust_believably(model.select_points(chosen), problem.keypoints, options, model.images, free_images=is_new)
