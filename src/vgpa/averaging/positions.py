"""Camera positions from directions: robust, started from given centres, solved as a sequence of sparse systems.

Under known rotations edge (i, j) says that C_j - C_i points along d_ij = -R_j^T t_ij. Each step minimises

    sum over edges of  w_ij ( |(I - d d^T)(C_j - C_i)|^2 + mu |d . (C_j - C_i) - s_ij|^2 )

where w_ij is a Geman-McClure weight of the current angle over the current squared length, so that the first term
is the squared angle, and s_ij is the current length along d. The second term only damps: a length that no
triangle determines stays as it was, instead of running away.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import splu

from vgpa.geometry.rotation import FloatArray, IntArray, direction_angle_rad, normalize
from vgpa.scene import ViewGraph

DAMPING = 0.03
SIGMAS_DEG = (40.0, 20.0, 10.0)
"""Scales before the final one: wide first, so that a camera on the wrong side can still cross over."""
STEPS_PER_SIGMA = 12
FINAL_STEPS = 40
STEP_TOLERANCE = 1e-6
LENGTH_RANGE = (1e-2, 1e2)
"""Edge lengths are kept within these multiples of the median, so that no weight explodes."""
MIN_WEIGHT = 1e-6


def world_directions(graph: ViewGraph, rotation: FloatArray) -> FloatArray:
    """(num_edges, 3) unit d_ij = -R_j^T t_ij: the direction from camera i to camera j in the world."""
    j = graph.edge_index[1]
    return -np.einsum("eji,ej->ei", rotation[j], graph.cam_j_from_cam_i.translation)


def average_positions(graph: ViewGraph, rotation: FloatArray, start: FloatArray, sigma_deg: float) -> FloatArray:
    """Camera centres (n, 3), with median edge length one, that agree with most directions.

    Args:
        graph: connected; edges without a direction are not used.
        rotation: (n, 3, 3) averaged world-to-camera rotations.
        start: (n, 3) centres to start from.
        sigma_deg: final Geman-McClure scale of the angle between C_j - C_i and d_ij.
    """
    used = graph.has_direction
    edges, direction = graph.edge_index[:, used], world_directions(graph, rotation)[used]
    if edges.shape[1] == 0:
        return start
    centre = _unit_scale(start, edges)
    for scale_deg, num_steps in [*((s, STEPS_PER_SIGMA) for s in SIGMAS_DEG), (sigma_deg, FINAL_STEPS)]:
        for _ in range(num_steps):
            updated = _unit_scale(_step(centre, edges, direction, np.radians(scale_deg)), edges)
            change = np.abs(updated - centre).max()
            centre = updated
            if change < STEP_TOLERANCE:
                break
    return centre


def direction_residuals_deg(graph: ViewGraph, rotation: FloatArray, centre: FloatArray) -> FloatArray:
    """(num_edges,) angle between C_j - C_i and the measured direction; 0 where there is no direction."""
    i, j = graph.edge_index
    angle = direction_angle_rad(normalize(centre[j] - centre[i]), world_directions(graph, rotation))
    return np.where(graph.has_direction, np.degrees(angle), 0.0)


def _step(centre: FloatArray, edges: IntArray, direction: FloatArray, sigma: float) -> FloatArray:
    i, j = edges
    baseline = centre[j] - centre[i]
    length = np.clip(np.linalg.norm(baseline, axis=-1), *LENGTH_RANGE)
    angle = direction_angle_rad(normalize(baseline), direction)
    weight = np.maximum((sigma**2 / (sigma**2 + angle**2)) ** 2, MIN_WEIGHT) / length**2
    along = np.clip(np.sum(baseline * direction, axis=-1), *LENGTH_RANGE)
    projector = direction[:, :, None] * direction[:, None, :]
    block = weight[:, None, None] * (np.eye(3) - (1 - DAMPING) * projector)
    pull = (weight * DAMPING * along)[:, None] * direction
    return _solve_blocks(block, pull, edges, len(centre))


def _solve_blocks(block: FloatArray, pull: FloatArray, edges: IntArray, num: int) -> FloatArray:
    """Centres with C_0 = 0 that minimise sum of (C_j - C_i)^T block (C_j - C_i) - 2 pull . (C_j - C_i)."""
    i, j = edges
    rhs = np.zeros((num, 3))
    np.add.at(rhs, j, pull)
    np.add.at(rhs, i, -pull)
    rows = np.concatenate([i, j, i, j])
    cols = np.concatenate([i, j, j, i])
    values = np.concatenate([block, block, -block, -block])
    axis = np.arange(3)
    matrix = coo_array(
        (
            values.ravel(),
            (
                np.broadcast_to(3 * rows[:, None, None] + axis[:, None], values.shape).ravel(),
                np.broadcast_to(3 * cols[:, None, None] + axis, values.shape).ravel(),
            ),
        ),
        shape=(3 * num, 3 * num),
    ).tocsc()
    # Cameras without any direction would make the matrix singular; a whisper keeps them where the sums put them.
    matrix.setdiag(matrix.diagonal() + 1e-12)
    centre = np.zeros((num, 3))
    centre[1:] = splu(matrix[3:, 3:]).solve(rhs.ravel()[3:]).reshape(-1, 3)
    return centre


def _unit_scale(centre: FloatArray, edges: IntArray) -> FloatArray:
    """Centres moved to their median, with a median edge length of one."""
    length = np.median(np.linalg.norm(centre[edges[1]] - centre[edges[0]], axis=-1))
    return (centre - np.median(centre, axis=0)) / max(float(length), 1e-12)
