"""Laws of the light: a closed form in the open, shadow behind a block, a sunny and a shady side."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from vgpa.demo import light
from vgpa.demo.paints import planks
from vgpa.demo.plan import Plan

GREY = planks((0.5, 0.5, 0.5))
BLOCK_M = 4.0  # high


@pytest.fixture(scope="module")
def lit() -> list[npt.NDArray[np.float32]]:
    """The light on a floor, 40 m wide, and on the front, right, back, left and top of a block in its middle.

    The front of the block faces the sun, and the floor is seen along the same axes: the sun stands at -y.
    """
    plan = Plan(texels_per_m=12.0).at(0, 0, 0, light.SUN_BEARING_DEG + 90.0)
    plan.face([(-20, -20, 0), (20, -20, 0), (20, 20, 0), (-20, 20, 0)], GREY)
    plan.block((-1.5, -0.5, 0), (1.5, 0.5, BLOCK_M), GREY)
    white = [np.ones((3, *surface.shape), dtype=np.float32) for surface in plan.surfaces]
    return light.light_pictures(plan, white)


def floor_at(lit: list[npt.NDArray[np.float32]], x: float, y: float) -> npt.NDArray[np.float32]:
    return lit[0][:, int((y + 20.0) * 12.0), int((x + 20.0) * 12.0)]


def test_open_ground_receives_the_sun_the_whole_sky_and_the_bounce(lit: list[npt.NDArray[np.float32]]) -> None:
    sun = light.SUN_COLOUR * np.sin(np.deg2rad(light.SUN_ELEVATION_DEG))
    sky = light.SKY_COLOUR  # all of an even hemisphere, weighted by the cosine
    expected = sun + sky + 0.6 * light.BOUNCE_COLOUR
    np.testing.assert_allclose(floor_at(lit, 15.0, -15.0), expected, atol=0.03)
    np.testing.assert_allclose(lit[5][:, 6, 18], expected, atol=0.03, err_msg="the top of the block")


def test_the_shadow_is_as_long_as_the_sun_is_low(lit: list[npt.NDArray[np.float32]]) -> None:
    length_m = BLOCK_M / np.tan(np.deg2rad(light.SUN_ELEVATION_DEG))
    drop = light.SUN_COLOUR * np.sin(np.deg2rad(light.SUN_ELEVATION_DEG))
    open_ground = floor_at(lit, 15.0, -15.0)
    in_shadow, beyond = floor_at(lit, 0.0, length_m - 0.2), floor_at(lit, 0.0, 0.5 + length_m + 0.7)
    assert (in_shadow < open_ground - 0.9 * drop).all(), "no shadow"
    assert (beyond > open_ground - 0.4 * drop).all(), "the shadow is too long"
    assert (floor_at(lit, 4.0, 2.0) > open_ground - 0.4 * drop).all(), "the shadow is too wide"


def test_the_sunny_side_is_brighter_and_warmer_than_the_shady_one(lit: list[npt.NDArray[np.float32]]) -> None:
    front, back = (picture.mean(axis=(1, 2)) for picture in (lit[1], lit[3]))
    assert (front > back + 0.2).all()
    assert front[0] / front[2] > back[0] / back[2]


def test_what_is_not_lit_keeps_its_colours() -> None:
    plan = Plan(texels_per_m=6.0)
    plan.block((0, 0, 0), (1, 1, 1), GREY)
    plan.face([(5, 0, 0), (9, 0, 0), (9, 0, 4), (5, 0, 4)], GREY, is_lit=False)
    pictures = [np.full((3, *surface.shape), 0.4, dtype=np.float32) for surface in plan.surfaces]
    np.testing.assert_array_equal(light.light_pictures(plan, pictures)[-1], pictures[-1])
