"""Repeated structure: seeming poses follow one rigid motion per world."""

from __future__ import annotations

import torch

from vgpa.train.covisibility import Views, find_visible
from vgpa.train.draw import Draw
from vgpa.train.kinds import KINDS
from vgpa.train.repeats import find_repeats


def test_all_photos_seem_to_be_moved_by_one_motion() -> None:
    draw = Draw(torch.Generator().manual_seed(0))
    layout = KINDS["around"].make(draw, torch.arange(30)[None].expand(4, -1) / 30, 300)
    views = Views(layout.centre, layout.half_size, find_visible(layout))
    repeats = find_repeats(draw, layout, views, torch.full((4, 1), 30))

    turn = repeats.cam_from_world.mT @ layout.cam_from_world
    torch.testing.assert_close(turn, turn[:, :1].expand_as(turn), atol=1e-4, rtol=0)
    shift = repeats.centre - (turn @ layout.centre[..., None]).squeeze(-1)
    torch.testing.assert_close(shift, shift[:, :1].expand_as(shift), atol=1e-3, rtol=0)
    assert turn[..., 2, 2].min() > 0.999, "up stays up"

    shares = repeats.pairs.num_shared.amax((1, 2)) > 0
    is_moved = (turn[:, 0] - torch.eye(3)).abs().amax((1, 2)) > 1e-3
    assert shares.sum() <= 2, "half of the worlds at most"
    assert (is_moved | ~shares).all(), "nothing is shared where nothing moves"
