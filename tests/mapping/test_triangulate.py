"""Triangulating tracks: exact on exact data, and every kind of bad observation is dropped for its own reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.synthetic import make_problem
from vgpa.config import GraphConfig
from vgpa.frontend.tracks import build_tracks
from vgpa.geometry.rigid import Rigid
from vgpa.mapping.triangulate import PointFilter, triangulate
from vgpa.scene import Poses

TRUTH = make_problem(8, 50)
TRACKS = build_tracks(TRUTH.problem, GraphConfig())
POSES = Poses.of_all(TRUTH.cam_from_world)
WANTED = PointFilter(max_error_px=4.0, min_angle_deg=1.0, min_num_views=2)


def test_exact_tracks_give_exact_points() -> None:
    points = triangulate(TRUTH.problem.images, POSES, TRUTH.problem.keypoints, TRACKS, WANTED)
    np.testing.assert_allclose(points.xyz, TRUTH.xyz, atol=1e-6)
    assert points.error_px.max() < 1e-3


def test_one_bad_observation_goes_and_its_point_stays() -> None:
    xy_px = TRUTH.problem.keypoints.xy_px.copy()
    xy_px[7] += 60
    keypoints = replace(TRUTH.problem.keypoints, xy_px=xy_px)
    wanted = replace(WANTED, max_error_px=30.0)
    points = triangulate(TRUTH.problem.images, POSES, keypoints, TRACKS, wanted)
    assert len(points.xyz) == 50
    assert points.tracks.lengths[7] == 7
    np.testing.assert_allclose(points.xyz[7], TRUTH.xyz[7], atol=1e-6)


def test_unknown_poses_are_not_used() -> None:
    known = np.arange(8) < 5
    points = triangulate(TRUTH.problem.images, POSES.keep(known), TRUTH.problem.keypoints, TRACKS, WANTED)
    assert known[points.tracks.image_idx].all()
    np.testing.assert_allclose(points.xyz, TRUTH.xyz, atol=1e-5)


def test_points_behind_their_cameras_are_dropped() -> None:
    # Cameras turned about their own vertical axis see the mirror images of their rays meet behind them.
    turned = Rigid.from_centre(np.diag([-1.0, 1, -1]) @ TRUTH.cam_from_world.rotation, TRUTH.cam_from_world.centre)
    points = triangulate(TRUTH.problem.images, Poses.of_all(turned), TRUTH.problem.keypoints, TRACKS, WANTED)
    assert len(points.xyz) == 0


def test_points_without_parallax_are_dropped() -> None:
    centre = TRUTH.cam_from_world.centre[:1] + 1e-4 * np.random.default_rng(0).normal(size=(8, 3))
    cams = Rigid.from_centre(np.repeat(TRUTH.cam_from_world.rotation[:1], 8, axis=0), centre)
    in_cam = np.einsum("nij,pj->npi", cams.rotation, TRUTH.xyz) + cams.translation[:, None]
    xy_px = 800 * in_cam[..., :2] / in_cam[..., 2:] + (500, 400)
    keypoints = replace(TRUTH.problem.keypoints, xy_px=xy_px.reshape(-1, 2))
    points = triangulate(TRUTH.problem.images, Poses.of_all(cams), keypoints, TRACKS, WANTED)
    assert len(points.xyz) == 0
