"""Images that were lost on the way get another chance: resection against the finished points.

A missing image's verified matches to registered images reach 3D points through their keypoints. Its pose is estimated
from these, most matches first, and accepted only if enough of them agree and if the view graph agrees too: the median
rotation residual to its registered neighbours must be small, or repeated structure would put it where it never was
(METHOD section 7). Passes repeat until nothing is added. The other poses stay as they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vgpa.colmap.resection import resect
from vgpa.config import ReintegrateConfig
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import IntArray
from vgpa.scene import Poses, Problem, Reconstruction


def find_lost_poses(problem: Problem, model: Reconstruction, config: ReintegrateConfig) -> Poses:
    """The model's poses, with those of the missing images that can be placed among its points."""
    point_of = _point_of_keypoint(problem, model)
    poses = model.poses
    links = _links_to_points(problem, poses, point_of)
    num_links = np.bincount(links[0], minlength=len(poses))
    for image_idx in np.argsort(-num_links, kind="stable"):
        if num_links[image_idx] < config.min_num_inliers:
            break
        own = links[:, links[0] == image_idx]
        pose = _place(problem, model, poses, own, config)
        if pose is not None:
            poses = _with_pose(poses, int(image_idx), pose)
    return poses


def _place(
    problem: Problem, model: Reconstruction, poses: Poses, links: IntArray, config: ReintegrateConfig
) -> Rigid | None:
    """The pose of one missing image, if its points and its neighbours agree on it."""
    image_idx = int(links[0, 0])
    xy_px, xyz = problem.keypoints.xy_px[links[1]], model.xyz[links[2]]
    answer = resect(model.images.camera_of(image_idx), xy_px, xyz, config.max_error_px)
    if answer is None:
        return None
    pose, num_inliers = answer
    if num_inliers < max(config.min_num_inliers, config.min_inlier_ratio * len(xyz)):
        return None
    residual = _residual_to_neighbours_deg(problem, _with_pose(poses, image_idx, pose), image_idx)
    return pose if residual <= config.max_rotation_error_deg else None


def _point_of_keypoint(problem: Problem, model: Reconstruction) -> IntArray:
    """(num_keypoints,) the model's point that each keypoint observes, or -1."""
    tracks = model.tracks
    point_of = np.full(len(problem.keypoints.xy_px), -1, dtype=np.int64)
    point_of[problem.keypoints.offsets[tracks.image_idx] + tracks.keypoint_idx] = tracks.track_idx
    return point_of


def _links_to_points(problem: Problem, poses: Poses, point_of: IntArray) -> IntArray:
    """(3, num_links) missing image, its keypoint (among all) and the point that a match ties it to, each once."""
    matches = problem.matches
    ends = problem.view_graph.edge_index[:, matches.edge_idx]
    keypoint = problem.keypoints.offsets[ends] + matches.keypoint_idx.T
    both_ways = [
        np.stack([ends[missing], keypoint[missing], point_of[keypoint[1 - missing]]])[
            :, ~poses.is_known[ends[missing]] & (point_of[keypoint[1 - missing]] >= 0)
        ]
        for missing in (0, 1)
    ]
    return np.unique(np.concatenate(both_ways, axis=1), axis=1)


def _residual_to_neighbours_deg(problem: Problem, poses: Poses, image_idx: int) -> float:
    """Median rotation residual of the edges between an image and the posed images around it."""
    edges = problem.view_graph.edge_index
    beside: NDArray[np.bool_] = (edges == image_idx).any(axis=0) & poses.is_known[edges].all(axis=0)
    graph = problem.view_graph.select_edges(beside)
    return float(np.median(graph.rotation_residuals_deg(poses.cam_from_world.rotation)))


def _with_pose(poses: Poses, image_idx: int, pose: Rigid) -> Poses:
    quaternion, translation = poses.cam_from_world.quaternion_wxyz.copy(), poses.cam_from_world.translation.copy()
    quaternion[image_idx], translation[image_idx] = pose.quaternion_wxyz, pose.translation
    known = poses.is_known.copy()
    known[image_idx] = True
    return replace(poses, cam_from_world=Rigid(quaternion, translation), is_known=known)
