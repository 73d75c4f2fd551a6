"""Images that were lost on the way get another chance: resection against the finished points.

A missing image's verified matches to registered images reach 3D points through their keypoints. Its pose is estimated
from these, most matches first, and accepted only if enough of them agree and if the view graph agrees too: the median
rotation residual to its registered neighbours must be small, or repeated structure would put it where it never was
(METHOD section 7). Passes repeat until nothing is added, so that a group of images that hangs on the model by a few of
its members comes back from there, member by member. The other poses stay as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vgpa.colmap.resection import resect
from vgpa.config import Config, ReintegrateConfig
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import IntArray
from vgpa.mapping.extend import extend_model, links_to_points
from vgpa.scene import Poses, Problem, Reconstruction, ViewGraph


def reintegrate(problem: Problem, model: Reconstruction, config: Config) -> Reconstruction:
    """The model with every lost image that finds its place among the points, in passes until none does.

    Args:
        problem: all images and verified pairs.
    """
    if config.mapping.reintegrate is None:
        return model
    num_links_tried = np.zeros(len(model.images), dtype=np.int64)
    while not model.poses.is_known.all():
        links = links_to_points(problem, model)
        num_links = np.bincount(links[0], minlength=len(model.images))
        # An image that did not fit gets another chance only with more to go by.
        fresh = num_links > num_links_tried
        poses = _find_poses(problem, model, links[:, fresh[links[0]]], config.mapping.reintegrate)
        num_links_tried = num_links
        extended = extend_model(problem, model, poses, config)
        if extended.num_registered <= model.num_registered:
            break
        model = extended
    return model


def find_lost_poses(problem: Problem, model: Reconstruction, config: ReintegrateConfig) -> Poses:
    """The model's poses, with those of the missing images that can be placed among its points."""
    return _find_poses(problem, model, links_to_points(problem, model), config)


def disagreement_deg(graph: ViewGraph, poses: Poses) -> float:
    """Median over the verified matches of a view graph of its edges' rotation residuals; there must be an edge.

    Edges count by their matches, for those with few are often wrong, and there may be many of them.
    """
    residual = graph.rotation_residuals_deg(poses.cam_from_world.rotation)
    order = np.argsort(residual)
    num_inliers = np.cumsum(graph.num_inliers[order])
    return float(residual[order][np.searchsorted(num_inliers, num_inliers[-1] / 2)])


def _find_poses(problem: Problem, model: Reconstruction, links: IntArray, config: ReintegrateConfig) -> Poses:
    """The model's poses and those of the images that the links (3, num_links) place, most links first."""
    poses = model.poses
    num_links = np.bincount(links[0], minlength=len(poses))
    for image_idx in np.argsort(-num_links, kind="stable"):
        if num_links[image_idx] < config.min_num_inliers:
            break
        own = links[:, links[0] == image_idx]
        pose = _place(problem, model, poses, own, config)
        if pose is not None:
            poses = _with_poses(poses, image_idx, pose)
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
    residual = _residual_to_neighbours_deg(problem, _with_poses(poses, image_idx, pose), image_idx)
    return pose if residual <= config.max_rotation_error_deg else None


def _residual_to_neighbours_deg(problem: Problem, poses: Poses, image_idx: int) -> float:
    """What the edges between an image and the posed images around it say; see `disagreement_deg`."""
    edges = problem.view_graph.edge_index
    beside: NDArray[np.bool_] = (edges == image_idx).any(axis=0) & poses.is_known[edges].all(axis=0)
    return disagreement_deg(problem.view_graph.select_edges(beside), poses)


def _with_poses(poses: Poses, image_idx: IntArray | int, cam_from_world: Rigid) -> Poses:
    quaternion, translation = poses.cam_from_world.quaternion_wxyz.copy(), poses.cam_from_world.translation.copy()
    quaternion[image_idx], translation[image_idx] = cam_from_world.quaternion_wxyz, cam_from_world.translation
    known = poses.is_known.copy()
    known[image_idx] = True
    return Poses(Rigid(quaternion, translation), known)
