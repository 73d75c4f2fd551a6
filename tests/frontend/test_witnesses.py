"""Pairs whose matches third images refute: shuffled matches are found, right ones and lonely ones stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.synthetic import make_problem
from vgpa.config import GraphConfig
from vgpa.frontend import witnesses
from vgpa.frontend.graph import select_reliable_edges
from vgpa.frontend.witnesses import Partners, are_contradicted, are_witnessed, hear_witnesses
from vgpa.geometry.rotation import BoolArray
from vgpa.scene import Matches, Problem


def _mismatch(problem: Problem, is_wrong: BoolArray) -> Problem:
    """The problem with the matches of some edges shuffled, so that they join different points."""
    rng = np.random.default_rng(0)
    keypoint_idx = problem.matches.keypoint_idx.copy()
    for first, end in problem.matches.offsets[np.flatnonzero(is_wrong)[:, None] + [0, 1]]:
        keypoint_idx[first:end, 1] = rng.permutation(keypoint_idx[first:end, 1])
    return replace(problem, matches=replace(problem.matches, keypoint_idx=keypoint_idx))


def test_matches_that_third_images_refute_make_no_edge() -> None:
    problem = make_problem(8, 60).problem
    is_wrong = np.arange(problem.view_graph.num_edges) % 5 == 2
    mixed = _mismatch(problem, is_wrong)
    np.testing.assert_array_equal(hear_witnesses(mixed).is_refuted, is_wrong)
    left = select_reliable_edges(mixed, GraphConfig()).view_graph.edge_index
    np.testing.assert_array_equal(left, problem.view_graph.edge_index[:, ~is_wrong])


def test_a_triangle_of_matches_is_witnessed_and_an_open_path_contradicts() -> None:
    """Images of two keypoints: 0-1, 2-3, 4-5. The matches 0-2, 2-4, 0-4 close; 1-3 and 3-5 speak against 1-4."""
    match = np.array([[0, 2, 0, 1, 3, 1], [2, 4, 4, 3, 5, 4]])
    partners = Partners.of_matches(match, 6)
    np.testing.assert_array_equal(are_witnessed(match, partners), [True, True, True, False, False, False])
    image = match // 2
    contradicted = are_contradicted(match, partners, 2 * image, 2 * image + 2)
    assert contradicted[5]
    assert not are_contradicted(match[:, :3], Partners.of_matches(match[:, :3], 6), 2 * image, 2 * image + 2).any()


def test_edges_that_could_have_no_witness_stay() -> None:
    problem = make_problem(8, 60).problem
    ring = problem.select_edges((np.diff(problem.view_graph.edge_index, axis=0)[0] % 6) == 1)
    assert ring.view_graph.num_edges == 8
    assert not hear_witnesses(_mismatch(ring, np.arange(8) == 3)).is_silent.any()


def test_silence_alone_does_not_convict_but_counts() -> None:
    """One pair's matches are of keypoints that no other pair knows."""
    problem = make_problem(8, 120).problem
    is_first = problem.matches.keypoint_idx[:, 0] < 60
    of_pair = problem.matches.edge_idx == 0
    kept = np.where(of_pair, ~is_first, is_first)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(problem.matches.edge_idx[kept]))])
    matches = Matches(offsets, problem.matches.keypoint_idx[kept])
    heard = hear_witnesses(replace(problem, matches=matches))
    assert not heard.is_refuted.any()
    np.testing.assert_array_equal(np.flatnonzero(heard.is_silent), [0])
    left = select_reliable_edges(replace(problem, matches=matches), GraphConfig()).view_graph
    np.testing.assert_array_equal(left.num_inliers[1:], problem.view_graph.num_inliers[1:])
    assert left.num_inliers[0] == problem.view_graph.num_inliers[0] // 2


def test_where_keypoints_never_repeat_nobody_is_convicted() -> None:
    """As with matchers that find new keypoints for every pair."""
    problem = make_problem(6, 60).problem
    assert not hear_witnesses(_mismatch(problem, np.arange(problem.view_graph.num_edges) % 7 != 0)).is_silent.any()


def test_a_graph_too_dense_to_compare_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = _mismatch(make_problem(8, 60).problem, np.arange(28) % 5 == 2)
    monkeypatch.setattr(witnesses, "MAX_NUM_PARTNERS", 1000)
    assert not hear_witnesses(mixed).is_silent.any()
