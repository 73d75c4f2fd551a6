"""Tracks are connected components of matches; inconsistent and short ones go."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.synthetic import make_problem
from vgpa.config import GraphConfig
from vgpa.frontend.tracks import build_tracks
from vgpa.geometry.rigid import Rigid
from vgpa.scene import Camera, ImageSet, Keypoints, Matches, Problem, ViewGraph

CAMERA = Camera("PINHOLE", 100, 100, np.array([100.0, 100, 50, 50]))


def problem_of(num_keypoints: list[int], matches: dict[tuple[int, int], list[tuple[int, int]]]) -> Problem:
    """Images with keypoints on a grid 20 px apart, and the given matches."""
    num = len(num_keypoints)
    offsets = np.concatenate([[0], np.cumsum(num_keypoints)])
    xy_px = np.concatenate([np.stack([20.0 * np.arange(n), np.zeros(n)], axis=-1) for n in num_keypoints])
    pairs = sorted(matches)
    flat = np.array([m for pair in pairs for m in matches[pair]], dtype=np.int64).reshape(-1, 2)
    counts = [len(matches[pair]) for pair in pairs]
    graph = ViewGraph(
        num,
        np.array(pairs, dtype=np.int64).reshape(-1, 2).T,
        Rigid.identity(len(pairs)),
        np.zeros(len(pairs)),
        counts,
        counts,
    )
    images = ImageSet(tuple(map(str, range(num))), np.zeros(num), (CAMERA,), np.arange(num))
    return Problem(images, Keypoints(offsets, xy_px), graph, Matches(np.concatenate([[0], np.cumsum(counts)]), flat))


def as_sets(problem: Problem, config: GraphConfig) -> set[frozenset[tuple[int, int]]]:
    tracks = build_tracks(problem, config)
    pairs = list(zip(tracks.image_idx.tolist(), tracks.keypoint_idx.tolist(), strict=True))
    return {frozenset(pairs[a:b]) for a, b in zip(tracks.offsets, tracks.offsets[1:], strict=False)}


def test_chained_matches_make_one_track() -> None:
    problem = problem_of([3, 3, 3], {(0, 1): [(0, 1)], (1, 2): [(1, 2)]})
    assert as_sets(problem, GraphConfig()) == {frozenset({(0, 0), (1, 1), (2, 2)})}


def test_short_tracks_are_dropped_unless_asked_for() -> None:
    problem = problem_of([1, 1, 1], {(0, 1): [(0, 0)]})
    assert as_sets(problem, GraphConfig()) == set()
    assert as_sets(problem, GraphConfig(min_track_length=2)) == {frozenset({(0, 0), (1, 0)})}


def test_tracks_of_two_images_stay_where_one_of_them_has_few_others() -> None:
    """Images 0 to 2 share two long tracks, and 0 and 1 a short one; image 3 has nothing but a match with image 0."""
    chains = {(0, 1): [(0, 0), (1, 1), (2, 2)], (1, 2): [(0, 0), (1, 1)], (0, 3): [(3, 0)]}
    problem = problem_of([4, 4, 4, 4], chains)
    assert {num: build_tracks(problem, GraphConfig(), num).lengths.tolist() for num in (0, 1, 2, 3)} == {
        0: [3, 3],
        1: [3, 3, 2],
        2: [3, 3, 2],
        3: [3, 3, 2, 2],
    }
    assert build_tracks(problem, GraphConfig(), 1).image_idx[-1] == 3


def test_a_track_with_two_distant_keypoints_of_one_image_is_dropped() -> None:
    problem = problem_of([2, 2, 2], {(0, 1): [(0, 0), (1, 1)], (0, 2): [(0, 0)], (1, 2): [(1, 0)]})
    assert as_sets(problem, GraphConfig()) == set()


def test_a_corner_found_twice_is_kept_once() -> None:
    problem = problem_of([2, 2, 2], {(0, 1): [(0, 0), (1, 1)], (0, 2): [(0, 0)], (1, 2): [(1, 0)]})
    assert as_sets(problem, GraphConfig(max_spread_px=20.0)) == {frozenset({(0, 0), (1, 0), (2, 0)})}


def test_no_matches_give_no_tracks() -> None:
    assert len(build_tracks(problem_of([2, 2], {}), GraphConfig())) == 0


def test_every_image_sees_every_point_of_a_perfect_problem() -> None:
    tracks = build_tracks(make_problem(6, 40).problem, GraphConfig())
    assert len(tracks) == 40
    assert (tracks.lengths == 6).all()


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_tracks_agree_with_a_plain_union_find(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matches = {
        (i, j): [tuple(m) for m in np.unique(rng.integers(0, 6, size=(3, 2)), axis=0).tolist()]
        for i in range(4)
        for j in range(i + 1, 4)
        if rng.random() < 0.7
    }
    expected = naive_tracks(matches, min_length=2)
    assert as_sets(problem_of([6] * 4, matches), GraphConfig(min_track_length=2)) == expected


def naive_tracks(
    matches: dict[tuple[int, int], list[tuple[int, int]]], min_length: int
) -> set[frozenset[tuple[int, int]]]:
    groups: list[set[tuple[int, int]]] = []
    for (i, j), pairs in matches.items():
        for a, b in pairs:
            touching = [g for g in groups if (i, a) in g or (j, b) in g]
            groups = [g for g in groups if g not in touching]
            groups.append({(i, a), (j, b)}.union(*touching))
    return {frozenset(g) for g in groups if len({i for i, _ in g}) == len(g) and len(g) >= min_length}
