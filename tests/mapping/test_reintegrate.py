"""Lost images come back where they belong, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.mapping.built import build_model
from tests.synthetic import Truth, make_matches_wrong, make_problem
from vgpa import config as presets
from vgpa.config import Config, GraphConfig, ReintegrateConfig
from vgpa.evaluate.scores import score_poses
from vgpa.frontend.tracks import build_tracks
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import rotation_angle_rad
from vgpa.mapping.extend import links_to_points
from vgpa.mapping.reintegrate import place_images, reintegrate
from vgpa.scene import ImageState, Matches, Poses, Problem, Reconstruction
from vgpa.solve import solve
from vgpa.stages import StageLog

LOST = np.arange(10) >= 8


def fixed() -> Config:
    config = presets.default()
    return replace(config, mapping=replace(config.mapping, fix_intrinsics=True), num_threads=1)


@pytest.fixture(scope="module")
def truth() -> Truth:
    return make_problem(10, 150, noise_px=0.4)


@pytest.fixture(scope="module")
def partial(truth: Truth) -> Reconstruction:
    """A model of the first eight images."""
    problem = truth.problem
    poses = Poses.of_all(truth.cam_from_world).keep(~LOST)
    tracks = build_tracks(problem, GraphConfig())
    return build_model(problem.images, poses, problem.keypoints, tracks, fixed().mapping)


def find_lost_poses(problem: Problem, model: Reconstruction, wanted: ReintegrateConfig | None = None) -> Poses:
    config = fixed()
    config = replace(config, mapping=replace(config.mapping, reintegrate=wanted or ReintegrateConfig()))
    return place_images(problem, model, links_to_points(problem, model), config, 0).poses


def test_lost_images_find_their_place(truth: Truth, partial: Reconstruction) -> None:
    model = reintegrate(truth.problem, partial, fixed())
    assert model.num_registered == 10
    assert score_poses(model.poses.cam_from_world, truth.cam_from_world, 10).rotation_mean_deg < 0.05
    np.testing.assert_array_equal(
        model.poses.cam_from_world.translation[~LOST], partial.poses.cam_from_world.translation[~LOST]
    )


def test_a_place_that_the_view_graph_denies_is_refused(truth: Truth, partial: Reconstruction) -> None:
    """Image 9 has a few edges that put it in its place, and more that contradict it, by rotation and by matches."""
    graph = truth.problem.view_graph
    rotation = graph.cam_j_from_cam_i.rotation.copy()
    denies = (graph.edge_index == 9).any(axis=0) & (graph.edge_index[0] > 2)
    rotation[denies] = Rotation.random(int(denies.sum()), random_state=0).as_matrix()
    turned = replace(graph, cam_j_from_cam_i=Rigid.from_matrix(rotation, graph.cam_j_from_cam_i.translation))
    denied = make_matches_wrong(replace(truth.problem, view_graph=turned), denies)
    np.testing.assert_array_equal(find_lost_poses(denied, partial).is_known, np.arange(10) != 9)


def test_wrong_rotations_are_outweighed_by_matches_that_fit(truth: Truth, partial: Reconstruction) -> None:
    """As when a pair's relative pose was found with a wrong focal length."""
    graph = truth.problem.view_graph
    rotation = graph.cam_j_from_cam_i.rotation.copy()
    at_lost = (graph.edge_index == 9).any(axis=0)
    rotation[at_lost] = Rotation.random(int(at_lost.sum()), random_state=0).as_matrix()
    turned = replace(graph, cam_j_from_cam_i=Rigid.from_matrix(rotation, graph.cam_j_from_cam_i.translation))
    assert find_lost_poses(replace(truth.problem, view_graph=turned), partial).is_known[9]


def test_an_unknown_focal_length_is_found_with_the_pose(truth: Truth, partial: Reconstruction) -> None:
    """Image 9 has a camera of its own, whose focal length was guessed 40% too long."""
    images, wrong = truth.problem.images, truth.problem.images.cameras[0]
    wrong = replace(wrong, params=wrong.params * np.array([1.4, 1.4, 1, 1]))
    camera_idx = images.camera_idx.copy()
    camera_idx[9] = 1
    images = replace(images, cameras=(images.cameras[0], wrong), camera_idx=camera_idx)
    config = presets.default()
    model = reintegrate(replace(truth.problem, images=images), replace(partial, images=images), config)
    assert model.poses.is_known[9]
    assert model.images.cameras[1].params[0] == pytest.approx(images.cameras[0].params[0], rel=0.02)
    assert score_poses(model.poses.cam_from_world, truth.cam_from_world, 10).rotation_mean_deg < 0.1


def test_an_image_without_enough_points_stays_lost(truth: Truth, partial: Reconstruction) -> None:
    poses = find_lost_poses(truth.problem, partial, ReintegrateConfig(min_agreeing=((1000, 0.25),)))
    np.testing.assert_array_equal(poses.is_known, ~LOST)


def test_a_whole_group_comes_back_from_the_member_that_hangs_on_the_model(truth: Truth) -> None:
    """Images 7, 8 and 9 are lost, and only 7 has matches with the model."""
    problem, is_lost = truth.problem, np.arange(10) >= 7
    i, j = problem.view_graph.edge_index
    problem = problem.select_edges((j < 8) | (i >= 7))
    poses = Poses.of_all(truth.cam_from_world).keep(~is_lost)
    tracks = build_tracks(problem, GraphConfig())
    model = build_model(problem.images, poses, problem.keypoints, tracks, fixed().mapping)
    np.testing.assert_array_equal(np.flatnonzero(find_lost_poses(problem, model).is_known), np.arange(8))
    whole = reintegrate(problem, model, fixed())
    assert whole.num_registered == 10
    assert score_poses(whole.poses.cam_from_world, truth.cam_from_world, 10).rotation_mean_deg < 0.1


