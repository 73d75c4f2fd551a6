"""Pairs whose matches no third image bears out: shuffled matches are found, right ones and lonely ones stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.synthetic import make_problem
from vgpa.config import GraphConfig
from vgpa.frontend.graph import select_reliable_edges
from vgpa.frontend.witnesses import are_witnessed, has_witnesses
from vgpa.geometry.rotation import BoolArray
from vgpa.scene import Problem


def _mismatch(problem: Problem, is_wrong: BoolArray) -> Problem:
    """The problem with the matches of some edges shuffled, so that they join different points."""
    rng = np.random.default_rng(0)
    keypoint_idx = problem.matches.keypoint_idx.copy()
    for first, end in problem.matches.offsets[np.flatnonzero(is_wrong)[:, None] + [0, 1]]:
        keypoint_idx[first:end, 1] = rng.permutation(keypoint_idx[first:end, 1])
    return replace(problem, matches=replace(problem.matches, keypoint_idx=keypoint_idx))


def test_matches_that_no_third_image_confirms_make_no_edge() -> None:
    problem = make_problem(8, 60).problem
    is_wrong = np.arange(problem.view_graph.num_edges) % 5 == 2
    mixed = _mismatch(problem, is_wrong)
    np.testing.assert_array_equal(has_witnesses(mixed), ~is_wrong)
    left = select_reliable_edges(mixed, GraphConfig()).view_graph.edge_index
    np.testing.assert_array_equal(left, problem.view_graph.edge_index[:, ~is_wrong])


def test_all_matches_of_a_complete_world_are_witnessed() -> None:
    problem = make_problem(5, 60).problem
    keypoint = (
        problem.matches.keypoint_idx.T
        + problem.keypoints.offsets[problem.view_graph.edge_index[:, problem.matches.edge_idx]]
    )
    assert are_witnessed(keypoint, np.ones(keypoint.shape[1], dtype=np.bool_), problem.keypoints.offsets[-1]).all()


def test_edges_that_could_have_no_witness_stay() -> None:
    problem = make_problem(8, 60).problem
    ring = problem.select_edges((np.diff(problem.view_graph.edge_index, axis=0)[0] % 6) == 1)
    assert ring.view_graph.num_edges == 8
    assert has_witnesses(_mismatch(ring, np.arange(8) == 3)).all()


def test_where_keypoints_never_repeat_nobody_is_convicted() -> None:
    """As with matchers that find new keypoints for every pair."""
    problem = make_problem(6, 60).problem
    assert has_witnesses(_mismatch(problem, np.arange(problem.view_graph.num_edges) % 7 != 0)).all()
