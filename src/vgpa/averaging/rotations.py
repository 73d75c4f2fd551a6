"""Robust rotation averaging on the Lie algebra, by iteratively reweighted least squares.

With R_i turned into R_i exp(w_i), an edge asks for w_j - w_i = log(R_j^T R_ij R_i), to first order. That is one
graph Laplacian, the same for all three axes: factorised once per step, solved for three right-hand sides. L1
weights come first (they forgive gross errors from afar), then Geman-McClure ones (they ignore them).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import splu

from vgpa.geometry.rotation import FloatArray, exp_map, log_map, nearest_rotation
from vgpa.scene import ViewGraph

NUM_L1_STEPS = 10
NUM_ROBUST_STEPS = 50
STEP_TOLERANCE_RAD = 1e-6
L1_FLOOR_RAD = np.radians(0.1)
MIN_WEIGHT = 1e-6
"""Keeps the Laplacian of a connected graph definite however bad an edge is."""


def average_rotations(graph: ViewGraph, start: FloatArray, sigma_deg: float) -> FloatArray:
    """World-to-camera rotations (n, 3, 3) that agree with most edges of a connected graph.

    Args:
        start: (n, 3, 3) rotations to start from; the first camera keeps its own.
        sigma_deg: Geman-McClure scale.
    """
    measured = graph.cam_j_from_cam_i.rotation
    sigma = np.radians(sigma_deg)
    rotation = start
    for step in range(NUM_L1_STEPS + NUM_ROBUST_STEPS):
        i, j = graph.edge_index
        residual = log_map(np.swapaxes(rotation[j], -1, -2) @ measured @ rotation[i])
        angle = np.linalg.norm(residual, axis=-1)
        if step < NUM_L1_STEPS:
            weight = 1 / np.maximum(angle, L1_FLOOR_RAD)
        else:
            weight = (sigma**2 / (sigma**2 + angle**2)) ** 2
        update = _solve_laplacian(graph, np.maximum(weight, MIN_WEIGHT), residual)
        rotation = rotation @ exp_map(update)
        if step > NUM_L1_STEPS and np.abs(update).max() < STEP_TOLERANCE_RAD:
            break
    return nearest_rotation(rotation)


def _solve_laplacian(graph: ViewGraph, weight: FloatArray, residual: FloatArray) -> FloatArray:
    """w (n, 3) with w_0 = 0 that minimises sum of weight |w_j - w_i - residual|^2."""
    num = graph.num_images
    i, j = graph.edge_index
    rhs = np.zeros((num, 3))
    np.add.at(rhs, j, weight[:, None] * residual)
    np.add.at(rhs, i, -weight[:, None] * residual)
    diagonal = np.bincount(i, weight, num) + np.bincount(j, weight, num)
    nodes = np.arange(num)
    laplacian = coo_array(
        (np.r_[-weight, -weight, diagonal], (np.r_[i, j, nodes], np.r_[j, i, nodes])), shape=(num, num)
    ).tocsc()
    update = np.zeros((num, 3))
    if num > 1:
        update[1:] = splu(laplacian[1:, 1:]).solve(rhs[1:])
    return update
