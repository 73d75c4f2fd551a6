"""Places are well formed, and their cameras see them."""

from __future__ import annotations

import pytest
import torch

from vgpa.train.covisibility import find_visible
from vgpa.train.draw import Draw
from vgpa.train.kinds import KINDS
from vgpa.train.layouts import Layout, hold_level

PLACE = torch.arange(40) / torch.tensor([[40.0], [25.0], [10.0]])


def layout_of(kind: str, seed: int = 0) -> Layout:
    return KINDS[kind].make(Draw(torch.Generator().manual_seed(seed)), PLACE, 300)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_place(kind: str) -> None:
    layout = layout_of(kind)
    assert layout.centre.shape == (3, 40, 3)
    assert layout.half_size.shape == (3, 40, 2)
    assert layout.point.shape == (3, 300, 3)
    assert layout.max_range.shape == (3, 40)
    assert layout.num_features.shape == layout.matchable_rad.shape == (3,)
    torch.testing.assert_close(layout.normal.norm(dim=-1), torch.ones(3, 300))
    turned = layout.cam_from_world @ layout.cam_from_world.mT
    torch.testing.assert_close(turned, torch.eye(3).expand_as(turned), atol=1e-5, rtol=0)
    torch.testing.assert_close(torch.linalg.det(layout.cam_from_world), torch.ones(3, 40))
    assert find_visible(layout).sum(-1)[0].median() >= 5, "most photos show something"


@pytest.mark.parametrize("kind", ["around", "turntable", "orbit"])
def test_what_is_seen_from_all_around_is_in_the_middle(kind: str) -> None:
    layout = layout_of(kind)
    inward = -(layout.centre * layout.cam_from_world[..., 2, :]).sum(-1) / layout.centre.norm(dim=-1)
    assert inward.median() > 0.9


def test_a_loop_ends_where_it_began() -> None:
    place = torch.arange(100)[None] / 100
    layout = KINDS["loop"].make(Draw(torch.Generator().manual_seed(1)), place, 10)
    centre = layout.centre[0]
    length = (centre[1:] - centre[:-1]).norm(dim=-1).sum()
    assert (centre[-1] - centre[0]).norm() < 0.1 * length


def test_most_photos_are_upright_and_some_are_portrait() -> None:
    draw = Draw(torch.Generator().manual_seed(1))
    forward = torch.nn.functional.normalize(draw.normal(1.0, 1, 2000, 3) * torch.tensor([1.0, 1.0, 0.1]), dim=-1)
    right, down, ahead = hold_level(draw, forward).unbind(-2)
    torch.testing.assert_close(ahead, forward, atol=1e-5, rtol=0)
    is_portrait = right[..., 2].abs() > 0.7
    assert 0.08 < is_portrait.float().mean() < 0.16
    assert (down[..., 2] < -0.7).float().mean() > 0.8
