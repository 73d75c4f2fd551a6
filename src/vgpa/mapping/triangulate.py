"""Points of tracks under given poses, and which of their observations can be believed.

Every track is triangulated by DLT from all its posed views. Observations that then lie behind a camera or too far
from their keypoint are dropped, tracks that lost some are triangulated once more without them, and points are
kept if enough views remain at enough of an angle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vgpa.colmap.cameras import project, unproject
from vgpa.geometry.rotation import FloatArray
from vgpa.geometry.triangulation import ray_spread_rad, triangulate_dlt
from vgpa.scene import ImageSet, Keypoints, Poses, Tracks

MAX_DISTANCE = 1e3
"""Points further away than this many scene sizes are at infinity: they would blow up a bundle adjustment."""


@dataclass(frozen=True)
class PointFilter:
    """What a point must satisfy.

    Attributes:
        max_error_px: reprojection error of each observation.
        min_angle_deg: angle under which its rays meet.
        min_num_views: observations that remain.
    """

    max_error_px: float
    min_angle_deg: float
    min_num_views: int


@dataclass(frozen=True, eq=False)
class Points:
    """Triangulated tracks.

    Attributes:
        xyz: (num_points, 3); tracks: (num_points) their believed observations.
        error_px: (num_points,) mean reprojection error.
    """

    xyz: FloatArray
    tracks: Tracks
    error_px: FloatArray


def triangulate(images: ImageSet, poses: Poses, keypoints: Keypoints, tracks: Tracks, wanted: PointFilter) -> Points:
    """Points of all tracks that satisfy the filter under the given poses and intrinsics."""
    min_num = max(wanted.min_num_views, 2)
    posed = tracks.select_observations(poses.is_known[tracks.image_idx])
    posed = posed.select(posed.lengths >= min_num)
    xy_px = observed_px(keypoints, posed)
    rays = unproject(images, posed.image_idx, xy_px)
    has_ray = np.asarray(np.isfinite(rays).all(axis=-1))
    first = posed.select_observations(has_ray)
    long_enough = first.lengths >= min_num
    is_used = long_enough[first.track_idx]
    rays, xy_px, first = rays[has_ray][is_used], xy_px[has_ray][is_used], first.select(long_enough)
    xyz = _dlt(first, poses, rays)
    error = _errors_px(images, poses, first, xyz, xy_px)
    believed = error <= wanted.max_error_px
    second = first.select_observations(believed)
    enough = second.lengths >= min_num
    changed = enough & (second.lengths < first.lengths)
    in_changed, of_changed = changed[second.track_idx], second.select(changed)
    rays, xy_px, error = rays[believed], xy_px[believed], error[believed]
    xyz[changed] = _dlt(of_changed, poses, rays[in_changed])
    error[in_changed] = _errors_px(images, poses, of_changed, xyz[changed], xy_px[in_changed])
    return _keep_good(poses, second.select(enough), xyz[enough], error[enough[second.track_idx]], wanted)


def keep_good(
    images: ImageSet,
    poses: Poses,
    keypoints: Keypoints,
    tracks: Tracks,
    xyz: FloatArray,
    wanted: PointFilter,
) -> Points:
    """The points that satisfy the filter, with the observations that do."""
    return _keep_good(poses, tracks, xyz, observation_errors_px(images, poses, keypoints, tracks, xyz), wanted)


def _keep_good(poses: Poses, tracks: Tracks, xyz: FloatArray, error: FloatArray, wanted: PointFilter) -> Points:
    """The same, where the error (num_obs,) of each observation is known."""
    is_good = error <= wanted.max_error_px
    kept = tracks.select_observations(is_good)
    centre = poses.cam_from_world.centre
    nearby = _is_nearby(xyz, centre[poses.is_known])
    long_enough = nearby & (kept.lengths >= max(wanted.min_num_views, 2))
    error = error[is_good][long_enough[kept.track_idx]]
    kept, xyz = kept.select(long_enough), xyz[long_enough]
    wide = ray_spread_rad(xyz, centre[kept.image_idx], kept.offsets) >= np.radians(wanted.min_angle_deg)
    error = error[wide[kept.track_idx]]
    kept, xyz = kept.select(wide), xyz[wide]
    return Points(xyz, kept, np.bincount(kept.track_idx, error, len(kept)) / np.maximum(kept.lengths, 1))


def observation_errors_px(
    images: ImageSet, poses: Poses, keypoints: Keypoints, tracks: Tracks, xyz: FloatArray
) -> FloatArray:
    """(num_obs,) reprojection error of each observation; infinite behind the camera or without a projection."""
    return _errors_px(images, poses, tracks, xyz, observed_px(keypoints, tracks))


def _errors_px(images: ImageSet, poses: Poses, tracks: Tracks, xyz: FloatArray, xy_px: FloatArray) -> FloatArray:
    """The same, where the keypoints (num_obs, 2) are at hand."""
    with np.errstate(invalid="ignore", over="ignore"):
        xyz_cam = poses.cam_from_world.apply_each(tracks.image_idx, xyz[tracks.track_idx])
        error = np.linalg.norm(project(images, tracks.image_idx, xyz_cam) - xy_px, axis=-1)
    return np.where(np.isfinite(error), error, np.inf)


def observed_px(keypoints: Keypoints, tracks: Tracks) -> FloatArray:
    """(num_obs, 2) keypoint of each observation."""
    return keypoints.xy_px[keypoints.offsets[tracks.image_idx] + tracks.keypoint_idx]


def _dlt(tracks: Tracks, poses: Poses, rays: FloatArray) -> FloatArray:
    return triangulate_dlt(rays, poses.cam_from_world.matrix, tracks.image_idx, tracks.offsets)


def _is_nearby(xyz: FloatArray, centres: FloatArray) -> NDArray[np.bool_]:
    """(num_points,) finite and within reach of the cameras."""
    if len(centres) == 0:
        return np.zeros(len(xyz), dtype=np.bool_)
    middle = np.median(centres, axis=0)
    size = max(float(np.linalg.norm(centres - middle, axis=-1).max()), 1e-12)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.linalg.norm(xyz - middle, axis=-1) < MAX_DISTANCE * size)
