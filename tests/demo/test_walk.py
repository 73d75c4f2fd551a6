"""Laws of the walk: proper cameras that look in, on a closed loop of even steps."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vgpa.demo.walk import loop_cameras

walks = {"num_views": st.integers(24, 40), "seed": st.integers(0, 1000)}


@given(**walks)
@settings(max_examples=30, deadline=None)
def test_cameras_are_proper_rotations_that_look_at_the_square(num_views: int, seed: int) -> None:
    cameras = loop_cameras(num_views, seed)
    identity = np.broadcast_to(np.eye(3), (num_views, 3, 3))
    np.testing.assert_allclose(cameras.rotation @ cameras.rotation.transpose(0, 2, 1), identity, atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(cameras.rotation), 1.0)
    fountain_cam = cameras.rotation @ (0.0, 0.0, 2.0) + cameras.translation
    pixel = fountain_cam @ cameras.pixel_from_cam.T
    pixel = pixel[:, :2] / pixel[:, 2:]
    assert (fountain_cam[:, 2] > 20.0).all(), "the fountain lies ahead"
    assert (np.abs(pixel - (600.0, 400.0)) < (200.0, 250.0)).all(), "and near the middle of the photo"
    up_in_cam = cameras.rotation[:, :, 2]
    assert (up_in_cam[:, 1] < -0.9).all(), "photos are upright"
    assert (np.abs(np.rad2deg(np.arctan2(up_in_cam[:, 0], -up_in_cam[:, 1]))) < 2.0).all(), "with a small roll"


@given(**walks)
@settings(max_examples=30, deadline=None)
def test_the_walk_is_a_closed_loop_of_even_steps(num_views: int, seed: int) -> None:
    cameras = loop_cameras(num_views, seed)
    centre = -np.einsum("nji,nj->ni", cameras.rotation, cameras.translation)
    step_m = np.linalg.norm(np.roll(centre, -1, axis=0) - centre, axis=1)
    assert step_m.max() < 1.6 * np.median(step_m)
    bearing_rad = np.unwrap(np.arctan2(centre[:, 1], centre[:, 0]))
    assert (np.diff(bearing_rad) > 0.0).all()


def test_cameras_repeat_by_seed() -> None:
    np.testing.assert_array_equal(loop_cameras(32, 5).rotation, loop_cameras(32, 5).rotation)
    assert (loop_cameras(32, 5).rotation != loop_cameras(32, 6).rotation).any()
