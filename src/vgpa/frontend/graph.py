"""Which verified pairs are trusted as edges of the view graph: enough evidence, and no quarrel with their neighbours.

Three images seen pairwise must close: R_ki R_jk R_ij is the identity. An edge that takes part in several such
triplets, none of which closes, is wrong. An edge in no triplet (a bridge) has nobody to contradict it, and stays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vgpa.config import GraphConfig
from vgpa.geometry.rotation import BoolArray, FloatArray, IntArray, rotation_angle_rad
from vgpa.geometry.triplets import find_triplets
from vgpa.scene import Problem, ViewGraph

EdgeFilter = Callable[[ViewGraph], BoolArray]
"""An outside opinion on edges: a view graph to a mask (num_edges,) of those to keep."""

MIN_NUM_TRIPLETS = 2
"""Triplets an edge must be in before they can convict it."""


def select_reliable_edges(problem: Problem, config: GraphConfig, edge_filter: EdgeFilter | None = None) -> Problem:
    """The problem with only the edges that enough verified matches and their neighbours support."""
    graph = problem.view_graph
    enough = graph.num_inliers >= config.min_num_inliers
    clean = graph.num_inliers >= config.min_inlier_ratio * graph.num_matches
    problem = problem.select_edges(enough & clean)
    if edge_filter is not None:
        problem = problem.select_edges(edge_filter(problem.view_graph))
    return problem.select_edges(closes_triplets(problem.view_graph, config.max_triplet_error_deg))


def closes_triplets(graph: ViewGraph, max_error_deg: float) -> BoolArray:
    """(num_edges,) False for edges in several triplets of which none closes within the given angle."""
    triplets = find_triplets(graph.edge_index, graph.num_images)
    error = triplet_errors_deg(graph, triplets)
    best = np.full(graph.num_edges, np.inf)
    count = np.zeros(graph.num_edges, dtype=np.int64)
    for side in triplets:
        np.minimum.at(best, side, error)
        count += np.bincount(side, minlength=graph.num_edges)
    return (count < MIN_NUM_TRIPLETS) | (best <= max_error_deg)


def triplet_errors_deg(graph: ViewGraph, triplets: IntArray) -> FloatArray:
    """(num_triplets,) angle by which R_jk R_ij differs from R_ik."""
    rotation = graph.cam_j_from_cam_i.rotation
    ij, jk, ik = triplets
    return np.degrees(rotation_angle_rad(rotation[jk] @ rotation[ij], rotation[ik]))
