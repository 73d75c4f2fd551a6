"""Coarse rounds pull in poses that are off, and never make a start worse than it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.synthetic import Truth, make_problem
from vgpa import config as presets
from vgpa.config import BundleRound
from vgpa.evaluate.scores import score_poses
from vgpa.frontend.tracks import build_tracks
from vgpa.geometry.rigid import Rigid
from vgpa.mapping.coarse import coarse_rounds, run_coarse_rounds
from vgpa.mapping.one_round import Given, model_of
from vgpa.mapping.triangulate import Points
from vgpa.scene import Poses, Reconstruction, Tracks

NUM = 8


@pytest.fixture(scope="module")
def truth() -> Truth:
    return make_problem(NUM, 200, noise_px=0.3)


def given_of(truth: Truth, part_wrong: float = 0.0) -> Given:
    """What rounds are given, where some tracks show another place in every image."""
    config = presets.default()
    mapping = replace(config.mapping, fix_intrinsics=True)
    xy_px = truth.problem.keypoints.xy_px.copy()
    is_wrong = np.arange(len(xy_px)) % 200 < part_wrong * 200
    xy_px[is_wrong] = np.random.default_rng(0).uniform([0, 0], [1000, 800], (is_wrong.sum(), 2))
    keypoints = replace(truth.problem.keypoints, xy_px=xy_px)
    return Given(truth.problem.images, keypoints, build_tracks(truth.problem, config.graph), mapping, 1)


def start_of(truth: Truth, angle_deg: float) -> Reconstruction:
    """Every camera turned by some angle about an axis of its own; no points yet."""
    axes = np.random.default_rng(1).normal(size=(NUM, 3))
    turn = Rotation.from_rotvec(np.radians(angle_deg) * axes / np.linalg.norm(axes, axis=1, keepdims=True))
    true = truth.cam_from_world
    poses = Rigid.from_centre(turn.as_matrix() @ true.rotation, true.centre)
    return model_of(truth.problem.images, Poses.of_all(poses), Points(np.zeros((0, 3)), Tracks.empty(), np.zeros(0)))


def off_deg(model: Reconstruction, truth: Truth) -> float:
    return score_poses(model.poses.cam_from_world, truth.cam_from_world, NUM).rotation_mean_deg


def test_poses_that_are_off_are_pulled_in(truth: Truth) -> None:
    given, start = given_of(truth), start_of(truth, 5.0)
    coarse = coarse_rounds(start, given)
    assert coarse
    assert off_deg(run_coarse_rounds(start, given, coarse, 9), truth) < 0.3 < off_deg(start, truth)


def test_good_poses_need_none(truth: Truth) -> None:
    assert not coarse_rounds(start_of(truth, 0.0), given_of(truth))


def test_good_poses_stay_where_wrong_tracks_would_lead_them_away(truth: Truth) -> None:
    """A loss without an end follows whatever is furthest off."""
    given, start = given_of(truth, part_wrong=0.6), start_of(truth, 0.0)
    astray = BundleRound(1e6, "huber", 1e6, 1e-6, 50, refine_intrinsics=False)
    assert run_coarse_rounds(start, given, [astray], 9) is start


def test_a_round_that_leaves_nothing_leaves_the_start(truth: Truth) -> None:
    given, start = given_of(truth), start_of(truth, 0.0)
    blind = BundleRound(1e-9, "huber", 1.0, 1e-3, 5, refine_intrinsics=False)
    assert run_coarse_rounds(start, given, [blind], 9) is start


def test_a_round_is_left_out_where_those_before_it_did_its_work(truth: Truth) -> None:
    """After the first, errors are far below what a second one of the same width is for; it would leave nothing."""
    given, start = given_of(truth), start_of(truth, 5.0)
    first = coarse_rounds(start, given)[0]
    after_one = run_coarse_rounds(start, given, [first], 9)
    blind = replace(first, max_error_px=1e-9)
    after_both = run_coarse_rounds(start, given, [first, blind], 9)
    assert np.array_equal(after_both.poses.cam_from_world.translation, after_one.poses.cam_from_world.translation)
