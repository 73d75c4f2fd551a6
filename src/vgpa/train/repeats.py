"""Repeated structure: one part of a world looks like another, and photos are matched to the wrong one.

"What camera k sees looks like what camera m sees": the rigid motion that carries k to m (about the vertical) carries
every photo to where a matcher may believe it to be. All mistakes of a world follow the same motion, so they agree with
each other, as the mistakes that twin facades, towers and windows cause do.

Touches nothing but torch and `vgpa.geometry`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import radians

import torch
from torch import Tensor

from vgpa.geometry.torch_rotation import exp_map
from vgpa.train.covisibility import Covisibility, Views, find_covisibility, find_visible
from vgpa.train.draw import Draw
from vgpa.train.layouts import Layout

_LEAST_TURN_RAD = radians(25)
_LEAST_SHIFT = 0.5
"""Part of the spread of the cameras that another place is away at least."""
_ALIKE = (0.05, 0.7)
"""Part of the features that two places that look alike have in common, from and to."""


@dataclass(frozen=True)
class Repeats:
    """Where photos seem to be, and what they then share."""

    pairs: Covisibility  # of photo i as it is and photo j as it seems, (B, N, N)
    centre: Tensor  # (B, N, 3) where photos seem to be
    cam_from_world: Tensor  # (B, N, 3, 3)


def find_repeats(draw: Draw, layout: Layout, views: Views, num_cams: Tensor) -> Repeats:
    """Repeated structure in half of the worlds; nothing is shared in the others.

    Args:
        num_cams: (B, 1) cameras that exist.
    """
    b = len(layout.centre)
    # Which worlds repeat themselves is random; how many is not, so nothing needs to be read back from the device.
    chosen = draw.uniform(0, 1, b).argsort()[: (b + 1) // 2]
    here = layout.pick(chosen)
    seeming, is_elsewhere = _carry(draw, here, num_cams[chosen])
    exists = views.visible[chosen].any(-1, keepdim=True)
    seen = Views(seeming.centre, seeming.half_size, find_visible(seeming) * exists)
    pairs = find_covisibility(here, Views(here.centre, here.half_size, views.visible[chosen]), seen)
    alike = draw.log_uniform(*_ALIKE, len(chosen), 1, 1) * is_elsewhere[..., None]
    return Repeats(
        Covisibility(
            _spread(pairs.num_shared * alike, chosen, b),
            _spread(pairs.parallax_rad, chosen, b),
            _spread(pairs.distance, chosen, b),
        ),
        layout.centre.index_copy(0, chosen, seeming.centre),
        layout.cam_from_world.index_copy(0, chosen, seeming.cam_from_world),
    )


def _carry(draw: Draw, layout: Layout, num_cams: Tensor) -> tuple[Layout, Tensor]:
    """All cameras carried by the motion of one camera to another, and whether (B, 1) that is far enough to matter."""
    b = len(layout.centre)
    k, m = ((draw.uniform(0, 1, b, 1) * num_cams).long() for _ in range(2))
    centre_k, centre_m = (layout.centre.gather(1, x[..., None].expand(b, 1, 3)) for x in (k, m))
    forward = layout.cam_from_world[..., 2, :]
    yaw = torch.atan2(forward[..., 1], forward[..., 0])
    turn = (yaw.gather(1, m) - yaw.gather(1, k) + torch.pi).remainder(2 * torch.pi) - torch.pi
    zero = torch.zeros_like(turn)
    m_from_k = exp_map(torch.stack((zero, zero, turn), -1))
    spread = layout.centre.std(1).norm(dim=-1, keepdim=True)
    # Camera k need not have stood exactly where m stood.
    centre_m = centre_m + 0.1 * spread[..., None] * draw.normal(1.0, b, 1, 3)
    centre = (layout.centre - centre_k) @ m_from_k[:, 0].mT + centre_m
    shift = torch.linalg.vector_norm(centre_m - centre_k, dim=-1)
    is_elsewhere = (turn.abs() > _LEAST_TURN_RAD) | (shift > _LEAST_SHIFT * spread)
    return replace(layout, centre=centre, cam_from_world=layout.cam_from_world @ m_from_k.mT), is_elsewhere


def _spread(values: Tensor, idx: Tensor, num: int) -> Tensor:
    """Rows of `values` at `idx` of `num` rows, zeros elsewhere."""
    return values.new_zeros(num, *values.shape[1:]).index_copy(0, idx, values)
