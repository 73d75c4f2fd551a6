"""Translation directions re-estimated under averaged rotations, from the matches themselves.

With R_ij known, a match with rays x_i, x_j asks that t . (R_ij x_i x x_j) = 0: a pair's direction is the smallest
eigenvector of one 3x3 matrix, robustly reweighted. This is the cheapest gain in accuracy there is (METHOD
section 5), because the rotation no longer has to be paid for with the same matches.
"""

from __future__ import annotations

import numpy as np

from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, IntArray, normalize
from vgpa.scene import Matches, ViewGraph

NOISE_RAD = (0.1, 0.03, 0.01, 4e-3, 2e-3, 2e-3)
"""Residuals beyond this count less, step by step: wide first, because the measured direction may be far off, and in
the end the angular noise of a ray, about two pixels of a common photo."""
MIN_PARALLAX_RAD = 4e-3
"""Pairs whose rays hardly move once the rotation is undone say nothing about the direction."""


def refine_directions(
    graph: ViewGraph, matches: Matches, rays: tuple[FloatArray, FloatArray], rotation: FloatArray
) -> ViewGraph:
    """The graph with R_ij of the averaged rotations and t_ij re-estimated under them.

    Args:
        rays: two (num_matches, 3) arrays of unit rays, in camera i and in camera j of each match's edge; matches
            with a ray that is not finite are ignored.
        rotation: (n, 3, 3) averaged world-to-camera rotations.
    """
    i, j = graph.edge_index
    edge_rotation = rotation[j] @ np.swapaxes(rotation[i], -1, -2)
    turned = np.einsum("mab,mb->ma", edge_rotation[matches.edge_idx], rays[0])
    usable = np.isfinite(turned).all(axis=-1) & np.isfinite(rays[1]).all(axis=-1)
    edge_idx, turned, ray_j = matches.edge_idx[usable], turned[usable], rays[1][usable]
    normal = np.cross(turned, ray_j)
    direction = graph.cam_j_from_cam_i.translation
    for noise in NOISE_RAD:
        residual = np.sum(normal * direction[edge_idx], axis=-1)
        weight = 1 / (1 + (residual / noise) ** 2)
        scatter = _sum_by_edge(
            weight[:, None] * (normal[:, :, None] * normal[:, None, :]).reshape(-1, 9),
            edge_idx,
            graph.num_edges,
        ).reshape(-1, 3, 3)
        direction = np.linalg.eigh(scatter)[1][:, :, 0]
    vote = np.sign(np.sum(np.cross(ray_j, direction[edge_idx]) * normal, axis=-1))
    vote += np.sign(np.sum(np.cross(turned, direction[edge_idx]) * normal, axis=-1))
    sign = np.where(_sum_by_edge(vote[:, None], edge_idx, graph.num_edges)[:, 0] < 0, -1.0, 1.0)
    count = np.maximum(np.bincount(edge_idx, minlength=graph.num_edges), 1)
    parallax = np.sqrt(_sum_by_edge(np.sum(normal**2, axis=-1, keepdims=True), edge_idx, graph.num_edges)[:, 0] / count)
    has_direction = parallax > MIN_PARALLAX_RAD
    direction = np.where(has_direction[:, None], normalize(sign[:, None] * direction), 0.0)
    return ViewGraph(
        graph.num_images,
        graph.edge_index,
        Rigid.from_matrix(edge_rotation, direction),
        has_direction,
        graph.num_inliers,
        graph.num_matches,
    )


def _sum_by_edge(values: FloatArray, edge_idx: IntArray, num_edges: int) -> FloatArray:
    """(num_edges, k) sums of the rows of values (m, k) that belong to each edge."""
    return np.stack([np.bincount(edge_idx, column, num_edges) for column in values.T], axis=-1)
