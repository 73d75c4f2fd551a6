"""Few points are believed only where pairs agree: two of them, or one closely; strain tells bent chains from noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.synthetic import Truth, make_matches_wrong, make_problem
from vgpa.geometry.rigid import Rigid
from vgpa.mapping.agreement import is_confirmed, strain
from vgpa.scene import Matches, Poses, Problem, Reconstruction, Tracks

MAX_ERROR_DEG = 10.0
IMAGE = 5


@pytest.fixture(scope="module")
def truth() -> Truth:
    return make_problem(6, 80, noise_px=0.4)


@pytest.fixture(scope="module")
def model(truth: Truth) -> Reconstruction:
    """All cameras where they are; the points do not matter here."""
    nothing = np.zeros((0, 3))
    poses = Poses.of_all(truth.cam_from_world)
    return Reconstruction(truth.problem.images, poses, nothing, Tracks.empty(), np.zeros(0), nothing.astype(np.uint8))


def pairs_of(truth: Truth, num: int, num_turned: int) -> Problem:
    """The first pairs of one image, some of them with another relative rotation than the cameras have."""
    is_own = (truth.problem.view_graph.edge_index == IMAGE).any(axis=0)
    is_own[np.flatnonzero(is_own)[num:]] = False
    own = truth.problem.select_edges(is_own)
    rotation = own.view_graph.cam_j_from_cam_i.rotation.copy()
    rotation[:num_turned] = Rotation.from_rotvec([0, 0.6, 0]).as_matrix() @ rotation[:num_turned]
    motion = Rigid.from_matrix(rotation, own.view_graph.cam_j_from_cam_i.translation)
    return replace(own, view_graph=replace(own.view_graph, cam_j_from_cam_i=motion))


def with_wrong_matches(problem: Problem, part: float) -> Problem:
    """The problem of one pair with this part of its matches paired up wrongly."""
    assert problem.view_graph.num_edges == 1
    right = problem.matches.keypoint_idx
    wrong = make_matches_wrong(problem, np.array([True])).matches.keypoint_idx
    is_wrong = np.arange(len(right)) < part * len(right)
    return replace(problem, matches=Matches(problem.matches.offsets, np.where(is_wrong[:, None], wrong, right)))


def test_one_pair_with_the_right_rotation_confirms(truth: Truth, model: Reconstruction) -> None:
    assert is_confirmed(pairs_of(truth, 1, num_turned=0), model, MAX_ERROR_DEG)


def test_one_pair_with_another_rotation_confirms_if_nearly_all_its_matches_fit(
    truth: Truth, model: Reconstruction
) -> None:
    turned = pairs_of(truth, 1, num_turned=1)
    assert is_confirmed(turned, model, MAX_ERROR_DEG)
    assert not is_confirmed(with_wrong_matches(turned, 0.3), model, MAX_ERROR_DEG)


def test_two_pairs_confirm_by_most_of_their_matches(truth: Truth, model: Reconstruction) -> None:
    assert is_confirmed(pairs_of(truth, 2, num_turned=2), model, MAX_ERROR_DEG)


def test_pairs_that_disagree_and_no_pairs_confirm_nothing(truth: Truth, model: Reconstruction) -> None:
    wrong = make_matches_wrong(pairs_of(truth, 2, num_turned=2), np.ones(2, dtype=np.bool_))
    assert not is_confirmed(wrong, model, MAX_ERROR_DEG)
    assert not is_confirmed(pairs_of(truth, 0, num_turned=0), model, MAX_ERROR_DEG)


def placed_off(model: Reconstruction, angle_deg: float) -> Reconstruction:
    """The model with one camera led around the middle of the scene, still looking at it: a step of a bent chain."""
    turn = Rotation.from_rotvec([0, np.radians(angle_deg), 0]).as_matrix()
    cam_from_world = model.poses.cam_from_world
    rotation, translation = cam_from_world.rotation.copy(), cam_from_world.translation
    rotation[IMAGE] = rotation[IMAGE] @ turn
    return replace(model, poses=Poses.of_all(Rigid.from_matrix(rotation, translation)))


def test_cameras_where_they_are_feel_no_strain(truth: Truth, model: Reconstruction) -> None:
    assert strain(pairs_of(truth, 5, num_turned=0), model, max_rotation_deg=0.0) == pytest.approx(1.0, abs=0.3)


def test_a_camera_that_is_led_astray_feels_strain_unless_pairs_agree_to_its_angle(
    truth: Truth, model: Reconstruction
) -> None:
    own, astray = pairs_of(truth, 5, num_turned=0), placed_off(model, 8.0)
    assert strain(own, astray, max_rotation_deg=5.0) > 10.0
    assert strain(own, astray, max_rotation_deg=10.0) == 0.0


def test_a_third_of_the_pairs_may_speak_for_a_place(truth: Truth, model: Reconstruction) -> None:
    """Most pairs of an image can be wrong: two of five agree here, and the others contradict."""
    own, astray = pairs_of(truth, 5, num_turned=0), placed_off(model, 8.0)
    (i, j), cam_from_world = own.view_graph.edge_index, astray.poses.cam_from_world
    measured = own.view_graph.cam_j_from_cam_i.rotation
    rotation = np.where(
        (np.arange(5) < 2)[:, None, None], (cam_from_world[j] @ cam_from_world[i].inverse()).rotation, measured
    )
    motion = Rigid.from_matrix(rotation, own.view_graph.cam_j_from_cam_i.translation)
    divided = replace(own, view_graph=replace(own.view_graph, cam_j_from_cam_i=motion))
    assert strain(divided, astray, max_rotation_deg=5.0) == 0.0


def test_pairs_whose_own_motions_fit_badly_ask_for_nothing(truth: Truth, model: Reconstruction) -> None:
    assert strain(pairs_of(truth, 5, num_turned=5), placed_off(model, 8.0), max_rotation_deg=5.0) < 1.0


def test_the_noise_of_a_model_is_no_strain(truth: Truth, model: Reconstruction) -> None:
    own, astray = pairs_of(truth, 5, num_turned=0), placed_off(model, 8.0)
    seen = Tracks(np.array([0, 2]), np.array([0, 1]), np.zeros(2, dtype=np.int64))
    grey = np.zeros((1, 3), dtype=np.uint8)
    noisy = Reconstruction(astray.images, astray.poses, np.zeros((1, 3)), seen, np.array([50.0]), grey)
    assert strain(own, noisy, max_rotation_deg=5.0) < strain(own, astray, max_rotation_deg=5.0) / 10


def test_without_pairs_there_is_no_strain_to_tell(truth: Truth, model: Reconstruction) -> None:
    assert np.isnan(strain(pairs_of(truth, 0, num_turned=0), model, max_rotation_deg=5.0))
