"""Edges that are trusted: evidence, triplets that close, bridges that nobody can contradict, outside opinions."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from tests.synthetic import all_pairs, make_edges_wrong, make_graph, make_problem, near_pairs, ring_cameras
from vgpa.config import GraphConfig
from vgpa.frontend.graph import closes_triplets, joins_copies, select_reliable_edges, triplet_errors_deg
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.triplets import find_triplets
from vgpa.scene import Matches

CAMS = ring_cameras(12)


def test_triplets_are_all_triangles_once() -> None:
    graph = make_graph(CAMS, near_pairs(12, 3))
    edges = set(zip(*graph.edge_index.tolist(), strict=True))
    expected = {c for c in combinations(range(12), 3) if all(pair in edges for pair in combinations(c, 2))}
    found = [graph.edge_index[:, list(t)] for t in find_triplets(graph.edge_index, graph.num_images).T]
    assert {tuple(sorted(set(t.ravel().tolist()))) for t in found} == expected
    assert len(found) == len(expected)


def test_exact_triplets_close() -> None:
    graph = make_graph(CAMS, all_pairs(12))
    assert triplet_errors_deg(graph, find_triplets(graph.edge_index, graph.num_images)).max() < 1e-5


def test_wrong_edges_are_convicted_and_right_ones_are_not() -> None:
    right = make_graph(CAMS, all_pairs(12), noise_deg=0.5)
    wrong = make_edges_wrong(right, 0.2, seed=1)
    is_wrong = (wrong.cam_j_from_cam_i.translation != right.cam_j_from_cam_i.translation).any(axis=-1)
    np.testing.assert_array_equal(closes_triplets(wrong, 5.0), ~is_wrong)


def test_bridges_are_kept() -> None:
    graph = make_edges_wrong(make_graph(CAMS, near_pairs(12, 1)), 1.0)
    assert find_triplets(graph.edge_index, graph.num_images).shape == (3, 0)
    assert closes_triplets(graph, 1.0).all()


def test_bridges_are_not_trusted_where_many_others_are_wrong() -> None:
    """Images 0 to 11 are all matched with each other, 12 and 13 hang on by a pair each."""
    cams = ring_cameras(14)
    edges = np.concatenate([all_pairs(12), [[0, 12], [12, 13]]], axis=1)
    for part_wrong, is_trusted in ((0.05, True), (0.4, False)):
        wrong = make_edges_wrong(make_graph(cams, edges[:, :-2]), part_wrong)
        graph = make_graph(cams, edges)
        motion = Rigid(
            *(
                np.concatenate([getattr(wrong.cam_j_from_cam_i, name), getattr(graph.cam_j_from_cam_i, name)[-2:]])
                for name in ("quaternion_wxyz", "translation")
            )
        )
        np.testing.assert_array_equal(
            closes_triplets(replace(graph, cam_j_from_cam_i=motion), 5.0)[-2:], [is_trusted, is_trusted]
        )


def test_an_outside_filter_has_a_say() -> None:
    problem = make_problem(5, 40).problem
    chosen = select_reliable_edges(problem, GraphConfig(), lambda graph: graph.edge_index[0] > 0)
    assert chosen.view_graph.edge_index.min() == 1


def test_pairs_that_mostly_failed_verification_are_not_trusted() -> None:
    problem = make_problem(4, 40).problem
    graph = replace(problem.view_graph, num_matches=np.full(6, 1000))
    assert select_reliable_edges(replace(problem, view_graph=graph), GraphConfig()).view_graph.num_edges == 0


def test_a_photo_and_its_turned_and_scaled_copy_are_no_pair() -> None:
    """Image 1 is image 0, turned by 90 degrees and halved about the middle; the others are photos of their own."""
    problem = make_problem(4, 50).problem
    middle = np.array([problem.images.cameras[0].width_px, problem.images.cameras[0].height_px]) / 2
    xy_px = problem.keypoints.xy_px.reshape(4, 50, 2).copy()
    xy_px[1] = middle + 0.5 * (xy_px[0] - middle) @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    copied = replace(problem, keypoints=replace(problem.keypoints, xy_px=xy_px.reshape(-1, 2)))
    is_first_pair = (problem.view_graph.edge_index == np.array([[0], [1]])).all(axis=0)
    np.testing.assert_array_equal(joins_copies(copied), is_first_pair)
    assert not joins_copies(problem).any()
    left = select_reliable_edges(copied, GraphConfig()).view_graph.edge_index
    assert not (left == np.array([[0], [1]])).all(axis=0).any()


def test_a_pair_without_matches_is_not_called_a_copy() -> None:
    problem = make_problem(3, 20).problem
    nothing = Matches(np.zeros(4, dtype=np.int64), np.zeros((0, 2), dtype=np.int64))
    assert not joins_copies(replace(problem, matches=nothing)).any()
