"""Whether the view graph agrees with poses: edge by edge, by its relative rotation or by its matches.

A verified pair says two things. Its relative rotation is the stronger word, but it was found with the intrinsics that
were known before: with a wrong focal length, a long lens or a flat scene it can be off by tens of degrees. Its matches
remain true then. So an edge contradicts the poses of its images only if both do: its rotation is another one, and
most of its matches do not lie on their epipolar lines, or in front of both cameras.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vgpa.colmap.cameras import match_rays, mean_focal_px
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import BoolArray, FloatArray, rotate
from vgpa.scene import Poses, Problem, Reconstruction

SMALL_ROTATION_DEG = 2.0
"""Rotation residuals below this need no second opinion."""
MAX_ERROR_PX = 8.0
"""Distance from its epipolar line at which a match still fits."""
MIN_AGREEING = 1 / 3
"""Part of its edges that must speak for an image's place. Not half: most pairs of an image can be wrong, and
then those that are right still agree with each other and with the points."""
MAX_NUM_ASKED = 100
"""About so many of an edge's matches are asked whether they fit."""
MIN_FITTING = 0.5
"""Part of an edge's matches that must fit. By chance two or three in a hundred do."""
CLOSE_ERROR_PX, CLOSE_PART = 4.0, 0.9
"""Distance and part where they fit closely."""
MIN_NOISE_PX = 0.05
"""Noise of keypoints that matches may always have."""


def disagreement_deg(problem: Problem, model: Reconstruction) -> FloatArray:
    """(num_edges,) rotation residual of each edge, 0 if its matches fit the poses; NaN where an image has no pose."""
    graph, poses = problem.view_graph, model.poses
    is_posed = poses.is_known[graph.edge_index].all(axis=0)
    residual = np.where(is_posed, graph.rotation_residuals_deg(poses.cam_from_world.rotation), np.nan)
    is_asked = np.asarray(residual > SMALL_ROTATION_DEG)
    asked = replace(problem.select_edges(is_asked).thin_matches(MAX_NUM_ASKED), images=model.images)
    fits = _parts_that_fit(asked, poses, MAX_ERROR_PX) >= MIN_FITTING
    residual[np.flatnonzero(is_asked)[fits]] = 0.0
    return residual


def common_disagreement_deg(problem: Problem, model: Reconstruction) -> float:
    """What `MIN_AGREEING` of the edges between posed images disagree by at most; NaN if there are none."""
    return _of_most_agreeing(problem, disagreement_deg(problem, model))


def is_confirmed(problem: Problem, model: Reconstruction, max_error_deg: float) -> bool:
    """Whether two edges between posed images agree with the poses, or one does closely.

    A handful of points fits many a pose, and half of the matches of the pair that led to them then fit it as well.
    Close is an edge whose relative rotation agrees too, or nearly all of whose matches fit.
    """
    residual = disagreement_deg(problem, model)
    agrees = np.asarray(residual <= max_error_deg)
    if agrees.sum() != 1:
        return bool(agrees.sum() > 1)
    edge = replace(problem.select_edges(agrees), images=model.images)
    rotation_deg = edge.view_graph.rotation_residuals_deg(model.poses.cam_from_world.rotation)
    return bool(rotation_deg[0] <= max_error_deg or _parts_that_fit(edge, model.poses, CLOSE_ERROR_PX)[0] >= CLOSE_PART)


