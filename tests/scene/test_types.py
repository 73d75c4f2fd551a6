"""The shared types refuse what they cannot mean, keep their arrays read-only, and slice without losing track."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.synthetic import all_pairs, make_graph, make_problem, ring_cameras
from vgpa.geometry.rigid import Rigid
from vgpa.scene import Camera, ImageSet, Keypoints, Matches, Poses, Reconstruction, Tracks

CAMERA = Camera("PINHOLE", 10, 10, np.array([10.0, 10, 5, 5]))
lengths_strategy = st.lists(st.integers(0, 5), min_size=0, max_size=12)


def tracks_of(lengths: list[int]) -> Tracks:
    total = sum(lengths)
    return Tracks(np.concatenate([[0], np.cumsum(lengths)]), np.arange(total) % 7, np.arange(total))


def graph_with(**changes: object) -> object:
    return replace(make_graph(ring_cameras(4), all_pairs(4)), **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edge_index": np.array([[1, 0, 0, 1, 1, 2], [0, 2, 3, 2, 3, 3]])}, "i < j"),
        ({"edge_index": np.array([[0, 0, 0, 1, 1, 2], [1, 1, 3, 2, 3, 3]])}, "at most one edge"),
        ({"edge_index": np.array([[0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 9]])}, "edge_index must be in"),
        ({"num_inliers": np.ones(3)}, "num_inliers must have shape"),
        ({"cam_j_from_cam_i": Rigid.identity(6)}, "unit length"),
        ({"cam_j_from_cam_i": Rigid.identity(5)}, "must hold 6"),
    ],
)
def test_bad_view_graphs_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        graph_with(**changes)


def test_components_are_largest_first() -> None:
    cams = ring_cameras(7)
    graph = make_graph(cams, np.array([[0, 2, 3, 4], [1, 3, 4, 5]]))
    np.testing.assert_array_equal(graph.component_labels(), [1, 1, 0, 0, 0, 0, 2])


def test_subgraph_keeps_measurements() -> None:
    graph = make_graph(ring_cameras(5), all_pairs(5))
    part, kept = graph.subgraph(np.array([1, 3, 4]))
    assert part.num_images == 3
    np.testing.assert_array_equal(part.edge_index, all_pairs(3))
    np.testing.assert_array_equal(part.cam_j_from_cam_i.translation, graph.cam_j_from_cam_i.translation[kept])


def test_arrays_are_read_only_and_copied() -> None:
    offsets = np.array([0, 2])
    tracks = Tracks(offsets, np.zeros(2), np.zeros(2))
    offsets[1] = 99
    assert tracks.offsets[1] == 2
    with pytest.raises(ValueError, match="read-only"):
        tracks.image_idx[0] = 5


@pytest.mark.parametrize(
    "offsets", [np.array([1, 2]), np.array([0, 1]), np.array([0, 3, 2]), np.zeros(0, dtype=np.int64)]
)
def test_offsets_must_cover_the_observations(offsets: np.ndarray) -> None:
    with pytest.raises(ValueError, match="rise from 0"):
        Tracks(offsets, np.zeros(2), np.zeros(2))


@given(lengths_strategy, st.integers(0, 2**32 - 1))
def test_selecting_tracks_is_selecting_runs(lengths: list[int], seed: int) -> None:
    tracks = tracks_of(lengths)
    keep = np.random.default_rng(seed).random(len(tracks)) < 0.5
    expected = [
        tracks.keypoint_idx[a:b] for a, b, k in zip(tracks.offsets, tracks.offsets[1:], keep, strict=False) if k
    ]
    chosen = tracks.select(keep)
    np.testing.assert_array_equal(chosen.lengths, [len(run) for run in expected])
    np.testing.assert_array_equal(chosen.keypoint_idx, np.concatenate([*expected, []]))


@given(lengths_strategy, st.integers(0, 2**32 - 1))
def test_selecting_observations_keeps_every_track(lengths: list[int], seed: int) -> None:
    tracks = tracks_of(lengths)
    keep = np.random.default_rng(seed).random(tracks.num_observations) < 0.5
    chosen = tracks.select_observations(keep)
    assert len(chosen) == len(tracks)
    np.testing.assert_array_equal(chosen.track_idx, tracks.track_idx[keep])


@given(lengths_strategy, st.integers(0, 100))
def test_only_observed_keypoints_are_what_tracks_saw_before(lengths: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    num, num_of = sum(lengths), 80
    keypoints = Keypoints(num_of * np.arange(8), rng.uniform(0, 100, (7 * num_of, 2)))
    tracks = replace(tracks_of(lengths), keypoint_idx=rng.permutation(num_of)[:num])
    same, observed = tracks.of_observed(keypoints)
    assert len(observed.xy_px) == num
    assert np.array_equal(same.offsets, tracks.offsets)

    def seen_px(which: Tracks, among: Keypoints) -> np.ndarray:
        return among.xy_px[among.offsets[which.image_idx] + which.keypoint_idx]

    assert np.array_equal(seen_px(same, observed), seen_px(tracks, keypoints))
    order = np.lexsort((tracks.keypoint_idx, tracks.image_idx))
    assert np.array_equal(np.lexsort((same.keypoint_idx, same.image_idx)), order), "they stay in their order"


def test_matches_follow_their_edges() -> None:
    problem = make_problem(4, 5).problem
    keep = np.array([True, False, True, False, False, True])
    chosen = problem.select_edges(keep)
    np.testing.assert_array_equal(chosen.matches.offsets, [0, 5, 10, 15])


def test_match_to_a_missing_keypoint_is_refused() -> None:
    problem = make_problem(3, 5).problem
    bad = problem.matches.keypoint_idx.copy()
    bad[0, 1] = 5
    with pytest.raises(ValueError, match="does not have"):
        replace(problem, matches=replace(problem.matches, keypoint_idx=bad))


@pytest.mark.parametrize(
    "make",
    [
        lambda: ImageSet(("a", "a"), np.zeros(2), (CAMERA,), np.arange(2)),
        lambda: ImageSet(("a", "b"), np.zeros(2), (CAMERA,), np.zeros(2)),
        lambda: ImageSet(("a", "b"), np.ones(2), (CAMERA,), np.arange(2)),
        lambda: Camera("PINHOLE", 0, 10, np.ones(4)),
        lambda: Camera("PINHOLE", 10, 10, np.array([np.nan])),
        lambda: Keypoints(np.array([0, 1]), np.array([[np.inf, 0]])),
        lambda: Poses(Rigid.identity(3), np.ones(2)),
    ],
)
def test_bad_images_keypoints_and_poses_are_refused(make: object) -> None:
    with pytest.raises(ValueError, match=r"must|unique"):
        make()  # type: ignore[operator]


def test_points_must_be_seen_in_registered_images() -> None:
    images = ImageSet(("a", "b"), np.zeros(2), (CAMERA,), np.arange(2))
    poses = Poses(Rigid.identity(2), np.array([True, False]))
    tracks = Tracks(np.array([0, 2]), np.array([0, 1]), np.zeros(2))
    with pytest.raises(ValueError, match="not registered"):
        Reconstruction(images, poses, np.zeros((1, 3)), tracks, np.zeros(1), np.zeros((1, 3)))


def test_scattered_poses_come_back_in_place() -> None:
    cams = ring_cameras(3)
    poses = Poses.of_all(cams).scatter(np.array([4, 0, 2]), 6)
    np.testing.assert_array_equal(poses.is_known, [True, False, True, False, True, False])
    np.testing.assert_array_equal(poses.cam_from_world.translation[[4, 0, 2]], cams.translation)
    assert not poses.keep(np.zeros(6, dtype=bool)).is_known.any()


@given(lengths_strategy, st.integers(1, 4))
def test_thinned_matches_are_some_of_every_edge(lengths: list[int], max_num: int) -> None:
    matches = Matches(np.concatenate([[0], np.cumsum(lengths)]), np.zeros((sum(lengths), 2)))
    num_kept = np.bincount(matches.edge_idx[matches.spread(max_num)], minlength=len(lengths))
    assert all(min(n, max_num) <= kept < 2 * max_num or kept == n for n, kept in zip(lengths, num_kept, strict=True))


def test_a_thinned_problem_keeps_its_edges_and_which_match_is_whose() -> None:
    problem = make_problem(4, 30).problem
    thinned = problem.thin_matches(5)
    np.testing.assert_array_equal(thinned.view_graph.edge_index, problem.view_graph.edge_index)
    assert set(np.diff(thinned.matches.offsets)) <= set(range(5, 10))
    whole = {(e, *m) for e, m in zip(problem.matches.edge_idx, problem.matches.keypoint_idx.tolist(), strict=True)}
    left = {(e, *m) for e, m in zip(thinned.matches.edge_idx, thinned.matches.keypoint_idx.tolist(), strict=True)}
    assert left < whole


@given(lengths_strategy)
def test_pairs_share_the_tracks_that_both_see(lengths: list[int]) -> None:
    tracks = tracks_of(lengths)
    expected = np.zeros((7, 7), dtype=np.int64)
    for first, end in zip(tracks.offsets[:-1], tracks.offsets[1:], strict=True):
        for i, j in combinations(tracks.image_idx[first:end].tolist(), 2):
            expected[i, j] += 1
            expected[j, i] += 1
    np.testing.assert_array_equal(tracks.num_shared(7), expected)
    twice = Tracks(np.array([0, 2]), np.array([3, 3]), np.array([0, 1]))
    assert not twice.num_shared(7).any()
