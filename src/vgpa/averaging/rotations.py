"""Robust rotation averaging on the Lie algebra, by iteratively reweighted least squares.

With R_i turned into R_i exp(w_i), an edge asks for w_j - w_i = log(R_j^T R_ij R_i), to first order. That is one
graph Laplacian, the same for all three axes: factorised once per step, solved for three right-hand sides. L1
weights come first (they forgive gross errors from afar), then Geman-McClure ones (they ignore them). Where cameras
have many edges the scale narrows at the end, so that the best edges decide; where they have few, each is needed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vgpa.averaging.laplacian import diagonal_blocks, solve_grounded, sum_at_nodes
from vgpa.geometry.rotation import (
    FloatArray,
    conjugate,
    exp_quaternion,
    log_quaternion,
    matrix_to_quaternion_wxyz,
    multiply,
    normalize,
    quaternion_wxyz_to_matrix,
)
from vgpa.scene import ViewGraph

NUM_L1_STEPS = 10
NUM_WIDE_STEPS = 10
NUM_NARROW_STEPS = 30
FEW_EDGES = 8.0
"""Edges per camera up to which the scale stays as it is; beyond, it shrinks with the square root of their number."""
NARROWEST = 0.2
"""The last scale over the first one is never less than this."""
STEP_TOLERANCE_RAD = 1e-4
L1_FLOOR_RAD = np.radians(0.1)
MIN_WEIGHT = 1e-6
"""Keeps the Laplacian of a connected graph definite however bad an edge is."""


def average_rotations(
    graph: ViewGraph, start: FloatArray, sigma_deg: float, is_start_close: bool = False
) -> FloatArray:
    """World-to-camera rotations (..., n, 3, 3) that agree with most edges of a connected graph.

    Args:
        start: (..., n, 3, 3) rotations to start from, one or many; the first camera keeps its own.
        sigma_deg: Geman-McClure scale to begin with; in dense graphs it narrows at the end.
        is_start_close: whether edges that disagree with the start shall be ignored from the beginning (no L1 steps).
    """
    rotation_wxyz = matrix_to_quaternion_wxyz(start).reshape(-1, graph.num_images, 4)
    edges_per_camera = 2 * graph.num_edges / graph.num_images
    narrow = max(NARROWEST, np.sqrt(FEW_EDGES / max(edges_per_camera, FEW_EDGES)))
    for weigh, num_steps in _phases(np.radians(sigma_deg), np.radians(sigma_deg) * narrow)[is_start_close:]:
        moving = np.arange(len(rotation_wxyz))
        for _ in range(num_steps):
            update = _find_update(graph, rotation_wxyz[moving], weigh)
            rotation_wxyz[moving] = normalize(multiply(rotation_wxyz[moving], exp_quaternion(update)))
            moving = moving[np.abs(update).max(axis=(1, 2)) >= STEP_TOLERANCE_RAD]
            if len(moving) == 0:
                break
    return quaternion_wxyz_to_matrix(rotation_wxyz).reshape(start.shape)


def _find_update(graph: ViewGraph, rotation_wxyz: FloatArray, weigh: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """w (m, n, 3) with w_0 = 0 that minimises sum of weight |w_j - w_i - residual|^2, from each of m starts."""
    i, j = graph.edge_index
    measured_wxyz = graph.cam_j_from_cam_i.quaternion_wxyz
    misfit_wxyz = multiply(multiply(conjugate(rotation_wxyz[:, j]), measured_wxyz), rotation_wxyz[:, i])
    residual = log_quaternion(misfit_wxyz)
    weight = np.maximum(weigh(np.linalg.norm(residual, axis=-1)), MIN_WEIGHT)
    block = weight[..., None, None]
    pull = sum_at_nodes(graph.edge_index, weight[..., None] * residual, graph.num_images)
    diagonal = diagonal_blocks(graph.edge_index, block, graph.num_images)
    return solve_grounded(graph.edge_index, block, diagonal, pull)


def _phases(wide: float, narrow: float) -> list[tuple[Callable[[FloatArray], FloatArray], int]]:
    """Weights as functions of the residual angle (radians), and the steps each has at most."""

    def l1(angle: FloatArray) -> FloatArray:
        return 1 / np.maximum(angle, L1_FLOOR_RAD)

    def geman_mcclure(scale: float) -> Callable[[FloatArray], FloatArray]:
        return lambda angle: (scale**2 / (scale**2 + angle**2)) ** 2

    return [(l1, NUM_L1_STEPS), (geman_mcclure(wide), NUM_WIDE_STEPS), (geman_mcclure(narrow), NUM_NARROW_STEPS)]
