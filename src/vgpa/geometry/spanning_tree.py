"""Spanning forests of a graph given as arrays, and motions chained along them.

A forest says for every node which neighbour stands above it and by which edge; its roots are the best-connected
nodes, one per connected component. Nothing here loops over nodes or edges: trees grow together all at once (Boruvka),
and motions are chained by doubling (every node looks twice as far up in every pass). Touches arrays only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vgpa.geometry.components import label_components
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
    tree = _find_cheapest(edge_index, cost, num_nodes)
    return _hang(edge_index, tree, _find_roots(edge_index, num_nodes), num_nodes)


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


def _find_cheapest(edge_index: IntArray, cost: FloatArray, num_nodes: int) -> IntArray:
    """The edges of the cheapest forest: every tree takes its cheapest edge to another one, until there is none."""
    # An edge's place in the order of costs stands for its cost: no two are equal, and there is one cheapest forest.
    by_cost = np.argsort(cost, kind="stable")
    ends, place = edge_index[:, by_cost], np.arange(len(by_cost))
    tree, is_chosen = np.arange(num_nodes), np.zeros(len(by_cost), dtype=np.bool_)
    while len(place):
        cheapest = np.full(num_nodes, len(by_cost))
        np.minimum.at(cheapest, tree[ends[:, place]].ravel(), np.tile(place, 2))
        chosen = cheapest[cheapest < len(by_cost)]
        is_chosen[chosen] = True
        tree = label_components(tree[ends[:, chosen]], num_nodes)[tree]
        place = place[tree[ends[0, place]] != tree[ends[1, place]]]
    return by_cost[is_chosen]


def _find_roots(edge_index: IntArray, num_nodes: int) -> IntArray:
    """(num_components,) the node with the most edges of each component; of equal ones the first."""
    label = label_components(edge_index, num_nodes)
    degree = np.bincount(edge_index.ravel(), minlength=num_nodes)
    best_first = np.lexsort((-degree, label))
    return best_first[np.unique(label[best_first], return_index=True)[1]]


def _hang(edge_index: IntArray, tree: IntArray, roots: IntArray, num_nodes: int) -> Forest:
    """The forest of these edges below these roots, one level at a time."""
    parent, edge_idx, level = (np.full(num_nodes, -1) for _ in range(3))
    level[roots] = depth = 0
    while len(tree):
        i, j = edge_index[:, tree]
        goes_down, goes_up = level[i] == depth, level[j] == depth
        child = np.concatenate([j[goes_down], i[goes_up]])
        parent[child] = np.concatenate([i[goes_down], j[goes_up]])
        edge_idx[child] = np.concatenate([tree[goes_down], tree[goes_up]])
        depth += 1
        level[child] = depth
        tree = tree[~(goes_down | goes_up)]
    return Forest(parent, edge_idx, level)
