"""Camera positions from directions: robust, started from given centres, solved as a sequence of sparse systems.

Under known rotations edge (i, j) says that C_j - C_i points along d_ij = -R_j^T t_ij. Each step minimises

    sum over edges of  w_ij ( |(I - d d^T)(C_j - C_i)|^2 + mu |d . (C_j - C_i) - s_ij|^2 )

where w_ij is a Geman-McClure weight of the current angle over the current squared length, so that the first term
is the squared angle, and s_ij is the current length along d. The second term only damps: a length that no
triangle determines stays as it was, instead of running away. Angles are measured in units of their noise, which
grows as the matches behind an edge become fewer.

How far a camera may still cross over depends on the start: where most edges agree with it, the scale of the weights
is narrow from the beginning, and what the start knows is kept; from a start that knows nothing it begins wide. In the
end the directions of the start's own baselines count as one more measurement of every edge, as precise as the start
was beside the averaged centres: what a network has learned of noise is kept, a guess is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vgpa.averaging.laplacian import diagonal_blocks, solve_grounded, sparse_matrix, sum_at_nodes
from vgpa.geometry.rotation import FloatArray, IntArray, direction_angle_rad, normalize
from vgpa.scene import ViewGraph

if TYPE_CHECKING:
    from scipy.sparse import bsr_array

DAMPING = 0.03
START_SIGMAS = 4.0
"""The first scale over the median angle between the start and the edges; halved until it is the final one."""
MIN_FIRST_SIGMAS, MAX_FIRST_SIGMA_DEG = 2.0, 40.0
"""The first scale is at least so many times the final one, and at most this."""
STEPS_PER_SIGMA = 12
FINAL_STEPS = 40
RECALL_STEPS = 20
STEP_TOLERANCE = 1e-4
LENGTH_RANGE = (1e-2, 1e2)
"""Edge lengths are kept within these multiples of the median, so that no weight explodes."""
MIN_WEIGHT = 1e-6
TYPICAL_INLIERS, NOISE_RANGE = 60.0, (0.4, 2.0)
"""Inliers of an edge whose noise is one, and the least and the most noise of any edge."""
MIN_CAMERAS_FOR_CG, MIN_EDGES_PER_CAMERA_FOR_CG = 400, 10
"""Large and dense graphs fill a factorisation up (110 s for 945 cameras with 17,000 edges); conjugate gradients, which
need few steps just there, take a tenth of that. Long thin graphs are the other way round."""
CG_TOLERANCE, MAX_CG_STEPS = 1e-3, 500


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
    noise = np.clip(np.sqrt(TYPICAL_INLIERS / np.maximum(graph.num_inliers[used], 1)), *NOISE_RANGE)
    before = centre = _unit_scale(start, edges)
    wide_deg = _wide_scales_deg(centre, edges, direction, sigma_deg)
    for scale_deg, num_steps in [*((scale, STEPS_PER_SIGMA) for scale in wide_deg), (sigma_deg, FINAL_STEPS)]:
        measured = _Directions(direction, np.radians(scale_deg) * noise)
        centre = _settle(centre, edges, [measured], num_steps)
    recalled = _recall(before, centre, edges, measured, np.radians(sigma_deg))
    return _settle(centre, edges, [measured, recalled], RECALL_STEPS)


def direction_residuals_deg(graph: ViewGraph, rotation: FloatArray, centre: FloatArray) -> FloatArray:
    """(num_edges,) angle between C_j - C_i and the measured direction; 0 where there is no direction."""
    i, j = graph.edge_index
    angle = direction_angle_rad(normalize(centre[j] - centre[i]), world_directions(graph, rotation))
    return np.where(graph.has_direction, np.degrees(angle), 0.0)


def _wide_scales_deg(centre: FloatArray, edges: IntArray, direction: FloatArray, sigma_deg: float) -> list[float]:
    """Scales to go through before the final one, the widest first."""
    i, j = edges
    angle = direction_angle_rad(normalize(centre[j] - centre[i]), direction)
    scale = max(START_SIGMAS * float(np.degrees(np.median(angle))), MIN_FIRST_SIGMAS * sigma_deg)
    scale = min(scale, MAX_FIRST_SIGMA_DEG)
    scales = []
    while scale > sigma_deg:
        scales.append(scale)
        scale /= 2
    return scales


@dataclass(frozen=True, eq=False)
class _Directions:
    """What edges are asked for.

    Attributes:
        unit: (num_edges, 3) unit directions.
        sigma: (num_edges,) scale of each edge's angle, radians.
        trust: how much they count.
    """

    unit: FloatArray
    sigma: FloatArray
    trust: float = 1.0

    def ask(self, baseline: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Blocks (num_edges, 3, 3) and pulls (num_edges, 3) of the sum above, for current baselines (num_edges, 3)."""
        length = np.clip(np.linalg.norm(baseline, axis=-1), *LENGTH_RANGE)
        angle = direction_angle_rad(normalize(baseline), self.unit)
        bounded = np.maximum((self.sigma**2 / (self.sigma**2 + angle**2)) ** 2, MIN_WEIGHT)
        weight = self.trust * bounded / (length * self.sigma) ** 2
        along = np.clip(np.sum(baseline * self.unit, axis=-1), *LENGTH_RANGE)
        projector = self.unit[:, :, None] * self.unit[:, None, :]
        block = weight[:, None, None] * (np.eye(3) - (1 - DAMPING) * projector)
        return block, (weight * DAMPING * along)[:, None] * self.unit


