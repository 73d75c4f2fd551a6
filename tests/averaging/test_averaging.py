"""Averaging: exact on exact graphs, unmoved by wrong edges, and free of any choice of world."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from tests.synthetic import all_pairs, make_edges_wrong, make_graph, make_problem, near_pairs, ring_cameras
from vgpa.averaging.average import Evidence, average, turn_centres
from vgpa.averaging.directions import refine_directions
from vgpa.averaging.passages import edge_losses, turn_behind_passages
from vgpa.averaging.positions import average_positions, direction_residuals_deg
from vgpa.averaging.rotation_search import search_rotations
from vgpa.averaging.rotations import average_rotations
from vgpa.averaging.spanning_tree import edge_support, spanning_tree_poses
from vgpa.config import AveragingConfig
from vgpa.errors import NoModelError
from vgpa.evaluate.scores import score_poses
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import direction_angle_rad, normalize
from vgpa.scene import ViewGraph

CAMS = ring_cameras(20)


def perturbed(cams: Rigid, angle_deg: float, distance: float, seed: int = 0) -> Rigid:
    rng = np.random.default_rng(seed)
    turn = Rotation.from_rotvec(rng.normal(size=(len(cams), 3)) * np.radians(angle_deg)).as_matrix()
    return Rigid.from_centre(turn @ cams.rotation, cams.centre + rng.normal(size=(len(cams), 3)) * distance)


@pytest.mark.parametrize("reach", [2, 10])
def test_exact_rotations_are_recovered_from_afar(reach: int) -> None:
    graph = make_graph(CAMS, near_pairs(20, reach))
    rotation = average_rotations(graph, perturbed(CAMS, 20, 0).rotation, sigma_deg=5)
    assert graph.rotation_residuals_deg(rotation).max() < 1e-4


def test_wrong_edges_do_not_move_rotations() -> None:
    graph = make_edges_wrong(make_graph(CAMS, all_pairs(20), noise_deg=0.1), 0.3)
    start = spanning_tree_poses(make_graph(CAMS, all_pairs(20), noise_deg=3.0))
    rotation = average_rotations(graph, start.rotation, sigma_deg=5)
    scores = score_poses(Rigid.from_centre(rotation, CAMS.centre), CAMS, 20)
    assert scores.rotation_mean_deg < 0.15


def test_rotation_averaging_does_not_choose_a_world() -> None:
    graph = make_edges_wrong(make_graph(CAMS, near_pairs(20, 6), noise_deg=1.0), 0.1)
    start = perturbed(CAMS, 10, 0).rotation
    turn = Rotation.random(random_state=1).as_matrix()
    np.testing.assert_allclose(
        average_rotations(graph, start @ turn, 5.0), average_rotations(graph, start, 5.0) @ turn, atol=1e-7
    )


def test_the_first_camera_keeps_its_rotation() -> None:
    graph = make_graph(CAMS, near_pairs(20, 3), noise_deg=1.0)
    start = perturbed(CAMS, 10, 0).rotation
    np.testing.assert_allclose(average_rotations(graph, start, 5.0)[0], start[0], atol=1e-12)


def test_many_starts_at_once_end_where_each_would_alone() -> None:
    graph = make_edges_wrong(make_graph(CAMS, near_pairs(20, 3), noise_deg=2.0), 0.2)
    starts = np.stack([perturbed(CAMS, angle_deg, 0).rotation for angle_deg in (0, 10, 60)])
    alone = [average_rotations(graph, start, 5.0) for start in starts]
    np.testing.assert_allclose(average_rotations(graph, starts, 5.0), alone, atol=1e-9)


@pytest.mark.parametrize("reach", [2, 10])
def test_averaged_rotations_are_better_than_their_edges(reach: int) -> None:
    graph = make_graph(CAMS, near_pairs(20, reach), noise_deg=1.0)
    rotation = average_rotations(graph, spanning_tree_poses(graph).rotation, sigma_deg=5)
    error = make_graph(CAMS, near_pairs(20, reach)).rotation_residuals_deg(rotation)
    assert error.mean() < graph.rotation_residuals_deg(CAMS.rotation).mean() * 0.7


def test_a_lone_camera_has_nothing_to_average() -> None:
    graph = make_graph(CAMS[:1], np.zeros((2, 0), dtype=np.int64))
    np.testing.assert_allclose(average_rotations(graph, CAMS.rotation[:1], 5.0), CAMS.rotation[:1], atol=1e-12)


@pytest.mark.parametrize("reach", [3, 10])
def test_exact_positions_are_recovered_from_afar(reach: int) -> None:
    graph = make_graph(CAMS, near_pairs(20, reach))
    centre = average_positions(graph, CAMS.rotation, perturbed(CAMS, 0, 3.0).centre, sigma_deg=5)
    assert direction_residuals_deg(graph, CAMS.rotation, centre).max() < 0.05


def test_wrong_edges_do_not_move_positions() -> None:
    graph = make_edges_wrong(make_graph(CAMS, all_pairs(20), noise_deg=0.1), 0.3)
    centre = average_positions(graph, CAMS.rotation, perturbed(CAMS, 0, 2.0).centre, sigma_deg=5)
    scores = score_poses(Rigid.from_centre(CAMS.rotation, centre), CAMS, 20)
    assert scores.position_mean_relative < 0.01


def test_what_a_good_start_knows_is_kept() -> None:
    """Most edges of one camera err by the same 45 degrees; a start that all other edges agree with stands firm."""
    graph = make_graph(CAMS, all_pairs(20))
    at_camera = np.flatnonzero((graph.edge_index == 3).any(axis=0))
    motion = graph.cam_j_from_cam_i
    direction = motion.translation.copy()
    direction[at_camera[:14]] = direction[at_camera[:14]] @ Rotation.from_euler("y", 45, degrees=True).as_matrix().T
    spoiled = replace(graph, cam_j_from_cam_i=Rigid.from_matrix(motion.rotation, direction))
    centre = average_positions(spoiled, CAMS.rotation, CAMS.centre, sigma_deg=5)
    error = direction_residuals_deg(graph, CAMS.rotation, centre)[at_camera]
    assert np.median(error) < 3


def test_a_start_counts_as_much_as_its_edges_agree_with_it() -> None:
    """All starts lead to the same valley; there a precise one still lowers the error, and a guess changes nothing."""
    truth, noisy = (make_graph(CAMS, near_pairs(20, 6), noise_deg=noise_deg) for noise_deg in (0.0, 3.0))
    starts = CAMS.centre, perturbed(CAMS, 0, 3.0, seed=1).centre, perturbed(CAMS, 0, 3.0, seed=2).centre
    precise, guess, other_guess = (
        direction_residuals_deg(truth, CAMS.rotation, average_positions(noisy, CAMS.rotation, start, 5)).mean()
        for start in starts
    )
    assert precise < 0.8 * guess
    assert guess == pytest.approx(other_guess, rel=0.05)


def test_edges_with_few_inliers_count_less() -> None:
    good, bad = (make_graph(CAMS, near_pairs(20, 6), noise_deg=noise_deg) for noise_deg in (0.1, 3.0))
    is_bad = np.arange(good.num_edges) % 2 == 0
    motion = good.cam_j_from_cam_i
    direction = np.where(is_bad[:, None], bad.cam_j_from_cam_i.translation, motion.translation)
    noisy = replace(good, cam_j_from_cam_i=Rigid.from_matrix(motion.rotation, direction))
    known = replace(noisy, num_inliers=np.where(is_bad, 20, 100))
    truth = make_graph(CAMS, near_pairs(20, 6))
    alike, told = (
        direction_residuals_deg(truth, CAMS.rotation, average_positions(graph, CAMS.rotation, CAMS.centre, 5)).mean()
        for graph in (noisy, known)
    )
    assert told < 0.7 * alike


def test_a_camera_on_one_edge_stays_in_reach() -> None:
    edges = np.concatenate([near_pairs(20, 4), [[0], [20]]], axis=1)
    cams = ring_cameras(21)
    centre = average_positions(make_graph(cams, edges), cams.rotation, cams.centre, sigma_deg=5)
    distance = np.linalg.norm(centre - np.median(centre, axis=0), axis=-1)
    assert distance[20] < 10 * np.median(distance)


def test_spanning_tree_follows_its_edges_exactly() -> None:
    graph = make_graph(CAMS, near_pairs(20, 1)[:, :-1])
    poses = spanning_tree_poses(graph)
    assert graph.rotation_residuals_deg(poses.rotation).max() < 1e-5
    assert direction_residuals_deg(graph, poses.rotation, poses.centre).max() < 1e-5


def test_the_tree_prefers_edges_that_close_triplets_over_edges_with_more_inliers() -> None:
    graph = make_edges_wrong(make_graph(CAMS, near_pairs(20, 6), noise_deg=0.1), 0.2)
    is_wrong = graph.rotation_residuals_deg(CAMS.rotation) > 5
    loud = replace(graph, num_inliers=np.where(is_wrong, 300, 100), num_matches=np.full(graph.num_edges, 300))
    assert edge_support(loud)[is_wrong].max() < np.median(edge_support(loud)[~is_wrong]) / 2
    assert score_poses(spanning_tree_poses(loud), CAMS, 20).rotation_mean_deg < 1


def test_without_triplets_inliers_decide() -> None:
    graph = make_graph(CAMS, near_pairs(20, 1))
    counts = np.arange(1, 1 + graph.num_edges)
    support = edge_support(replace(graph, num_inliers=counts, num_matches=counts))
    np.testing.assert_allclose(support / support[0], counts)


def test_directions_are_recovered_from_matches_with_wrong_ones_among_them() -> None:
    truth = make_problem(6, 100, noise_px=0.5)
    problem, cams = truth.problem, truth.cam_from_world
    rays = true_rays(truth)
    spoiled = normalize(np.random.default_rng(1).normal((0, 0, 3), 1, size=(len(rays[1][::10]), 3)))
    rays[1][::10] = spoiled
    worse = make_graph(cams, problem.view_graph.edge_index, noise_deg=10)
    refined = refine_directions(worse, problem.matches, rays, cams.rotation)
    error = direction_angle_rad(refined.cam_j_from_cam_i.translation, problem.view_graph.cam_j_from_cam_i.translation)
    assert np.degrees(error).max() < 0.5


def true_rays(truth: object) -> tuple[np.ndarray, np.ndarray]:
    problem = truth.problem  # type: ignore[attr-defined]
    matches, keypoints = problem.matches, problem.keypoints
    ends = problem.view_graph.edge_index[:, matches.edge_idx]
    pixels = [keypoints.xy_px[keypoints.offsets[end] + matches.keypoint_idx[:, k]] for k, end in enumerate(ends)]
    first, second = (normalize(np.column_stack([(xy - [500, 400]) / 800, np.ones(len(xy))])) for xy in pixels)
    return first, second


def test_a_pair_without_parallax_has_no_direction() -> None:
    truth = make_problem(3, 50)
    graph = truth.problem.view_graph
    rays = true_rays(truth)
    turned = np.einsum("mij,mj->mi", graph.cam_j_from_cam_i.rotation[truth.problem.matches.edge_idx], rays[0])
    refined = refine_directions(graph, truth.problem.matches, (rays[0], turned), truth.cam_from_world.rotation)
    assert not refined.has_direction.any()
    evidence = Evidence(truth.problem.matches, (rays[0], turned))
    with pytest.raises(NoModelError, match="one place"):
        average(graph, evidence, AveragingConfig(), lambda _: truth.cam_from_world)


class TestWholeAverage:
    """`average` on a problem with exact rays."""

    truth = make_problem(10, 60, noise_px=0.3)

    def run(self, graph: ViewGraph, start: Rigid, config: AveragingConfig | None = None) -> object:
        evidence = Evidence(self.truth.problem.matches, true_rays(self.truth))
        return average(graph, evidence, config or AveragingConfig(), lambda _: start)

    def test_good_start_or_bad_the_answer_is_right(self) -> None:
        random = Rigid.from_centre(Rotation.random(10, random_state=3).as_matrix(), CAMS.centre[:10])
        for start in (self.truth.cam_from_world, random):
            answer = self.run(self.truth.problem.view_graph, start)
            scores = score_poses(answer.poses.cam_from_world, self.truth.cam_from_world, 10)
            assert scores.auc[5] > 0.95

    def test_wrong_edges_are_named(self) -> None:
        graph = make_edges_wrong(self.truth.problem.view_graph, 0.2)
        answer = self.run(graph, self.truth.cam_from_world)
        error = graph.rotation_residuals_deg(self.truth.cam_from_world.rotation)
        np.testing.assert_array_equal(answer.is_edge_kept, error < 10)

    def test_without_robust_averaging_the_network_has_the_last_word(self) -> None:
        start = perturbed(self.truth.cam_from_world, 5, 0.5)
        answer = self.run(self.truth.problem.view_graph, start, AveragingConfig(robust=False))
        np.testing.assert_array_equal(answer.poses.cam_from_world.translation, start.translation)

    def test_images_cut_off_by_bad_edges_are_left_out(self) -> None:
        graph = self.truth.problem.view_graph
        rotation = graph.cam_j_from_cam_i.rotation.copy()
        at_last = np.flatnonzero((graph.edge_index == 9).any(axis=0))
        rotation[at_last] = Rotation.random(len(at_last), random_state=5).as_matrix()
        spoiled = replace(graph, cam_j_from_cam_i=Rigid.from_matrix(rotation, graph.cam_j_from_cam_i.translation))
        answer = self.run(spoiled, self.truth.cam_from_world)
        # One of its nine edges may define the rotation of the tenth camera; never more than that agree.
        assert answer.is_edge_kept[at_last].sum() <= 1


class TestRotationSearch:
    """A narrow passage with one wrong and two right edges: the tree may take the wrong one, the search does not."""

    def two_groups(self) -> tuple[ViewGraph, Rigid]:
        truth = make_problem(12, 40, noise_px=0.0)
        graph, poses = truth.problem.view_graph, truth.cam_from_world
        side = graph.edge_index >= 6
        across = np.flatnonzero(side[0] != side[1])
        keep = np.ones(graph.num_edges, dtype=np.bool_)
        keep[across[3:]] = False
        graph = graph.select_edges(keep)
        wrong = np.flatnonzero((graph.edge_index[0] < 6) & (graph.edge_index[1] >= 6))[0]
        motion = graph.cam_j_from_cam_i
        rotation = motion.rotation.copy()
        rotation[wrong] = Rotation.from_euler("y", 70, degrees=True).as_matrix() @ rotation[wrong]
        inliers = np.full(graph.num_edges, 100)
        inliers[wrong] = 110
        spoiled = Rigid.from_matrix(rotation, motion.translation)
        return replace(graph, cam_j_from_cam_i=spoiled, num_inliers=inliers), poses

    def test_the_majority_across_the_passage_wins(self) -> None:
        graph, truth = self.two_groups()
        # A start that believes the wrong edge: the far group is turned as a whole.
        turned = truth.rotation.copy()
        turned[6:] = turned[6:] @ Rotation.from_euler("y", 70, degrees=True).as_matrix()
        found = search_rotations(graph, turned, sigma_deg=5.0, seed=0)
        residual = graph.rotation_residuals_deg(found)
        assert np.sum(residual > 10) == 1

    def test_a_part_behind_a_passage_is_turned_until_the_majority_agrees(self) -> None:
        graph, truth = self.two_groups()
        wrong = np.argmax(graph.rotation_residuals_deg(truth.rotation))
        i, j = graph.edge_index[:, wrong]
        turned = truth.rotation.copy()
        turned[6:] = turned[6:] @ turned[j].T @ graph.cam_j_from_cam_i.rotation[wrong] @ turned[i]
        # Averaging alone stays there, with the wrong edge, against the two right ones.
        stuck = average_rotations(graph, turned, 5.0, is_start_close=True)
        assert np.sum(graph.rotation_residuals_deg(stuck) > 10) == 2
        assert np.sum(graph.rotation_residuals_deg(turn_behind_passages(graph, stuck, 5.0)) > 10) == 1

    @given(seed=st.integers(0, 100))
    def test_turning_never_loses_evidence(self, seed: int) -> None:
        graph = make_edges_wrong(make_graph(CAMS, near_pairs(20, 2), noise_deg=1.0), 0.3, seed)
        start = average_rotations(graph, spanning_tree_poses(graph).rotation, 5.0)
        before, after = (edge_losses(graph, r, 5.0).sum() for r in (start, turn_behind_passages(graph, start, 5.0)))
        assert after <= before

    def test_edges_without_evidence_leave_the_start_as_it_is(self) -> None:
        graph, truth = self.two_groups()
        empty = replace(graph, num_inliers=np.zeros(graph.num_edges, dtype=np.int64))
        assert np.isfinite(search_rotations(empty, truth.rotation, sigma_deg=5.0, seed=0)).all()
        alone = make_graph(CAMS[:1], np.zeros((2, 0), dtype=np.int64))
        np.testing.assert_allclose(
            search_rotations(alone, CAMS.rotation[:1], 5.0, seed=0), CAMS.rotation[:1], atol=1e-12
        )

    def test_a_start_that_is_no_number_loses_to_the_trees(self) -> None:
        graph, truth = self.two_groups()
        found = search_rotations(graph, np.full_like(truth.rotation, np.nan), sigma_deg=5.0, seed=0)
        assert np.sum(graph.rotation_residuals_deg(found) > 10) == 1

    def test_same_seed_same_answer(self) -> None:
        graph, truth = self.two_groups()
        first, again = (search_rotations(graph, truth.rotation, sigma_deg=5.0, seed=4) for _ in range(2))
        np.testing.assert_array_equal(first, again)


@given(seed=st.integers(0, 1000))
def test_centres_turn_with_the_world(seed: int) -> None:
    turn = Rotation.random(random_state=seed).as_matrix()
    np.testing.assert_allclose(turn_centres(CAMS, CAMS.rotation @ turn.T), CAMS.centre @ turn.T, atol=1e-9)