def test_what_few_matches_place_waits_for_what_many_place(truth: Truth, partial: Reconstruction) -> None:
    """Image 9 has 16 matches with image 0 that agree on a wrong place, and with the lost image 8 all others."""
    problem, num_wrong = truth.problem, 16
    i, j = problem.view_graph.edge_index
    problem = problem.select_edges((j < 9) | (i == 0) | (i == 8))
    i, j = problem.view_graph.edge_index
    edge_idx, point = problem.matches.edge_idx, problem.matches.keypoint_idx[:, 0]
    is_wrong = (i == 0) & (j == 9)
    kept = np.where(is_wrong[edge_idx], point < num_wrong, (j[edge_idx] < 9) | (point >= num_wrong))
    offsets = np.concatenate([[0], np.cumsum(kept)])[problem.matches.offsets]
    true, turn = truth.cam_from_world, Rotation.from_rotvec([0, 0, 0.5]).as_matrix()
    seen = truth.xyz[:num_wrong] @ (true.rotation[9] @ turn).T + true.translation[9]
    focal, cx, cy = problem.images.cameras[0].params[[0, 2, 3]]
    xy_px = problem.keypoints.xy_px.copy()
    first = problem.keypoints.offsets[9]
    xy_px[first : first + num_wrong] = focal * seen[:, :2] / seen[:, 2:] + [cx, cy]
    rotation = problem.view_graph.cam_j_from_cam_i.rotation.copy()
    rotation[is_wrong] = true.rotation[9] @ turn @ true.rotation[0].T
    motion = Rigid.from_matrix(rotation, problem.view_graph.cam_j_from_cam_i.translation)
    misled = replace(
        problem,
        keypoints=replace(problem.keypoints, xy_px=xy_px),
        view_graph=replace(problem.view_graph, cam_j_from_cam_i=motion),
        matches=Matches(offsets, problem.matches.keypoint_idx[kept]),
    )
    assert find_lost_poses(misled, partial).is_known[9]
    model = reintegrate(misled, partial, fixed())
    assert model.num_registered == 10
    assert score_poses(model.poses.cam_from_world, truth.cam_from_world, 10).rotation_mean_deg < 0.05


def test_an_image_hangs_by_one_pair_and_five_points(truth: Truth, partial: Reconstruction) -> None:
    """Image 9 is matched with image 0 alone, and the model has points for five of these matches only."""
    i, j = truth.problem.view_graph.edge_index
    alone = truth.problem.select_edges((i == 0) & (j == 9))
    is_kept = np.ones(partial.num_points, dtype=np.bool_)
    is_kept[np.unique(links_to_points(alone, partial)[2])[5:]] = False
    model = partial.select_points(is_kept)
    hanging = reintegrate(alone, model, fixed())
    assert np.bincount(hanging.tracks.image_idx, minlength=10)[9] > 20
    found, true = hanging.poses.cam_from_world.rotation, truth.cam_from_world.rotation
    assert np.degrees(rotation_angle_rad(found[9] @ found[0].T, true[9] @ true[0].T)) < 0.2


def test_many_weak_edges_that_are_wrong_do_not_outvote_a_strong_one(truth: Truth, partial: Reconstruction) -> None:
    graph = truth.problem.view_graph
    at_lost = (graph.edge_index == 9).any(axis=0)
    weak = at_lost & (graph.edge_index[0] > 1)
    rotation = graph.cam_j_from_cam_i.rotation.copy()
    rotation[weak] = Rotation.random(int(weak.sum()), random_state=0).as_matrix()
    spoiled = replace(
        graph,
        cam_j_from_cam_i=Rigid.from_matrix(rotation, graph.cam_j_from_cam_i.translation),
        num_inliers=np.where(weak, 15, graph.num_inliers),
    )
    spoiled_problem = make_matches_wrong(replace(truth.problem, view_graph=spoiled), weak)
    assert find_lost_poses(spoiled_problem, partial, ReintegrateConfig(min_agreeing=((30, 0.1),))).is_known[9]


def test_an_image_cut_off_by_its_edges_comes_back_in_a_whole_run(truth: Truth) -> None:
    """Some rotations of image 9 are wrong; the whole run registers it all the same, and says so."""
    graph = truth.problem.view_graph
    rotation = graph.cam_j_from_cam_i.rotation.copy()
    at_lost = np.flatnonzero((graph.edge_index == 9).any(axis=0))[:4]
    rotation[at_lost] = Rotation.random(len(at_lost), random_state=1).as_matrix()
    spoiled = replace(graph, cam_j_from_cam_i=Rigid.from_matrix(rotation, graph.cam_j_from_cam_i.translation))
    solution = solve(replace(truth.problem, view_graph=spoiled), fixed(), StageLog())
    assert solution.model.num_registered == 10
    assert set(solution.states.values()) == {ImageState.REGISTERED}
    assert score_poses(solution.model.poses.cam_from_world, truth.cam_from_world, 10).rotation_mean_deg < 0.05


def test_an_image_outside_the_component_that_comes_back_is_called_registered(truth: Truth) -> None:
    """Edges of image 9 have too few inliers to be trusted, but its matches reach enough points."""
    graph = truth.problem.view_graph
    weak = np.where((graph.edge_index == 9).any(axis=0), 20, graph.num_inliers)
    solution = solve(replace(truth.problem, view_graph=replace(graph, num_inliers=weak)), fixed(), StageLog())
    assert solution.reliable_graph.degree[9] == 0
    assert solution.states["photo_09.jpg"] is ImageState.REGISTERED
    assert sum(state is ImageState.REGISTERED for state in solution.states.values()) == solution.model.num_registered
