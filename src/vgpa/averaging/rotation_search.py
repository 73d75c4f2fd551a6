"""Rotation averaging that does not stop at the first valley: several starts, and the answer the evidence prefers.

In a sparse graph a single wrong edge across a narrow passage turns all that lies behind it, and averaging from there
settles in a valley of its own. Other spanning trees, drawn by chance in favour of well-supported edges, lead to other
valleys. They are compared by a bounded cost in which an edge counts by its matches, so no ground truth is needed.
Dense graphs hold each camera by many edges: they have one valley, and get no further starts. In the end single parts
behind narrow passages are turned, where the evidence asks for it (`passages`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

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
"""Starts that are tried first; if all of them end at the same cost, no others are."""
SAME_COST = 1e-3


def search_rotations(graph: ViewGraph, start: FloatArray, sigma_deg: float, seed: int) -> FloatArray:
    """World-to-camera rotations (n, 3, 3) of a connected graph that most of the evidence agrees with.

    Args:
        start: (n, 3, 3) rotations to start from first.
        sigma_deg: Geman-McClure scale.
        seed: of the trees.
    """
    trees = _tree_rotations(graph, seed)
    found = average_rotations(graph, np.stack([start, *islice(trees, NUM_AGREEING - 1)]), sigma_deg)
    cost = _costs(graph, found, sigma_deg)
    if (cost <= cost.min() + SAME_COST).sum() < NUM_AGREEING and (others := list(trees)):
        found = np.concatenate([found, average_rotations(graph, np.stack(others), sigma_deg)])
        cost = _costs(graph, found, sigma_deg)
    # Of those that are as good as the best, the first: it comes from the start, or from a tree of good support.
    best = found[np.flatnonzero(cost <= cost.min() + SAME_COST)[0]]
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


def _costs(graph: ViewGraph, rotations: FloatArray, sigma_deg: float) -> FloatArray:
    """(m,) mean loss over the edges, weighted by evidence, times their number, of each of m answers (m, n, 3, 3).

    Answers that are no numbers cost infinitely much.
    """
    total = edge_losses(graph, rotations, sigma_deg).sum(axis=-1)
    return np.nan_to_num(graph.num_edges * total / max(edge_evidence(graph).sum(), 1e-12), nan=np.inf)
