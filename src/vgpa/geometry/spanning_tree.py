"""Spanning forests of a graph given as arrays, and motions chained along them.

A forest says for every node which neighbour stands above it and by which edge; its roots are the best-connected
nodes, one per connected component. Nothing here loops over nodes or edges: the trees are scipy's, and motions are
chained by doubling (every node looks twice as far up in every pass). Touches arrays only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree

from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Forest:
    """A rooted spanning forest of n nodes.

    Attributes:
        parent: (n,) the node above each node; -1 at roots.
        edge_idx: (n,) the edge to the parent; -1 at roots.
        level: (n,) number of edges up to the root; 0 at roots.
    """

    parent: IntArray
    edge_idx: IntArray
    level: IntArray


def grow_forest(edge_index: IntArray, cost: FloatArray, num_nodes: int) -> Forest:
    """The cheapest spanning forest, each tree rooted in the node of its component that has the most edges.

    Args:
        edge_index: (2, num_edges) pairs of different nodes, each pair at most once, in either order.
        cost: (num_edges,) only the order of the costs matters; of equal ones the first edge is cheaper.
        num_nodes: nodes without edges become roots of their own.
    """
    by_cost = np.argsort(cost, kind="stable")
    rank = np.empty(len(cost), dtype=np.int64)
    # From 1 on, because a sparse 0 means "no edge"; distinct, so that there is exactly one cheapest forest.
    rank[by_cost] = np.arange(1, len(cost) + 1)
    tree = minimum_spanning_tree(coo_array((rank, tuple(edge_index)), shape=(num_nodes, num_nodes))).tocoo()
    parent, level = _hang(tree.row, tree.col, _find_roots(edge_index, num_nodes), num_nodes)
    child = np.where(parent[tree.row] == tree.col, tree.row, tree.col)
    edge_idx = np.full(num_nodes, -1)
    edge_idx[child] = by_cost[tree.data.astype(np.int64) - 1]
    return Forest(parent, edge_idx, level)


def chain_motions(forest: Forest, edge_index: IntArray, cam_j_from_cam_i: Rigid) -> Rigid:
    """cam_from_world (n) of every node: the motions of its edges up to the root, which is the world.

    Args:
        edge_index: (2, num_edges) the edges (i, j) that the forest was grown from.
        cam_j_from_cam_i: (num_edges) their motions.
    """
    is_root = forest.parent < 0
    up = forest.edge_idx[~is_root]
    is_forward = edge_index[1, up] == np.flatnonzero(~is_root)
    forward, backward = cam_j_from_cam_i[up], cam_j_from_cam_i[up].inverse()
    quaternion_wxyz = np.tile([1.0, 0, 0, 0], (len(is_root), 1))
    translation = np.zeros((len(is_root), 3))
    quaternion_wxyz[~is_root] = np.where(is_forward[:, None], forward.quaternion_wxyz, backward.quaternion_wxyz)
    translation[~is_root] = np.where(is_forward[:, None], forward.translation, backward.translation)
    node_from_above = Rigid(quaternion_wxyz, translation)
    above = np.where(is_root, np.arange(len(is_root)), forest.parent)
    # After k passes every node knows its motion from the node 2^k levels up; a root is its own, by the identity.
    for _ in range(int(forest.level.max(initial=0)).bit_length()):
        node_from_above = node_from_above @ node_from_above[above]
        above = above[above]
    return node_from_above


def _find_roots(edge_index: IntArray, num_nodes: int) -> IntArray:
    """(num_components,) the node with the most edges of each component; of equal ones the first."""
    adjacency = coo_array((np.ones(edge_index.shape[1]), tuple(edge_index)), shape=(num_nodes, num_nodes))
    label = connected_components(adjacency, directed=False)[1]
    degree = np.bincount(edge_index.ravel(), minlength=num_nodes)
    best_first = np.lexsort((-degree, label))
    return best_first[np.unique(label[best_first], return_index=True)[1]]


def _hang(first: IntArray, second: IntArray, roots: IntArray, num_nodes: int) -> tuple[IntArray, IntArray]:
    """(n,) parent, -1 at roots, and (n,) level of every node of the trees with edges first - second."""
    # One more node above all roots turns the forest into one tree, searched once.
    sky = num_nodes
    ends = (np.r_[first, roots], np.r_[second, np.full(len(roots), sky)])
    hung = coo_array((np.ones(len(ends[0])), ends), shape=(sky + 1, sky + 1))
    distance, above = dijkstra(hung, directed=False, indices=sky, unweighted=True, return_predecessors=True)
    parent = above[:sky].astype(np.int64)
    return np.where(parent == sky, -1, parent), distance[:sky].astype(np.int64) - 1
