"""Spanning forests: rooted, complete, cheapest; and chained motions that agree with every edge of the tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.transform import Rotation

from vgpa.geometry.rigid import Rigid, relative
from vgpa.geometry.rotation import rotation_angle_rad
from vgpa.geometry.spanning_tree import Forest, chain_motions, grow_forest


@st.composite
def graphs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Any graph without double edges, ends in either order, with costs of either sign, some of them equal."""
    num = draw(st.integers(1, 12))
    pairs = [(a, b) for a in range(num) for b in range(a)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    flipped = [draw(st.permutations(pair)) for pair in chosen]
    edges = np.array(flipped, dtype=np.int64).reshape(-1, 2).T
    cost = np.array([draw(st.integers(-3, 3)) for _ in chosen], dtype=np.float64)
    return edges, cost, num


def components(edges: np.ndarray, num: int) -> np.ndarray:
    return connected_components(coo_array((np.ones(edges.shape[1]), tuple(edges)), shape=(num, num)), directed=False)[1]


@given(graphs())
def test_every_node_hangs_on_an_edge_one_level_below_its_parent(graph: tuple[np.ndarray, np.ndarray, int]) -> None:
    edges, cost, num = graph
    forest = grow_forest(edges, cost, num)
    is_root = forest.parent < 0
    np.testing.assert_array_equal(forest.level == 0, is_root)
    np.testing.assert_array_equal(forest.edge_idx < 0, is_root)
    child = np.flatnonzero(~is_root)
    np.testing.assert_array_equal(forest.level[child], forest.level[forest.parent[child]] + 1)
    ends = np.sort(edges[:, forest.edge_idx[child]], axis=0)
    np.testing.assert_array_equal(ends, np.sort([child, forest.parent[child]], axis=0))


@given(graphs())
def test_one_root_per_component_and_it_has_the_most_edges(graph: tuple[np.ndarray, np.ndarray, int]) -> None:
    edges, cost, num = graph
    roots = np.flatnonzero(grow_forest(edges, cost, num).parent < 0)
    label = components(edges, num)
    np.testing.assert_array_equal(np.sort(label[roots]), np.unique(label))
    degree = np.bincount(edges.ravel(), minlength=num)
    for root in roots:
        assert degree[root] == degree[label == label[root]].max()


@given(graphs())
def test_no_forest_is_cheaper(graph: tuple[np.ndarray, np.ndarray, int]) -> None:
    edges, cost, num = graph
    forest = grow_forest(edges, cost, num)
    ours = cost[forest.edge_idx[forest.parent >= 0]].sum()
    # scipy reads zeros as missing edges; the number of edges is fixed, so a shift changes nothing.
    shifted = minimum_spanning_tree(coo_array((cost + 10, tuple(edges)), shape=(num, num)))
    assert ours == pytest.approx(shifted.sum() - 10 * shifted.nnz)


@given(graphs(), st.integers(0, 2**32 - 1))
def test_chained_motions_agree_with_the_edges_of_the_forest(
    graph: tuple[np.ndarray, np.ndarray, int], seed: int
) -> None:
    edges, cost, num = graph
    rng = np.random.default_rng(seed)
    motion = Rigid.from_matrix(
        Rotation.from_rotvec(rng.normal(size=(edges.shape[1], 3))).as_matrix(), rng.normal(size=(edges.shape[1], 3))
    )
    forest = grow_forest(edges, cost, num)
    cams = chain_motions(forest, edges, motion)
    used = forest.edge_idx[forest.edge_idx >= 0]
    found = relative(cams[edges[0, used]], cams[edges[1, used]])
    assert rotation_angle_rad(found.rotation, motion.rotation[used]).max(initial=0) < 1e-9
    np.testing.assert_allclose(found.translation, motion.translation[used], atol=1e-9)
    np.testing.assert_array_equal(cams.translation[forest.parent < 0], 0)


def test_a_long_path_is_chained_to_its_end() -> None:
    num = 1000
    edges = np.stack([np.arange(1, num), np.arange(num - 1)])
    step = Rigid(np.tile([1.0, 0, 0, 0], (num - 1, 1)), np.tile([1.0, 0, 0], (num - 1, 1)))
    forest = grow_forest(edges, np.ones(num - 1), num)
    assert forest.level.max() == num - 2  # Node 1 is the first with two edges.
    centre = chain_motions(forest, edges, step).centre[:, 0]
    np.testing.assert_allclose(np.diff(centre), 1.0)


def test_a_graph_without_nodes_has_an_empty_forest() -> None:
    forest = grow_forest(np.zeros((2, 0), dtype=np.int64), np.zeros(0), 0)
    assert isinstance(forest, Forest)
    assert len(forest.parent) == len(forest.level) == 0
