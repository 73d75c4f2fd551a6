"""A model that wins images keeps what it had, and hands out only observations that fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.mapping.built import build_model
from tests.synthetic import Truth, make_problem
from vgpa import config as presets
from vgpa.config import Config, GraphConfig
from vgpa.frontend.tracks import build_tracks
from vgpa.geometry.rigid import Rigid
from vgpa.mapping.extend import extend_model, links_to_points
from vgpa.mapping.triangulate import observation_errors_px
from vgpa.scene import Poses, Reconstruction

NUM_IMAGES, NUM_POINTS = 9, 120
LOST = np.arange(NUM_IMAGES) >= 6


@pytest.fixture(scope="module")
def config() -> Config:
    fixed = presets.default()
    return replace(fixed, mapping=replace(fixed.mapping, fix_intrinsics=True), num_threads=1)


@pytest.fixture(scope="module")
def truth() -> Truth:
    return make_problem(NUM_IMAGES, NUM_POINTS, noise_px=0.4, seed=4)


@pytest.fixture(scope="module")
def partial(truth: Truth, config: Config) -> Reconstruction:
    """A model of the first six images, in which the last forty points are missing."""
    problem = truth.problem
    tracks = build_tracks(problem, GraphConfig())
    poses = Poses.of_all(truth.cam_from_world).keep(~LOST)
    known = tracks.select(np.arange(len(tracks)) < NUM_POINTS - 40)
    return build_model(problem.images, poses, problem.keypoints, known, config.mapping)


def roughly(truth: Truth, partial: Reconstruction) -> Poses:
    """The model's poses, and those of the lost images with errors of a few pixels."""
    rng = np.random.default_rng(5)
    centre = truth.cam_from_world.centre + np.where(LOST[:, None], rng.normal(size=(NUM_IMAGES, 3)) * 0.02, 0)
    rough = Rigid.from_centre(truth.cam_from_world.rotation, centre)
    own = partial.poses.cam_from_world
    return Poses.of_all(
        Rigid(
            np.where(LOST[:, None], rough.quaternion_wxyz, own.quaternion_wxyz),
            np.where(LOST[:, None], rough.translation, own.translation),
        )
    )


@pytest.fixture(scope="module")
def extended(truth: Truth, partial: Reconstruction, config: Config) -> Reconstruction:
    return extend_model(truth.problem, partial, roughly(truth, partial), config)


def test_new_images_settle_and_old_ones_stay(truth: Truth, partial: Reconstruction, extended: Reconstruction) -> None:
    assert extended.num_registered == NUM_IMAGES
    old, new = partial.poses.cam_from_world, extended.poses.cam_from_world
    np.testing.assert_array_equal(new.translation[~LOST], old.translation[~LOST])
    np.testing.assert_allclose(new.rotation[LOST], truth.cam_from_world.rotation[LOST], atol=2e-3)


def test_points_stay_and_are_seen_by_the_new_images(partial: Reconstruction, extended: Reconstruction) -> None:
    num = partial.num_points
    np.testing.assert_array_equal(extended.xyz[:num], partial.xyz)
    assert (extended.tracks.lengths[:num] == partial.tracks.lengths + LOST.sum()).mean() > 0.9


def test_what_no_point_explained_becomes_points(partial: Reconstruction, extended: Reconstruction) -> None:
    assert 38 <= extended.num_points - partial.num_points <= 40


def test_observations_fit_and_none_is_doubled(truth: Truth, extended: Reconstruction, config: Config) -> None:
    tracks = extended.tracks
    error = observation_errors_px(extended.images, extended.poses, truth.problem.keypoints, tracks, extended.xyz)
    assert error.max() <= config.mapping.rounds[-1].max_error_px
    for key in (tracks.keypoint_idx, tracks.track_idx):
        assert len(np.unique(np.stack([tracks.image_idx, key]), axis=1).T) == tracks.num_observations
    mean = np.bincount(tracks.track_idx, error, len(tracks)) / tracks.lengths
    np.testing.assert_allclose(extended.error_px, mean, atol=1e-6)


def test_wrong_matches_to_points_are_left_out(truth: Truth, partial: Reconstruction, config: Config) -> None:
    """Image 8 has a fifth of its keypoints in arbitrary places."""
    rng = np.random.default_rng(6)
    wrong = truth.problem.keypoints.offsets[8] + rng.permutation(NUM_POINTS)[: NUM_POINTS // 5]
    xy_px = truth.problem.keypoints.xy_px.copy()
    xy_px[wrong] = rng.uniform([0, 0], [1000, 800], (len(wrong), 2))
    problem = replace(truth.problem, keypoints=replace(truth.problem.keypoints, xy_px=xy_px))
    extended = extend_model(problem, partial, roughly(truth, partial), config)
    used = problem.keypoints.offsets[extended.tracks.image_idx] + extended.tracks.keypoint_idx
    assert np.isin(used, wrong).sum() <= 1


def test_an_image_that_sees_too_little_is_not_added(truth: Truth, partial: Reconstruction, config: Config) -> None:
    elsewhere = roughly(truth, partial)
    translation = elsewhere.cam_from_world.translation.copy()
    translation[8] += 50.0
    far = replace(elsewhere, cam_from_world=replace(elsewhere.cam_from_world, translation=translation))
    extended = extend_model(truth.problem, partial, far, config)
    np.testing.assert_array_equal(extended.poses.is_known, np.arange(NUM_IMAGES) != 8)
    assert 8 not in extended.tracks.image_idx


def test_nothing_new_changes_nothing(truth: Truth, partial: Reconstruction, config: Config) -> None:
    assert extend_model(truth.problem, partial, partial.poses, config) is partial


def test_links_name_the_point_that_a_keypoint_shows(truth: Truth, partial: Reconstruction) -> None:
    image, keypoint, point = links_to_points(truth.problem, partial)
    assert set(image) == set(np.flatnonzero(LOST))
    # Keypoint k of every image shows true point k.
    number = keypoint - truth.problem.keypoints.offsets[image]
    np.testing.assert_allclose(partial.xyz[point], truth.xyz[number], atol=0.1)