def strain(problem: Problem, model: Reconstruction, max_rotation_deg: float) -> float:
    """How many times worse matches of edges between posed images fit the poses than they fit the edges' own motions.

    A chain of narrow pairs can bend step by step, up to turning the wrong way round: points at wrong depths then still
    lie near where they are seen, and matches near their epipolar lines, but no longer as near as they could. Motions
    that were found with a wrong focal length fit badly themselves and ask for nothing. What `MIN_AGREEING` of the edges
    feel at most, for wrong ones feel it at the right place; NaN if there are none.

    Args:
        max_rotation_deg: edges whose relative rotation agrees with the poses to this angle feel no strain.
    """
    graph, poses = problem.view_graph, model.poses
    is_posed = np.asarray(poses.is_known[graph.edge_index].all(axis=0))
    asked = replace(problem.select_edges(is_posed).thin_matches(MAX_NUM_ASKED), images=model.images)
    rays = match_rays(asked)
    motions = _motions(asked, poses), asked.view_graph.cam_j_from_cam_i
    placed_px, own_px = (_median_by_edge(asked, _epipolar(asked, motion, rays)[0]) for motion in motions)
    noise_px = max(float(np.median(model.error_px)) if model.num_points else 0.0, MIN_NOISE_PX)
    ratio = placed_px / np.maximum(own_px, noise_px)
    agrees = asked.view_graph.rotation_residuals_deg(poses.cam_from_world.rotation) <= max_rotation_deg
    return _of_most_agreeing(asked, np.where(agrees | np.isnan(ratio), 0.0, ratio))


def _of_most_agreeing(problem: Problem, figure: FloatArray) -> float:
    """What `MIN_AGREEING` of the edges have at most of a figure (num_edges,); NaN if none has any.

    Edges count by the root of their matches: those with few are often wrong, and there may be many of them, but a
    single one with very many must not outvote all others.
    """
    order = np.argsort(figure)[: np.isfinite(figure).sum()]
    if len(order) == 0:
        return np.nan
    weight = np.cumsum(np.sqrt(problem.view_graph.num_inliers[order]))
    return float(figure[order][np.searchsorted(weight, MIN_AGREEING * weight[-1])])


def _median_by_edge(problem: Problem, values: FloatArray) -> FloatArray:
    """(num_edges,) median over each edge's matches; NaN where one of them is, or there are none."""
    parts = np.split(values, problem.matches.offsets[1:-1])
    return np.array([np.median(part) if len(part) else np.nan for part in parts])


def _parts_that_fit(problem: Problem, poses: Poses, max_error_px: float) -> FloatArray:
    """(num_edges,) part of the matches of an edge between posed images that meet in front of its cameras."""
    edge_idx, num_edges = problem.matches.edge_idx, problem.view_graph.num_edges
    error_px, is_in_front = _epipolar(problem, _motions(problem, poses), match_rays(problem))
    fits = is_in_front & (error_px <= max_error_px)
    return np.bincount(edge_idx, fits, num_edges) / np.maximum(np.bincount(edge_idx, minlength=num_edges), 1)


def _motions(problem: Problem, poses: Poses) -> Rigid:
    """cam_j_from_cam_i of every edge by the poses."""
    i, j = problem.view_graph.edge_index
    return poses.cam_from_world[j] @ poses.cam_from_world[i].inverse()


def _epipolar(problem: Problem, motions: Rigid, rays: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, BoolArray]:
    """Each match's distance from its epipolar line, px (NaN without a baseline), and whether it meets in front.

    Args:
        motions: cam_j_from_cam_i of every edge.
        rays: unit rays (num_matches, 3) in camera i and camera j.
    """
    edge_idx, (ray_i, ray_j) = problem.matches.edge_idx, rays
    cam_j_from_cam_i = motions[edge_idx]
    turned, baseline = rotate(cam_j_from_cam_i.quaternion_wxyz, ray_i), cam_j_from_cam_i.translation
    normal = np.cross(turned, ray_j)
    # s_i turned + baseline = s_j ray_j, crossed with ray_j and with turned, gives the signs of the depths s_i and s_j.
    sides = [np.sum(np.cross(ray, baseline) * normal, axis=-1) > 0 for ray in (turned, ray_j)]
    with np.errstate(divide="ignore", invalid="ignore"):
        angle_rad = np.abs(np.sum(baseline * normal, axis=-1)) / np.linalg.norm(np.cross(baseline, turned), axis=-1)
    focal_px = np.array([mean_focal_px(camera) for camera in problem.images.cameras])[problem.images.camera_idx]
    return angle_rad * focal_px[problem.view_graph.edge_index[1][edge_idx]], sides[0] & sides[1]
