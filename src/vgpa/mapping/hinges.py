"""Groups of images that hang on the rest by a single image, and how large they are beside it.

Where all points of a group are seen by the group and one image of the rest, its hinge, nothing tells the group's size:
scaled about the hinge, it fits as well (METHOD section 5, parallel rigidity). Averaging then has it from the directions
of weak pairs, and may be wrong by a factor. A few tracks that reach further do tell it, but to an adjustment that
starts from a wrong size they are all outliers. So the size is read off them: by the rays of the group a point has one
distance from the hinge, by the rays of the rest another, and by what their ratio is for most of these points the group
is scaled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vgpa.geometry.components import find_hanging, label_components
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import BoolArray, FloatArray, IntArray
from vgpa.mapping.triangulate import PointFilter, triangulate
from vgpa.scene import Keypoints, Poses, Reconstruction, Tracks

STRONG = (16, 8, 4, 2, 1)
"""Points that two images share which tie them: a few wrong ones may be among them, so several numbers are tried."""
MAX_NUM_IMAGES = 2000
"""Beyond this, counting what pairs share takes too long."""
MIN_NUM_TIES, MIN_PART_AGREEING = 6, 0.5
"""Tracks that must agree on a group's size, and part of all that tell one."""
TOLERANCE = 0.1
"""Part by which sizes that agree may differ."""
MIN_CHANGE = 0.02
"""Sizes are as good as right below this change."""
MAX_ERROR_PX, MIN_ANGLE_DEG = 12.0, 1.0
"""What a track must satisfy on either side."""


@dataclass(frozen=True, eq=False)
class Hinge:
    """A group that one image ties to the rest.

    Attributes:
        image_idx: the hinge.
        group: (n,) the images that hang on it.
    """

    image_idx: int
    group: IntArray


def find_hinges(tracks: Tracks, num_images: int) -> list[Hinge]:
    """The groups that hang on one image by the points that images share, smaller ones first."""
    if num_images > MAX_NUM_IMAGES:
        return []
    num_shared = tracks.num_shared(num_images)
    root, found = int(np.argmax(num_shared.sum(axis=0))), {}
    num_seen = np.count_nonzero(num_shared.any(axis=0))
    for min_num in STRONG:
        edges = np.stack(np.nonzero(np.triu(num_shared >= min_num, 1)))
        hanging = find_hanging(edges, num_images, root)
        for hinge, group in hanging:
            if len(group) >= 2:
                whole = _with_loose(group, edges, num_shared)
                found[hinge, whole.tobytes()] = Hinge(hinge, whole)
        if not hanging and len(np.unique(edges)) == num_seen == np.bincount(label_components(edges, num_images)).max():
            break  # with more ties nothing hangs either
    return sorted(found.values(), key=lambda hinge: len(hinge.group))


def _with_loose(group: IntArray, edges: IntArray, num_shared: IntArray) -> IntArray:
    """The group and the images without any such tie that share most with it."""
    is_in = np.zeros(len(num_shared), dtype=np.bool_)
    is_in[group] = True
    is_loose = np.ones(len(num_shared), dtype=np.bool_)
    is_loose[edges] = False
    joins = is_loose & (num_shared[:, is_in].sum(axis=1) > num_shared[:, ~is_in].sum(axis=1))
    return np.flatnonzero(is_in | joins)


def scale_hanging_groups(model: Reconstruction, keypoints: Keypoints, tracks: Tracks) -> Reconstruction:
    """The model with its hanging groups as large as the tracks say. Points stay: the next round finds them anew."""
    for hinge in find_hinges(model.tracks, len(model.images)):
        scale = _scale_of_ties(model, keypoints, tracks, hinge)
        if abs(np.log(scale)) > MIN_CHANGE:
            model = replace(model, poses=_scaled(model.poses, hinge, scale))
    return model


def _scale_of_ties(model: Reconstruction, keypoints: Keypoints, tracks: Tracks, hinge: Hinge) -> float:
    """By how much the group must grow for its points to be where the rest sees them; 1 if too few tracks tell."""
    poses = model.poses
    is_group = np.zeros(len(poses), dtype=np.bool_)
    is_group[hinge.group] = True
    is_hinge = np.arange(len(poses)) == hinge.image_idx
    sides = [poses.is_known & is_side for is_side in (is_group | is_hinge, ~is_group)]
    num_views = [np.bincount(tracks.track_idx[side[tracks.image_idx]], minlength=len(tracks)) for side in sides]
    ties = tracks.select(np.min(num_views, axis=0) >= 2)
    distance = [_distances(model, keypoints, ties, side, hinge.image_idx) for side in sides]
    log_ratio = np.log(distance[1] / distance[0])
    log_ratio = log_ratio[np.isfinite(log_ratio)]
    if len(log_ratio) < MIN_NUM_TIES:
        return 1.0
    agrees = np.abs(log_ratio - np.median(log_ratio)) <= TOLERANCE
    if agrees.sum() < max(MIN_NUM_TIES, MIN_PART_AGREEING * len(log_ratio)):
        return 1.0
    return float(np.exp(np.median(log_ratio[agrees])))


def _distances(
    model: Reconstruction, keypoints: Keypoints, tracks: Tracks, is_side: BoolArray, hinge: int
) -> FloatArray:
    """(num_tracks,) distance from the hinge of each track's point by the rays of one side; NaN where there is none."""
    seen = tracks.select_observations(is_side[tracks.image_idx])
    wanted = PointFilter(MAX_ERROR_PX, MIN_ANGLE_DEG, min_num_views=2)
    points = triangulate(model.images, model.poses, keypoints, seen, wanted)
    owner = np.full(len(keypoints.xy_px), -1)
    owner[keypoints.offsets[seen.image_idx] + seen.keypoint_idx] = seen.track_idx
    first = points.tracks.offsets[:-1]
    track_idx = owner[keypoints.offsets[points.tracks.image_idx[first]] + points.tracks.keypoint_idx[first]]
    distance = np.full(len(tracks), np.nan)
    distance[track_idx] = np.linalg.norm(points.xyz - model.poses.cam_from_world.centre[hinge], axis=-1)
    return distance


def _scaled(poses: Poses, hinge: Hinge, scale: float) -> Poses:
    """The poses with the group's centres further from the hinge by a factor."""
    centre = poses.cam_from_world.centre.copy()
    at = centre[hinge.image_idx]
    centre[hinge.group] = at + scale * (centre[hinge.group] - at)
    return replace(poses, cam_from_world=Rigid.from_centre(poses.cam_from_world.rotation, centre))