def _recall(before: FloatArray, after: FloatArray, edges: IntArray, measured: _Directions, sigma: float) -> _Directions:
    """The directions of the start's baselines; precise is who is close to the measured ones."""
    unit_before, unit_after = (normalize(centre[edges[1]] - centre[edges[0]]) for centre in (before, after))
    angle_before, angle_after = (
        np.median(direction_angle_rad(unit, measured.unit)) for unit in (unit_before, unit_after)
    )
    trust = min(1.0, float(angle_after) / max(float(angle_before), 1e-9)) ** 2
    return _Directions(unit_before, np.full(len(unit_before), sigma), trust)


def _settle(centre: FloatArray, edges: IntArray, asked: Sequence[_Directions], num_steps: int) -> FloatArray:
    """Centres after at most so many solves, fewer where nothing moves any more."""
    for _ in range(num_steps):
        baseline = centre[edges[1]] - centre[edges[0]]
        blocks, pulls = zip(*(directions.ask(baseline) for directions in asked), strict=True)
        updated = _unit_scale(_solve_blocks(sum(blocks), sum(pulls), edges, centre), edges)
        change = np.abs(updated - centre).max()
        centre = updated
        if change < STEP_TOLERANCE:
            break
    return centre


def _solve_blocks(block: FloatArray, pull: FloatArray, edges: IntArray, start: FloatArray) -> FloatArray:
    """Centres that minimise sum of (C_j - C_i)^T block (C_j - C_i) - 2 pull . (C_j - C_i), up to a shift."""
    num = len(start)
    rhs = sum_at_nodes(edges, pull, num)
    # Cameras without any direction would make the matrix singular; a whisper keeps them where the sums put them.
    diagonal = diagonal_blocks(edges, block, num) + 1e-12 * np.eye(3)
    if num >= MIN_CAMERAS_FOR_CG and 2 * edges.shape[1] >= MIN_EDGES_PER_CAMERA_FOR_CG * num:
        return _solve_by_cg(sparse_matrix(edges, block, diagonal), diagonal, rhs, start)
    return solve_grounded(edges, block, diagonal, rhs.reshape(-1, 1)).reshape(-1, 3)


def _solve_by_cg(matrix: bsr_array, diagonal: FloatArray, rhs: FloatArray, start: FloatArray) -> FloatArray:
    from scipy.sparse.linalg import LinearOperator, cg

    inverse = np.linalg.inv(diagonal)
    preconditioner = LinearOperator(
        matrix.shape, matvec=lambda x: np.einsum("nab,nb->na", inverse, x.reshape(-1, 3)).ravel()
    )
    found, _ = cg(matrix, rhs.ravel(), start.ravel(), rtol=CG_TOLERANCE, maxiter=MAX_CG_STEPS, M=preconditioner)
    return np.asarray(found).reshape(-1, 3)


def _unit_scale(centre: FloatArray, edges: IntArray) -> FloatArray:
    """Centres moved to their median, with a median edge length of one."""
    length = np.median(np.linalg.norm(centre[edges[1]] - centre[edges[0]], axis=-1))
    return (centre - np.median(centre, axis=0)) / max(float(length), 1e-12)
