"""Triplets: all of them, each once, as a plain search finds them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgpa.geometry import triplets as module
from vgpa.geometry.rotation import normalize
from vgpa.geometry.triplets import closing_part, find_triplets


@st.composite
def graphs(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    """Edges i < j of any graph, each once, in any order."""
    num = draw(st.integers(1, 10))
    pairs = list(combinations(range(num), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return np.array(chosen, dtype=np.int64).reshape(-1, 2).T, num


def plain_search(edges: np.ndarray, num: int) -> set[tuple[int, int, int]]:
    edge_of = {pair: e for e, pair in enumerate(map(tuple, edges.T.tolist()))}
    sides = [((i, j), (j, k), (i, k)) for i, j, k in combinations(range(num), 3)]
    return {tuple(edge_of[side] for side in three) for three in sides if all(side in edge_of for side in three)}


@given(graphs())
def test_every_triplet_is_found_once(graph: tuple[np.ndarray, int]) -> None:
    found = find_triplets(*graph)
    assert len(set(map(tuple, found.T.tolist()))) == found.shape[1]
    assert set(map(tuple, found.T.tolist())) == plain_search(*graph)


def complete(num: int) -> np.ndarray:
    return np.stack(np.triu_indices(num, k=1))


def test_the_size_of_the_pieces_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = find_triplets(complete(12), 12)
    monkeypatch.setattr(module, "PIECE", 7)
    np.testing.assert_array_equal(find_triplets(complete(12), 12), whole)


def test_a_bounded_search_finds_an_even_part() -> None:
    edges = complete(30)
    everything = find_triplets(edges, 30)
    # Every candidate of a complete graph is a triplet.
    some = find_triplets(edges, 30, max_num_candidates=everything.shape[1] // 4)
    assert set(map(tuple, some.T.tolist())) <= set(map(tuple, everything.T.tolist()))
    assert some.shape[1] == everything.shape[1] // 4
    np.testing.assert_array_equal(np.unique(some), np.arange(edges.shape[1]))


def test_an_edge_that_closes_nothing_is_not_believed() -> None:
    num, wrong = 8, 3
    edges = complete(num)
    identity = np.tile([1.0, 0, 0, 0], (edges.shape[1], 1))
    half_turn = identity.copy()
    half_turn[wrong] = [0.0, 1, 0, 0]
    believed, doubted = (closing_part(edges, quaternion, num) for quaternion in (identity, half_turn))
    # Each edge is in num - 2 triplets, plus what it is given in advance.
    np.testing.assert_allclose(believed, (num - 2 + 0.5) / (num - 2 + 2))
    assert doubted[wrong] == pytest.approx(0.5 / (num - 2 + 2))
    assert np.delete(doubted, wrong).min() > 2 * doubted[wrong]


def test_either_sign_of_a_quaternion_is_the_same_rotation() -> None:
    rng = np.random.default_rng(0)
    quaternion = normalize(rng.normal(size=(15, 4)))
    flipped = quaternion * rng.choice([-1.0, 1.0], size=(15, 1))
    np.testing.assert_array_equal(closing_part(complete(6), quaternion, 6), closing_part(complete(6), flipped, 6))
