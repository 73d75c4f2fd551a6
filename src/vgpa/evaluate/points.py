"""What can be said of a model's points, and of the tracks that points are made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vgpa.colmap.cameras import project, unproject
from vgpa.geometry.rotation import BoolArray, FloatArray, IntArray
from vgpa.geometry.triangulation import triangulate_dlt
from vgpa.scene import ImageSet, Keypoints, Poses, Reconstruction, Tracks

MAX_ERROR_PX = 4.0
"""Reprojection error up to which an observation is right (RESfM's and the paper's)."""
NUM_PAIRS = 24
"""Pairs of observations tried per track, for the point that most of it agrees on: all of a track of seven."""


@dataclass(frozen=True)
class PointStatistics:
    """Points of a model.

    Attributes:
        num_points, num_observations: how many, and how often they were seen.
        mean_track_length: observations per point.
        mean_error_px, median_error_px: over points, of their mean reprojection errors.
        outlier_fraction: observations that no point explains under the reference's poses; None without any to judge.
    """

    num_points: int
    num_observations: int
    mean_track_length: float
    mean_error_px: float
    median_error_px: float
    outlier_fraction: float | None


def describe_points(model: Reconstruction, keypoints: Keypoints, reference: Reconstruction) -> PointStatistics:
    """The points of a model, and how many of its observations the reference's cameras contradict."""
    num_points = model.num_points
    number = {name: k for k, name in enumerate(reference.images.names)}
    place = np.array([number.get(name, -1) for name in model.images.names], dtype=np.int64)
    is_known = (place >= 0) & reference.poses.is_known[place]
    poses = Poses(reference.poses.cam_from_world[place], is_known).keep(is_known)
    return PointStatistics(
        num_points=num_points,
        num_observations=model.tracks.num_observations,
        mean_track_length=model.tracks.num_observations / num_points if num_points else 0.0,
        mean_error_px=float(model.error_px.mean()) if num_points else 0.0,
        median_error_px=float(np.median(model.error_px)) if num_points else 0.0,
        outlier_fraction=outlier_fraction(model.images, poses, keypoints, model.tracks),
    )


def outlier_fraction(images: ImageSet, poses: Poses, keypoints: Keypoints, tracks: Tracks) -> float | None:
    """The share of observations that are wrong: further than 4 px from their track's point under the given poses.

    A track's point is the one that most of its observations agree on, among those that pairs of them give. Images
    without a pose, and what is then seen less than twice, are not judged; None where nothing is left.
    """
    posed = tracks.select_observations(poses.is_known[tracks.image_idx])
    posed = posed.select(posed.lengths >= 2)
    if len(posed) == 0:
        return None
    xy_px = keypoints.xy_px[keypoints.offsets[posed.image_idx] + posed.keypoint_idx]
    # A pixel that cannot be undistorted has no ray, and agrees with nothing.
    views = _Views(images, poses, posed, xy_px, np.nan_to_num(unproject(images, posed.image_idx, xy_px)))
    agreed = np.zeros(posed.num_observations, dtype=np.bool_)
    for k in range(NUM_PAIRS):
        pair = posed.offsets[:-1, None] + _spread_pair(posed.lengths, (k + 0.5) / NUM_PAIRS)
        agreed = _more(posed, agreed, views.agreeing(pair.ravel(), 2 * np.arange(len(posed) + 1)))
    # Once more from all that agree; where no two do, from everything.
    used = agreed | (_count(posed, agreed)[posed.track_idx] < 2)
    offsets = np.concatenate([[0], np.cumsum(_count(posed, used))])
    agreed = _more(posed, agreed, views.agreeing(np.flatnonzero(used), offsets))
    # One observation alone agrees with nobody.
    return float(1 - np.mean(agreed & (_count(posed, agreed)[posed.track_idx] >= 2)))


@dataclass(frozen=True, eq=False)
class _Views:
    """Observations of tracks, and the posed cameras that made them."""

    images: ImageSet
    poses: Poses
    tracks: Tracks
    xy_px: FloatArray
    rays: FloatArray

    def agreeing(self, chosen: IntArray, offsets: IntArray) -> BoolArray:
        """(num_obs,) observations near the points of the chosen ones, which are given by track in CSR form."""
        image_idx, cam_from_world = self.tracks.image_idx, self.poses.cam_from_world
        points = triangulate_dlt(self.rays[chosen], cam_from_world.matrix, image_idx[chosen], offsets)
        xyz = points[self.tracks.track_idx]
        is_finite = np.asarray(np.isfinite(xyz).all(axis=-1))
        in_cam = cam_from_world.apply_each(image_idx, np.where(is_finite[:, None], xyz, 0.0))
        error = np.linalg.norm(project(self.images, image_idx, in_cam) - self.xy_px, axis=-1)
        return np.asarray(is_finite & (error <= MAX_ERROR_PX))


def _spread_pair(lengths: IntArray, share: float) -> IntArray:
    """(num_tracks, 2) the pair a < b of each track's observations that stands at the given share of all its pairs.

    Pairs are numbered b (b - 1) / 2 + a, so that shares evenly spread over 0..1 meet every pair of a short track.
    """
    number = np.floor(share * (lengths * (lengths - 1) // 2)).astype(np.int64)
    second = np.floor((1 + np.sqrt(1 + 8 * number)) / 2).astype(np.int64)
    return np.stack([number - second * (second - 1) // 2, second], axis=-1)


def _count(tracks: Tracks, mask: BoolArray) -> IntArray:
    """(num_tracks,) observations of each track in the mask (num_obs,)."""
    return np.bincount(tracks.track_idx[mask], minlength=len(tracks))


def _more(tracks: Tracks, a: BoolArray, b: BoolArray) -> BoolArray:
    """Track by track, the larger of two masks (num_obs,)."""
    has_more = np.asarray(_count(tracks, b) > _count(tracks, a))
    return np.where(has_more[tracks.track_idx], b, a)
