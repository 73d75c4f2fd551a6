"""Belief propagation: exact on trees, and nobody's opinion changes without neighbours."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from vgpa.geometry.beliefs import propagate_beliefs

NUM_VALUES = 4


def make_graph(edges: list[tuple[int, int]], num: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    agreement = rng.uniform(0.1, 1, (len(edges), NUM_VALUES, NUM_VALUES))
    return np.array(edges).reshape(-1, 2).T, agreement, rng.normal(size=(num, NUM_VALUES))


@pytest.mark.parametrize("edges", [[(0, 1)], [(0, 1), (1, 2), (2, 3)], [(0, 1), (2, 1), (1, 3)]])
def test_on_a_tree_beliefs_are_the_marginals_of_the_joint_distribution(edges: list[tuple[int, int]]) -> None:
    num = 1 + max(max(edge) for edge in edges)
    ends, agreement, opinion = make_graph(edges, num)
    marginal = np.zeros((num, NUM_VALUES))
    for values in product(range(NUM_VALUES), repeat=num):
        weight = np.exp(sum(opinion[k, value] for k, value in enumerate(values)))
        weight *= np.prod([agreement[e, values[i], values[j]] for e, (i, j) in enumerate(edges)])
        marginal[np.arange(num), list(values)] += weight
    expected = np.log(marginal / marginal.max(axis=1, keepdims=True))
    np.testing.assert_allclose(propagate_beliefs(ends, agreement, opinion), expected, atol=1e-4)


def test_who_has_no_neighbours_keeps_its_opinion() -> None:
    ends, agreement, opinion = make_graph([(0, 1)], 3)
    belief = propagate_beliefs(ends, agreement, opinion)
    np.testing.assert_allclose(belief[2], opinion[2] - opinion[2].max())


def test_beliefs_do_not_depend_on_how_nodes_and_edges_are_numbered() -> None:
    ends, agreement, opinion = make_graph([(0, 1), (1, 2), (0, 2), (2, 3)], 4)
    new_number, order = np.array([2, 0, 3, 1]), np.array([3, 1, 0, 2])
    shuffled = propagate_beliefs(new_number[ends][:, order], agreement[order], opinion[np.argsort(new_number)])
    np.testing.assert_allclose(shuffled[new_number], propagate_beliefs(ends, agreement, opinion), atol=1e-10)


def test_an_edge_may_be_told_from_either_end() -> None:
    ends, agreement, opinion = make_graph([(0, 1), (1, 2), (0, 2)], 3)
    turned = propagate_beliefs(ends[::-1], np.swapaxes(agreement, 1, 2), opinion)
    np.testing.assert_allclose(turned, propagate_beliefs(ends, agreement, opinion), atol=1e-10)
