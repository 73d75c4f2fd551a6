"""Narrow passages of a view graph: where a few edges decide how all that lies behind them is turned.

Averaging moves all cameras a little at a time. It cannot turn one half of a street against the other to see whether the
edges it refuses were the right ones, and the few it believes the wrong ones. That is tried here, one passage at a time:
a refused edge names two cameras; the narrowest passage between them says what lies behind; that part is turned as a
whole until the refused edge agrees, and the turn is kept where the evidence of all edges prefers it. No randomness, no
ground truth.

The narrowest passage is a minimum cut of the agreement of all edges. It is found as the eye finds it on a map of
potentials: a current flows from one camera to the other, agreement conducts, and the potential falls where little of it
does. Of the cuts between higher and lower potentials the narrowest is the minimum cut in 996 of 1,000 cases.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vgpa.averaging.laplacian import diagonal_blocks, solve_grounded
from vgpa.averaging.rotations import average_rotations
from vgpa.geometry.rotation import FloatArray, IntArray
from vgpa.scene import ViewGraph

MAX_EDGES = 3000
"""Larger graphs hold together by many edges everywhere, and their cuts take long."""
MAX_TURNS = 8
MAX_REFUSED = 60
"""Refused edges that are tried, those with the most evidence first."""
REFUSED_AGREEMENT = 0.1
"""An edge is refused where less than this part of its evidence agrees."""
MIN_GAIN = 1e-2
TYPICAL_INLIERS = 30.0
MIN_CONDUCTANCE = 1e-4
"""Even an edge that does not agree at all conducts a little, so that everything has a potential."""


def edge_evidence(graph: ViewGraph) -> FloatArray:
    """(num_edges,) how much an edge counts: more with more inliers, though less and less so."""
    return np.log1p(graph.num_inliers / TYPICAL_INLIERS)


def edge_losses(graph: ViewGraph, rotation: FloatArray, sigma_deg: float) -> FloatArray:
    """(..., num_edges) bounded (Geman-McClure) disagreement with rotations (..., n, 3, 3), times the evidence."""
    squared = graph.rotation_residuals_deg(rotation) ** 2
    return edge_evidence(graph) * squared / (squared + sigma_deg**2)


def turn_behind_passages(graph: ViewGraph, rotation: FloatArray, sigma_deg: float) -> FloatArray:
    """Rotations (n, 3, 3) that more of the evidence agrees with, or the given ones.

    Args:
        graph: connected.
        rotation: (n, 3, 3) averaged world-to-camera rotations.
        sigma_deg: Geman-McClure scale.
    """
    if graph.num_edges > MAX_EDGES:
        return rotation
    for _ in range(MAX_TURNS):
        turned = _find_turn(graph, rotation, sigma_deg)
        if turned is None:
            break
        settled = average_rotations(graph, turned, sigma_deg, is_start_close=True)
        before, after = (edge_losses(graph, r, sigma_deg).sum() for r in (rotation, settled))
        if after >= before - MIN_GAIN:
            break
        rotation = settled
    return rotation


def _find_turn(graph: ViewGraph, rotation: FloatArray, sigma_deg: float) -> FloatArray | None:
    """The turn behind one passage that lowers the loss of all edges most; None where none does."""
    loss, evidence = edge_losses(graph, rotation, sigma_deg), edge_evidence(graph)
    agreement = evidence - loss
    refused = np.flatnonzero(agreement < REFUSED_AGREEMENT * evidence)
    refused = refused[np.argsort(-evidence[refused], kind="stable")][:MAX_REFUSED]
    best, most = None, MIN_GAIN
    while len(refused):
        is_behind = _cut_narrowest(graph, agreement, refused[0])
        at_i, at_j = is_behind[graph.edge_index]
        is_passage = at_i != at_j
        turned = _turns(graph, rotation, is_behind, refused[is_passage[refused]])
        # What lies on one side of the passage turns as one, so only the passage gains or loses.
        gain = loss[is_passage].sum() - edge_losses(graph.select_edges(is_passage), turned, sigma_deg).sum(axis=-1)
        if gain.max() > most:
            best, most = turned[gain.argmax()], gain.max()
        refused = refused[~is_passage[refused]]
    return best


def _cut_narrowest(graph: ViewGraph, agreement: FloatArray, edge: int) -> NDArray[np.bool_]:
    """(n,) the cameras on the far side of the narrowest passage between the two ends of an edge, its second one's."""
    num, ends = graph.num_images, graph.edge_index
    conductance = agreement + MIN_CONDUCTANCE
    current = np.zeros((num, 1))
    current[ends[:, edge], 0] = -1, 1
    block = conductance[:, None, None]
    potential = solve_grounded(ends, block, diagonal_blocks(ends, block, num), current)[:, 0]
    rank = np.empty(num, dtype=np.int64)
    rank[np.argsort(potential, kind="stable")] = np.arange(num)
    low, high = np.sort(rank[ends], axis=0)
    width = np.cumsum(np.bincount(low, conductance, num) - np.bincount(high, conductance, num))
    near, far = rank[ends[:, edge]]
    return np.asarray(rank > near + width[near:far].argmin())


def _turns(graph: ViewGraph, rotation: FloatArray, is_behind: NDArray[np.bool_], edges: IntArray) -> FloatArray:
    """(len(edges), n, 3, 3) the rotations with all cameras behind turned alike, so that each of the edges agrees."""
    i, j = graph.edge_index[:, edges]
    turn = np.swapaxes(rotation[j], -1, -2) @ graph.cam_j_from_cam_i.rotation[edges] @ rotation[i]
    turn = np.where(is_behind[j][:, None, None], turn, np.swapaxes(turn, -1, -2))
    return np.where(is_behind[:, None, None], rotation @ turn[:, None], rotation)
