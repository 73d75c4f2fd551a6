"""The strongest matches: never more than asked for, whole tracks, and nothing is lost where there are few."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.synthetic import make_problem
from vgpa.config import GraphConfig
from vgpa.frontend.strongest import with_strongest_matches
from vgpa.frontend.tracks import build_tracks
from vgpa.scene import Matches


@pytest.mark.parametrize("max_num", [1, 7, 20])
def test_every_edge_keeps_its_share(max_num: int) -> None:
    problem = make_problem(6, 60).problem
    thinned = with_strongest_matches(problem, max_num)
    before, after = (np.diff(p.matches.offsets) for p in (problem, thinned))
    np.testing.assert_array_equal(after, np.minimum(before, max_num))
    assert thinned.view_graph is problem.view_graph


def test_few_matches_stay_as_they_are() -> None:
    problem = make_problem(5, 30).problem
    thinned = with_strongest_matches(problem, 10_000).matches
    np.testing.assert_array_equal(thinned.keypoint_idx, problem.matches.keypoint_idx)
    np.testing.assert_array_equal(thinned.offsets, problem.matches.offsets)


def test_the_choice_falls_on_whole_tracks() -> None:
    problem = make_problem(6, 200).problem
    tracks = build_tracks(with_strongest_matches(problem, 40), GraphConfig())
    assert tracks.lengths.mean() > 0.9 * build_tracks(problem, GraphConfig()).lengths.mean()


def test_keypoints_that_match_often_come_first() -> None:
    """The first twenty points match in every pair, the others in one pair each."""
    problem = make_problem(4, 60).problem
    edge_idx, keypoint_idx = problem.matches.edge_idx, problem.matches.keypoint_idx
    point = keypoint_idx[:, 0]
    kept = (point < 20) | (point % problem.view_graph.num_edges == edge_idx)
    offsets = np.concatenate([[0], np.cumsum(kept)])[problem.matches.offsets]
    uneven = replace(problem, matches=Matches(offsets, keypoint_idx[kept]))
    chosen = with_strongest_matches(uneven, 20).matches.keypoint_idx
    assert (chosen < 20).all()


def test_edges_without_matches_are_no_trouble() -> None:
    problem = make_problem(4, 30).problem
    nothing = replace(
        problem, matches=Matches(np.zeros_like(problem.matches.offsets), np.zeros((0, 2), dtype=np.int64))
    )
    assert len(with_strongest_matches(nothing, 5).matches.keypoint_idx) == 0
