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
UPPER = np.triu_indices(3)
SYMMETRIC = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])
"""Entries of a symmetric 3x3 matrix that are kept, and where each of all nine is found among them."""
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
    edge_idx, offsets, ray_j = matches.edge_idx, matches.offsets, rays[1]
    turned = np.einsum("mab,mb->ma", edge_rotation[edge_idx], rays[0])
    # (3, num_matches), and so on: long rows pass through the processor's cache best.
    normal = np.ascontiguousarray(np.cross(turned, ray_j).T)
    is_usable = np.isfinite(normal).all(axis=0)
    normal[:, ~is_usable] = 0.0
    outer = normal[UPPER[0]] * normal[UPPER[1]]
    direction = graph.cam_j_from_cam_i.translation
    for noise in NOISE_RAD:
        residual = np.sum(normal * direction.T[:, edge_idx], axis=0)
        scatter = _sum_by_edge(outer / (1 + (residual / noise) ** 2), offsets)
        direction = np.linalg.eigh(scatter.T[:, SYMMETRIC])[1][:, :, 0]
    along = direction[edge_idx]
    vote = np.sign(np.sum(np.cross(ray_j, along) * normal.T, axis=-1))
    vote += np.sign(np.sum(np.cross(turned, along) * normal.T, axis=-1))
    sums = _sum_by_edge(np.stack([np.where(is_usable, vote, 0.0), np.sum(normal**2, axis=0), is_usable]), offsets)
    sign = np.where(sums[0] < 0, -1.0, 1.0)
    parallax = np.sqrt(sums[1] / np.maximum(sums[2], 1))
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


def _sum_by_edge(values: FloatArray, offsets: IntArray) -> FloatArray:
    """(k, num_edges) sums of the columns of values (k, m) that belong to each edge, which lie together."""
    sums = np.zeros((len(values), len(offsets) - 1))
    has_any = np.diff(offsets) > 0
    if has_any.any():
        sums[:, has_any] = np.add.reduceat(values, offsets[:-1][has_any], axis=1)
    return sums
