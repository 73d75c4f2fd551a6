"""Covisibility in closed form: two cameras and a few points whose answers are known by hand."""

from __future__ import annotations

from dataclasses import replace
from math import atan, pi, radians, tan

import pytest
import torch

from vgpa.train.covisibility import Views, find_covisibility, find_visible
from vgpa.train.layouts import Layout

HALF_WIDTH = tan(radians(30))


def two_cameras(first: tuple[float, ...], second: tuple[float, ...], points: list[tuple[float, ...]]) -> Layout:
    """Both cameras look along z at points whose normals point back at them."""
    point = torch.tensor([points])
    return Layout(
        centre=torch.tensor([[first, second]]),
        cam_from_world=torch.eye(3).expand(1, 2, 3, 3),
        half_size=torch.tensor([HALF_WIDTH, 0.75 * HALF_WIDTH]).expand(1, 2, 2),
        point=point,
        normal=torch.tensor([0.0, 0.0, -1.0]).expand_as(point),
        max_range=torch.full((1, 2), 50.0),
        num_features=torch.tensor([100.0]),
        matchable_rad=torch.tensor([radians(35)]),
    )


def test_a_point_is_seen_inside_the_picture_near_enough_and_from_its_front() -> None:
    points = [(0.0, 0.0, 10.0), (7.0, 0.0, 10.0), (0.0, 5.0, 10.0), (0.0, 0.0, -5.0), (0.0, 0.0, 60.0)]
    visible = find_visible(two_cameras((0.0, 0.0, 0.0), (0.0, 0.0, 12.0), points))
    assert visible[0, 0].tolist() == [1, 0, 0, 0, 0]
    assert visible[0, 1].tolist() == [0, 0, 0, 0, 1], "48 m away and in front"


def test_a_point_is_not_seen_from_behind() -> None:
    layout = two_cameras((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), [(0.0, 0.0, 10.0)])
    assert find_visible(layout).sum() == 2
    assert find_visible(replace(layout, normal=-layout.normal)).sum() == 0


def test_equal_photos_share_everything_and_parallax_is_the_angle_between_views() -> None:
    points = [(x, 0.0, 10.0) for x in (-1.0, 0.0, 1.0, 2.0, -2.0)]
    same = two_cameras((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), points)
    views = Views(same.centre, same.half_size, find_visible(same))
    pairs = find_covisibility(same, views, views)
    torch.testing.assert_close(pairs.num_shared, torch.full((1, 2, 2), 100.0))
    torch.testing.assert_close(pairs.parallax_rad, torch.zeros(1, 2, 2), atol=1e-3, rtol=0)
    torch.testing.assert_close(pairs.distance, torch.full((1, 2, 2), 10.0))

    apart = two_cameras((-1.0, 0.0, 0.0), (1.0, 0.0, 0.0), points)
    views = Views(apart.centre, apart.half_size, views.visible)
    pairs = find_covisibility(apart, views, views)
    assert float(pairs.parallax_rad[0, 0, 1]) == pytest.approx(2 * atan(0.1), abs=1e-4)
    assert 80 < float(pairs.num_shared[0, 0, 1]) < 100


def test_nothing_in_common_means_nothing_shared() -> None:
    layout = two_cameras((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), [(0.0, 0.0, 10.0)] * 8)
    visible = torch.tensor([[[1.0] * 4 + [0.0] * 4, [0.0] * 4 + [1.0] * 4]])
    views = Views(layout.centre, layout.half_size, visible)
    pairs = find_covisibility(layout, views, views)
    assert pairs.num_shared[0, 0, 1] == 0
    assert (pairs.parallax_rad <= pi).all()
