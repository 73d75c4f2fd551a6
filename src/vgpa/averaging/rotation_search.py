"""Rotation averaging that does not stop at the first valley: several starts, and the answer the evidence prefers.

In a sparse graph a single wrong edge across a narrow passage turns all that lies behind it, and averaging from there
settles in a valley of its own. Other spanning trees, drawn by chance in favour of well-supported edges, lead to other
valleys. They are compared by a bounded cost in which an edge counts by its matches, so no ground truth is needed.
Dense graphs hold each camera by many edges: they have one valley, and get no further starts. In the end single parts
behind narrow passages are turned, where the evidence asks for it (`passages`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vgpa.averaging.passages import edge_evidence, edge_losses, turn_behind_passages
from vgpa.averaging.rotations import average_rotations
from vgpa.averaging.spanning_tree import edge_support
from vgpa.geometry.rotation import FloatArray
from vgpa.geometry.spanning_tree import chain_motions, grow_forest
from vgpa.scene import ViewGraph

MAX_TREES = 12
MAX_EDGES_OF_ALL_TREES = 4000
"""Every tree costs time in proportion to the edges; larger graphs get fewer trees, and soon none."""
SPREADS = (0.0, 2.5)
"""Spread of the logarithm of an edge's support from the first tree, the best one, to the last."""
NUM_AGREEING = 5
"""Starts that must end at the lowest cost for the search to end early."""
SAME_COST = 1e-3


def search_rotations(graph: ViewGraph, start: FloatArray, sigma_deg: float, seed: int) -> FloatArray:
    """World-to-camera rotations (n, 3, 3) of a connected graph that most of the evidence agrees with.

    Args:
        start: (n, 3, 3) rotations to start from first.
        sigma_deg: Geman-McClure scale.
        seed: of the trees.
    """
    best = average_rotations(graph, start, sigma_deg)
    lowest, num_agreeing = _cost(graph, best, sigma_deg), 1
    for other_start in _tree_rotations(graph, seed):
        other = average_rotations(graph, other_start, sigma_deg)
        cost = _cost(graph, other, sigma_deg)
        if cost < lowest - SAME_COST:
            best, lowest, num_agreeing = other, cost, 1
        elif cost < lowest + SAME_COST:
            num_agreeing += 1
        if num_agreeing >= NUM_AGREEING:
            break
    return turn_behind_passages(graph, best, sigma_deg)


def _tree_rotations(graph: ViewGraph, seed: int) -> Iterator[FloatArray]:
    """Rotations chained along spanning trees, ever more adventurous ones."""
    rng = np.random.default_rng(seed)
    num_trees = min(MAX_TREES, MAX_EDGES_OF_ALL_TREES // max(graph.num_edges, 1))
    if num_trees == 0:
        return
    # An edge that closes no triplet at all is unlikely, not impossible.
    log_support = np.log(edge_support(graph) + 1e-3)
    for spread in np.linspace(*SPREADS, num_trees):
        cost = -(log_support + rng.normal(0, spread, graph.num_edges))
        forest = grow_forest(graph.edge_index, cost, graph.num_images)
        yield chain_motions(forest, graph.edge_index, graph.cam_j_from_cam_i).rotation


def _cost(graph: ViewGraph, rotation: FloatArray, sigma_deg: float) -> float:
    """Mean loss over the edges, weighted by evidence, times their number."""
    mean = edge_losses(graph, rotation, sigma_deg).sum() / edge_evidence(graph).sum()
    return float(graph.num_edges * mean)
