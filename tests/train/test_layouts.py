"""Places are well formed, and their cameras see them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from vgpa.train.covisibility import draw_fov, find_visible, hold_cameras
from vgpa.train.draw import Draw
from vgpa.train.layouts import KINDS, Layout


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_every_kind_of_place(make: Callable[..., Layout]) -> None:
    draw = Draw(torch.Generator().manual_seed(0))
    place = torch.arange(40) / torch.tensor([[40.0], [25.0], [10.0]])
    layout = make(draw, place, 300)
    assert layout.centre.shape == (3, 40, 3)
    assert layout.point.shape == (3, 300, 3)
    assert layout.max_range.shape == (3,)
    for unit in (layout.forward, layout.up_hint, layout.normal):
        torch.testing.assert_close(unit.norm(dim=-1), torch.ones(unit.shape[:2]))
    assert torch.linalg.cross(layout.forward, layout.up_hint).norm(dim=-1).min() > 0.05

    cam_from_world = hold_cameras(draw, layout)
    identity = torch.eye(3).expand_as(cam_from_world)
    torch.testing.assert_close(cam_from_world @ cam_from_world.mT, identity, atol=1e-5, rtol=0)
    torch.testing.assert_close(cam_from_world[..., 2, :], layout.forward, atol=1e-5, rtol=0)
    seen = find_visible(layout, cam_from_world, draw_fov(draw, 3, 40)).sum(-1)
    assert seen[0].median() >= 5, "most photos show something"


def test_most_photos_are_upright_and_some_are_portrait() -> None:
    draw = Draw(torch.Generator().manual_seed(1))
    layout = KINDS[0](draw, torch.arange(2000)[None] / 2000, 1)
    right, down, _ = hold_cameras(draw, layout).unbind(-2)
    is_portrait = right[..., 2].abs() > 0.7
    assert 0.08 < is_portrait.float().mean() < 0.16
    assert (down[..., 2] < -0.7).float().mean() > 0.8
