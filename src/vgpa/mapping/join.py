"""Two models of one scene become one, where enough of their points are the same.

A group of images can hang on a model by many weak threads, none of which would hold an image alone. Once the group
has a model of its own, all threads count together: matches between an image of one and an image of the other tie a
point to a point, and the similarity that takes one set of points to the other places the whole group. It is accepted
under the conditions under which a single image comes back: enough ties agree, and so does the view graph.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vgpa.colmap.cameras import project
from vgpa.config import ReintegrateConfig
from vgpa.geometry.alignment import Similarity, align_points
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import BoolArray, IntArray
from vgpa.mapping.agreement import common_disagreement_deg
from vgpa.scene import Poses, Problem, Reconstruction

MIN_NUM_POINTS = 8
"""Points that must agree in any case. Three fix a similarity; the others speak for it."""


def joint_poses(
    problem: Problem, model: Reconstruction, other: Reconstruction, config: ReintegrateConfig
) -> Poses | None:
    """The model's poses and the other's in the model's world; None if the two do not agree. No image is in both."""
    ties = _ties(problem, model, other)
    if ties.shape[1] < MIN_NUM_POINTS:
        return None
    agrees = np.ones(ties.shape[1], dtype=np.bool_)
    for _ in range(2):  # the second time without the ties that the first contradicts
        kept = ties[:, agrees]
        model_from_other = align_points(other.xyz[kept[2]], model.xyz[kept[1]])
        agrees = _agrees(problem, model, other, model_from_other, ties, config.max_error_px)
        if not _are_enough(ties, agrees, config):
            return None
    poses = _together(model.poses, other.poses, model_from_other)
    joined = replace(with_cameras_of(model, other), poses=poses)
    residual_deg = common_disagreement_deg(_between(problem, model, other), joined)
    return poses if residual_deg <= config.max_rotation_error_deg else None


def _are_enough(ties: IntArray, agrees: BoolArray, config: ReintegrateConfig) -> bool:
    """Whether the points of agreeing ties are enough for a group as they would be for an image."""
    num_points = len(np.unique(ties[2, agrees]))
    return num_points >= MIN_NUM_POINTS and config.are_enough(num_points, float(agrees.mean()))


def with_cameras_of(model: Reconstruction, other: Reconstruction) -> Reconstruction:
    """The model with the other's intrinsics of those cameras that took images of the other only."""
    ours, theirs = (set(m.images.camera_idx[m.poses.is_known].tolist()) for m in (model, other))
    cameras = [
        other.images.cameras[k] if k in theirs - ours else camera for k, camera in enumerate(model.images.cameras)
    ]
    return replace(model, images=model.images.with_cameras(tuple(cameras)))


def _ties(problem: Problem, model: Reconstruction, other: Reconstruction) -> IntArray:
    """(3, num_ties) a keypoint (among all) in the other model, the model's point it matches, and its own point."""
    matches = problem.matches
    ends = problem.view_graph.edge_index[:, matches.edge_idx]
    keypoint = problem.keypoints.offsets[ends] + matches.keypoint_idx.T
    ours, theirs = (m.point_of_keypoint(problem.keypoints)[keypoint] for m in (model, other))
    both_ways = [np.stack([keypoint[side], ours[1 - side], theirs[side]]) for side in (0, 1)]
    ties = np.concatenate(both_ways, axis=1)
    ties = ties[:, (ties[1:] >= 0).all(axis=0)]
    return ties[:, np.unique(ties[0], return_index=True)[1]]


def _agrees(
    problem: Problem,
    model: Reconstruction,
    other: Reconstruction,
    model_from_other: Similarity,
    ties: IntArray,
    max_error_px: float,
) -> BoolArray:
    """(num_ties,) whether the model's point appears at the keypoint in the other's image."""
    image = np.searchsorted(problem.keypoints.offsets, ties[0], side="right") - 1
    xyz = model_from_other.inverse().apply(model.xyz[ties[1]])
    xyz_cam = other.poses.cam_from_world.apply_each(image, xyz)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.linalg.norm(project(other.images, image, xyz_cam) - problem.keypoints.xy_px[ties[0]], axis=-1)
    return np.asarray(error <= max_error_px)


def _together(poses: Poses, other: Poses, model_from_other: Similarity) -> Poses:
    moved = model_from_other.apply_to_cameras(other.cam_from_world)
    is_other = other.is_known[:, None]
    return Poses(
        Rigid(
            np.where(is_other, moved.quaternion_wxyz, poses.cam_from_world.quaternion_wxyz),
            np.where(is_other, moved.translation, poses.cam_from_world.translation),
        ),
        poses.is_known | other.is_known,
    )


def _between(problem: Problem, model: Reconstruction, other: Reconstruction) -> Problem:
    """The problem with only the edges between images of the two models."""
    i, j = problem.view_graph.edge_index
    is_ours, is_theirs = model.poses.is_known, other.poses.is_known
    return problem.select_edges((is_ours[i] & is_theirs[j]) | (is_theirs[i] & is_ours[j]))
