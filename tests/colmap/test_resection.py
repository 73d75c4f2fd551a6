"""The pose of one image: found with its lens where nobody knows it, and with the given one where somebody does."""

from __future__ import annotations

import numpy as np
import pytest

from vgpa.colmap.cameras import mean_focal_px, with_focal
from vgpa.colmap.resection import Sight, resect
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, exp_map, rotation_angle_rad
from vgpa.scene import Camera, FocalSource

GUESS = Camera("SIMPLE_RADIAL", 1000, 800, np.array([1200.0, 500.0, 400.0, 0.0]), FocalSource.GUESS)
CAM_FROM_WORLD = Rigid.from_centre(exp_map(np.array([0.1, -0.2, 0.3])), np.array([0.3, -0.2, 0.1]))
NUM, NUM_WRONG = 100, 40


def look(focal_px: float, depth: tuple[float, float], seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Pixels and points of a scene between two depths, all in view; some of the matches are wrong."""
    rng = np.random.default_rng(seed)
    xy_px = rng.uniform([50, 50], [950, 750], (NUM, 2))
    ray = np.column_stack([(xy_px - [500, 400]) / focal_px, np.ones(NUM)])
    xyz = CAM_FROM_WORLD.inverse().apply(ray * rng.uniform(*depth, NUM)[:, None])
    xy_px += rng.normal(0, 0.5, xy_px.shape)
    xy_px[:NUM_WRONG] = rng.uniform([0, 0], [1000, 800], (NUM_WRONG, 2))
    return xy_px, xyz


@pytest.mark.parametrize("focal_px", [600.0, 1200.0, 3000.0, 6000.0])
def test_an_unknown_lens_is_found_with_the_pose(focal_px: float) -> None:
    xy_px, xyz = look(focal_px, (5, 9))
    (answer,) = resect([Sight(GUESS, xy_px, xyz, is_focal_free=True)], 8.0)
    assert answer is not None
    assert answer.num_inliers >= NUM - NUM_WRONG
    assert mean_focal_px(answer.camera) == pytest.approx(focal_px, rel=0.03)
    assert rotation_angle_rad(answer.cam_from_world.rotation, CAM_FROM_WORLD.rotation) < 0.01


@pytest.mark.parametrize("seed", range(4))
def test_points_at_one_distance_place_an_image_whatever_its_lens(seed: int) -> None:
    """They hardly tell the focal length, but nearly all matches must agree with what is found."""
    (answer,) = resect([Sight(GUESS, *look(6000.0, (20, 20.2), seed), is_focal_free=True)], 8.0)
    assert answer is not None
    assert answer.num_inliers >= 0.9 * (NUM - NUM_WRONG)


def test_a_known_lens_stays() -> None:
    known = with_focal(GUESS, 3000.0)
    (answer,) = resect([Sight(known, *look(3000.0, (5, 9)))], 8.0)
    assert answer is not None
    assert answer.camera is known
    np.testing.assert_allclose(answer.cam_from_world.centre, CAM_FROM_WORLD.centre, atol=0.1)


def test_matches_that_agree_with_nothing_place_nobody() -> None:
    rng = np.random.default_rng(0)
    sight = Sight(GUESS, rng.uniform(0, 800, (40, 2)), rng.uniform(-1, 1, (40, 3)), is_focal_free=True)
    (answer,) = resect([sight], 2.0)
    assert answer is None or answer.num_inliers < 12


def test_threads_change_nothing() -> None:
    sights = [Sight(GUESS, *look(focal_px, (5, 9)), is_focal_free=True) for focal_px in (600.0, 1200.0, 3000.0)] * 3
    alone = [resect([sight], 8.0)[0] for sight in sights]
    for one, other in zip(alone, resect(sights, 8.0, num_threads=3), strict=True):
        assert one is not None
        assert other is not None
        assert one.num_inliers == other.num_inliers
        np.testing.assert_array_equal(one.cam_from_world.matrix, other.cam_from_world.matrix)
