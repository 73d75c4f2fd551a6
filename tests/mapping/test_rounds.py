"""Rounds of bundle adjustment: coarse poses become exact, bad matches and unsupported cameras go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.mapping.built import build_model
from tests.synthetic import Truth, make_problem
from vgpa import config as presets
from vgpa.config import GraphConfig
from vgpa.errors import NoModelError
from vgpa.evaluate.scores import score_poses
from vgpa.frontend.tracks import build_tracks
from vgpa.geometry.rigid import Rigid
from vgpa.mapping.cover import covering_tracks, well_supported_images
from vgpa.scene import Poses, Reconstruction, Tracks


def coarse(truth: Truth, angle_deg: float, distance: float) -> Poses:
    rng = np.random.default_rng(2)
    num = len(truth.cam_from_world)
    turn = Rotation.from_rotvec(rng.normal(size=(num, 3)) * np.radians(angle_deg)).as_matrix()
    centre = truth.cam_from_world.centre + rng.normal(size=(num, 3)) * distance
    return Poses.of_all(Rigid.from_centre(turn @ truth.cam_from_world.rotation, centre))


def solve(truth: Truth, poses: Poses, preset: str = "default") -> Reconstruction:
    tracks = build_tracks(truth.problem, GraphConfig())
    config = replace(presets.PRESETS[preset]().mapping, fix_intrinsics=True)
    return build_model(truth.problem.images, poses, truth.problem.keypoints, tracks, config)


@pytest.mark.parametrize("preset", ["default", "fast", "paper"])
def test_coarse_poses_become_exact(preset: str) -> None:
    truth = make_problem(10, 150, noise_px=0.5)
    model = solve(truth, coarse(truth, 1.0, 0.1), preset)
    scores = score_poses(model.poses.cam_from_world, truth.cam_from_world, 10)
    assert model.num_registered == 10
    assert scores.rotation_mean_deg < 0.05
    assert scores.auc[1] > 0.9


def test_a_preset_that_adjusts_a_subset_still_hands_out_every_point() -> None:
    truth = make_problem(6, 500, noise_px=0.3)
    assert solve(truth, Poses.of_all(truth.cam_from_world), "fast").num_points > 480


def test_a_lens_that_runs_away_is_held_as_given() -> None:
    """Pixels are 1.55 times as wide as given: that much no one is mistaken about them."""
    truth = make_problem(10, 150)
    xy_px = truth.problem.keypoints.xy_px.copy()
    camera = given = truth.problem.images.cameras[0]
    middle = camera.params[2]
    xy_px[:, 0] = middle + 1.55 * (xy_px[:, 0] - middle)
    problem = truth.problem
    tracks = build_tracks(problem, GraphConfig())
    config = presets.default().mapping
    model = build_model(
        problem.images.with_cameras((given,)),
        coarse(truth, 0.5, 0.05),
        replace(problem.keypoints, xy_px=xy_px),
        tracks,
        config,
    )
    assert model.num_registered == 10
    np.testing.assert_array_equal(model.images.cameras[0].params, given.params)


def test_bad_matches_are_left_out() -> None:
    truth = make_problem(10, 150, noise_px=0.3)
    xy_px = truth.problem.keypoints.xy_px.copy()
    rng = np.random.default_rng(3)
    bad = rng.permutation(len(xy_px))[: len(xy_px) // 10]
    xy_px[bad] = rng.uniform([0, 0], [1000, 800], (len(bad), 2))
    keypoints = replace(truth.problem.keypoints, xy_px=xy_px)
    spoiled = replace(truth, problem=replace(truth.problem, keypoints=keypoints))
    model = solve(spoiled, coarse(truth, 0.5, 0.05))
    scores = score_poses(model.poses.cam_from_world, truth.cam_from_world, 10)
    assert scores.rotation_mean_deg < 0.05
    used = keypoints.offsets[model.tracks.image_idx] + model.tracks.keypoint_idx
    assert np.isin(used, bad).mean() < 0.005


def test_a_camera_in_the_wrong_place_is_not_handed_out() -> None:
    truth = make_problem(10, 150, noise_px=0.3)
    poses = Poses.of_all(truth.cam_from_world)
    rotation = truth.cam_from_world.rotation.copy()
    rotation[4] = np.diag([-1.0, 1, -1]) @ rotation[4]
    model = solve(truth, replace(poses, cam_from_world=Rigid.from_centre(rotation, truth.cam_from_world.centre)))
    assert not model.poses.is_known[4]
    assert model.num_registered == 9


def test_a_principal_point_off_centre_is_found_when_the_images_tell() -> None:
    truth = make_problem(10, 300, noise_px=0.2)
    images, keypoints = truth.problem.images, truth.problem.keypoints
    shifted = replace(keypoints, xy_px=keypoints.xy_px + np.array([12.0, -9.0]))
    tracks = build_tracks(truth.problem, GraphConfig())
    poses = Poses.of_all(truth.cam_from_world)
    config = presets.default().mapping
    free = build_model(images, poses, shifted, tracks, config)
    held = build_model(images, poses, shifted, tracks, replace(config, fix_intrinsics=True))
    np.testing.assert_allclose(free.images.cameras[0].params[2:], [512, 391], atol=1.0)
    np.testing.assert_allclose(held.images.cameras[0].params[2:], [500, 400])


def test_a_centred_principal_point_is_left_alone() -> None:
    truth = make_problem(10, 300, noise_px=0.5)
    tracks = build_tracks(truth.problem, GraphConfig())
    poses = Poses.of_all(truth.cam_from_world)
    config = presets.default().mapping
    model = build_model(truth.problem.images, poses, truth.problem.keypoints, tracks, config)
    np.testing.assert_array_equal(model.images.cameras[0].params[2:], [500, 400])


def test_nothing_to_build_is_said_so() -> None:
    truth = make_problem(4, 5)
    with pytest.raises(NoModelError, match="share enough points"):
        solve(truth, Poses.of_all(truth.cam_from_world))


def test_cover_gives_every_image_its_longest_tracks() -> None:
    truth = make_problem(6, 60)
    tracks = build_tracks(truth.problem, GraphConfig())
    keep = np.random.default_rng(4).random(tracks.num_observations) < 0.5
    tracks = tracks.select_observations(keep)
    chosen = covering_tracks(tracks, 5)
    seen = tracks.select(chosen)
    wanted = np.minimum(np.bincount(tracks.image_idx, minlength=6), 5)
    assert (np.bincount(seen.image_idx, minlength=6) >= wanted).all()
    assert chosen.sum() <= 30
    assert tracks.lengths[chosen].mean() > tracks.lengths[~chosen].mean()


def test_support_keeps_the_largest_connected_core() -> None:
    # Images 0-3 share 12 points, images 4-5 share 12 others, image 6 sees one.
    image_idx = np.concatenate([np.tile([0, 1, 2, 3], 12), np.tile([4, 5], 12), [0, 6]])
    lengths = [4] * 12 + [2] * 12 + [2]
    tracks = Tracks(np.concatenate([[0], np.cumsum(lengths)]), image_idx, np.arange(len(image_idx)))
    np.testing.assert_array_equal(well_supported_images(tracks, 7, 10), [True, True, True, True, False, False, False])
    assert not well_supported_images(tracks, 7, 100).any()
