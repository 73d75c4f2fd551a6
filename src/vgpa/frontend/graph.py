"""Which verified pairs are trusted as edges of the view graph: enough evidence, and no quarrel with their neighbours.

Three images seen pairwise must close: R_ki R_jk R_ij is the identity. An edge that takes part in several such
triplets, none of which closes, is wrong. An edge in no triplet (a bridge) has nobody to contradict it, and stays, but
not where many that could be contradicted were: there it is as likely to be wrong, and nobody would know.
Nor is an edge trusted whose matches third images refute (`witnesses`), however well they agree with its pose, and
one that they could bear out, and do not, counts for less.
A photo and its copy, turned or scaled, match perfectly, and say nothing of where they were taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from vgpa.config import GraphConfig
from vgpa.frontend.witnesses import Hearing, hear_witnesses
from vgpa.geometry.rotation import BoolArray, FloatArray, IntArray, rotation_angle_rad
from vgpa.geometry.triplets import find_triplets
from vgpa.scene import Problem, ViewGraph

EdgeFilter = Callable[[ViewGraph], BoolArray]
"""An outside opinion on edges: a view graph to a mask (num_edges,) of those to keep."""

MAX_COPY_ERROR_PX = 0.5
"""Matches of copies are this close (root mean square) once the turn is undone; none of 5,000 real pairs is to 1.5."""
MAX_NUM_COMPARED = 100
"""About so many matches of a pair say whether it joins copies."""
SILENT_DISCOUNT = 2
"""Matches of a pair that third images could bear out, and do not, count as so many times fewer."""
MIN_NUM_TRIPLETS = 2
"""Triplets an edge must be in before they can convict it."""
MAX_PART_CONVICTED, NUM_DEVIATIONS = 0.1, 2.0
"""Where surely more of the edges that triplets can convict are convicted, those that they cannot are not trusted; sure
is what so many standard deviations of the number leave. In seven scenes 0-11% are convicted, but 19% in one of photos
from the internet, where half of the edges that triplets cannot convict are wrong (a third or more in its parts)."""


def select_reliable_edges(
    problem: Problem, config: GraphConfig, edge_filter: EdgeFilter | None = None, heard: Hearing | None = None
) -> Problem:
    """The problem with only the edges that enough verified matches and their neighbours support.

    Args:
        edge_filter: an outside opinion on edges.
        heard: what third images say, if it is known already.

    Returns:
        The problem in which the inliers of edges that third images are silent on count half.
    """
    graph = problem.view_graph
    enough = graph.num_inliers >= config.min_num_inliers
    clean = graph.num_inliers >= config.min_inlier_ratio * graph.num_matches
    # Pairs too weak to be edges are good enough as witnesses.
    heard = heard or hear_witnesses(problem)
    num_inliers = np.where(heard.is_silent, graph.num_inliers // SILENT_DISCOUNT, graph.num_inliers)
    weighed = replace(problem, view_graph=replace(graph, num_inliers=num_inliers))
    problem = weighed.select_edges(enough & clean & ~heard.is_refuted)
    problem = problem.select_edges(~joins_copies(problem))
    if edge_filter is not None:
        problem = problem.select_edges(edge_filter(problem.view_graph))
    return problem.select_edges(closes_triplets(problem.view_graph, config.max_triplet_error_deg))


def joins_copies(problem: Problem) -> BoolArray:
    """(num_edges,) whether the matches of an edge differ by a turn and a scale about the image centres, and no more."""
    problem = problem.thin_matches(MAX_NUM_COMPARED)
    images, matches = problem.images, problem.matches
    centre = np.array([(camera.width_px / 2, camera.height_px / 2) for camera in images.cameras])[images.camera_idx]
    edge_idx, num = matches.edge_idx, problem.view_graph.num_edges
    ends = problem.view_graph.edge_index[:, edge_idx]
    # As complex numbers z_j = a z_i, where a turns and scales; the best a is a quotient of sums.
    from_centre = problem.keypoints.xy_px[problem.keypoints.offsets[ends] + matches.keypoint_idx.T] - centre[ends]
    z_i, z_j = from_centre[..., 0] + 1j * from_centre[..., 1]
    product = np.conj(z_i) * z_j
    sums = np.bincount(edge_idx, product.real, num) + 1j * np.bincount(edge_idx, product.imag, num)
    turn = sums / np.maximum(np.bincount(edge_idx, np.abs(z_i) ** 2, num), 1e-12)
    squared_px = np.bincount(edge_idx, np.abs(z_j - turn[edge_idx] * z_i) ** 2, num)
    count = np.bincount(edge_idx, minlength=num)
    return np.asarray((count > 0) & (squared_px <= MAX_COPY_ERROR_PX**2 * count))


def closes_triplets(graph: ViewGraph, max_error_deg: float) -> BoolArray:
    """(num_edges,) whether an edge is in a triplet that closes within the given angle, or in too few to be convicted.

    If many edges are convicted, only the first counts.
    """
    triplets = find_triplets(graph.edge_index, graph.num_images)
    error = triplet_errors_deg(graph, triplets)
    best = np.full(graph.num_edges, np.inf)
    count = np.zeros(graph.num_edges, dtype=np.int64)
    for side in triplets:
        np.minimum.at(best, side, error)
        count += np.bincount(side, minlength=graph.num_edges)
    closes, is_tried = best <= max_error_deg, count >= MIN_NUM_TRIPLETS
    num_convicted = (is_tried & ~closes).sum()
    are_many = num_convicted - NUM_DEVIATIONS * np.sqrt(num_convicted) > MAX_PART_CONVICTED * is_tried.sum()
    return np.asarray(closes | (~is_tried & ~are_many))


def triplet_errors_deg(graph: ViewGraph, triplets: IntArray) -> FloatArray:
    """(num_triplets,) angle by which R_jk R_ij differs from R_ik."""
    rotation = graph.cam_j_from_cam_i.rotation
    ij, jk, ik = triplets
    return np.degrees(rotation_angle_rad(rotation[jk] @ rotation[ij], rotation[ik]))
