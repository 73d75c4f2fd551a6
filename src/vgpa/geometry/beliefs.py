"""What many uncertain statements about pairs say of each single one: belief propagation on a graph of grids.

Every node has a value on a common grid. An edge says how well each value of one end goes with each of the other, and
each node has an opinion of its own. Nodes tell their neighbours what they think of them, given what all others have
told them (the sum-product rule), and think again, until it settles. Touches arrays only.
"""

from __future__ import annotations

import numpy as np

from vgpa.geometry.rotation import FloatArray, IntArray

NUM_PASSES = 20
DAMPING = 0.5
"""Part of the old message in each new one: on graphs with loops undamped messages swing."""


def propagate_beliefs(edges: IntArray, agreement: FloatArray, log_opinion: FloatArray) -> FloatArray:
    """(num_nodes, m) logarithm of the belief of every node in each value, the highest of which is zero.

    Args:
        edges: (2, num_edges) nodes i and j; a node is no neighbour of its own.
        agreement: (num_edges, m, m) how well values of i (rows) and of j (columns) go together, all positive.
        log_opinion: (num_nodes, m) logarithm of what a node thinks of each value without its neighbours.
    """
    # What each edge tells its two ends, as logarithms.
    told = np.zeros((2, *agreement.shape[:2]), dtype=agreement.dtype)
    for _ in range(NUM_PASSES):
        believed = log_opinion + _sum_at_nodes(edges, told, len(log_opinion))
        without = [np.exp(_from_zero(believed[ends] - heard)) for ends, heard in zip(edges, told, strict=True)]
        to_i = np.einsum("eab,eb->ea", agreement, without[1].astype(agreement.dtype))
        to_j = np.einsum("eab,ea->eb", agreement, without[0].astype(agreement.dtype))
        fresh = np.stack([_from_zero(np.log(message)) for message in (to_i, to_j)])
        told = DAMPING * told + (1 - DAMPING) * fresh
    return _from_zero(log_opinion + _sum_at_nodes(edges, told, len(log_opinion)))


def _sum_at_nodes(edges: IntArray, told: FloatArray, num_nodes: int) -> FloatArray:
    """(num_nodes, m) the sum of all that each node is told (2, num_edges, m)."""
    sums = np.zeros((num_nodes, told.shape[-1]))
    by_node = np.argsort(edges.ravel(), kind="stable")
    nodes, first = np.unique(edges.ravel()[by_node], return_index=True)
    if len(nodes):
        sums[nodes] = np.add.reduceat(told.reshape(-1, told.shape[-1])[by_node], first, axis=0)
    return sums


def _from_zero(log_values: FloatArray) -> FloatArray:
    """(n, m) shifted so that the highest of each row is zero."""
    return np.asarray(log_values - log_values.max(axis=-1, keepdims=True))
