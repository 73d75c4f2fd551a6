"""Walks and drives: photos along a street, and along a way that comes back to where it began.

The kinds are functions from `place` to a `Layout`, as in `places`. Touches nothing but torch.
"""

from __future__ import annotations

from math import pi

import torch
from torch import Tensor
from torch.nn.functional import normalize

from vgpa.train.draw import Draw
from vgpa.train.layouts import Layout, draw_pictures, draw_texture, heading, hold_level
from vgpa.train.places import EYE_HEIGHT

_NUM_PATH_STEPS = 1024


def street(draw: Draw, place: Tensor, num_points: int) -> Layout:
    """A street, straight or bending, with houses on both sides."""
    b = len(place)
    length = draw.log_uniform(0.8, 4.0, b, 1) / place[:, 1:2]
    wiggle = 1.2 * draw.uniform(0, 1, b, 1)
    # The street goes on where the photos end, so that the last ones show something too.
    return _walked(draw, 0.05 + 0.85 * place.fmod(1.0), _path(draw, length, wiggle, num_turns=0.0), num_points)


def loop(draw: Draw, place: Tensor, num_points: int) -> Layout:
    """Once around the block: the end meets the beginning."""
    b = len(place)
    length = draw.log_uniform(0.6, 2.5, b, 1) / place[:, 1:2]
    wiggle = 0.4 * draw.uniform(0, 1, b, 1)
    return _walked(draw, place.fmod(1.0), _path(draw, length, wiggle, num_turns=1.0), num_points)


def _walked(draw: Draw, walked: Tensor, way: tuple[Tensor, Tensor], num_points: int) -> Layout:
    """Photos along a path, taken at the fractions `walked` (B, N) of its length, ahead or to one side."""
    b, n = walked.shape
    path, tangent = way
    point, normal = _houses(draw, path, tangent, num_points)

    walked = (walked + 0.3 * (walked[:, 1:2] - walked[:, :1]) * draw.normal(1.0, b, n)).clamp(0, 1)
    ahead = _at(tangent, walked)
    xy = _at(path, walked) + draw.uniform(0.2, 1.5, b, 1, 1) * draw.normal(1.0, b, n, 1) * _left_of(ahead)
    centre = torch.cat((xy, EYE_HEIGHT + draw.normal(0.1, b, n, 1)), -1)
    habit = draw.uniform(-pi / 2, pi / 2, b, 1) * draw.chance(0.5, b, 1)
    yaw = torch.atan2(ahead[..., 1], ahead[..., 0]) + habit
    yaw = yaw + draw.uniform(0.05, 0.35, b, 1) * draw.normal(1.0, b, n)
    forward = heading(yaw, draw.normal(0.08, b, n) + 0.05)
    pictures = draw_pictures(draw, b, n, (45.0, 85.0))
    max_range = draw.log_uniform(30, 120, b, 1).expand(b, n)
    return Layout(centre, hold_level(draw, forward), pictures, point, normal, max_range, *draw_texture(draw, b))


def _houses(draw: Draw, path: Tensor, tangent: Tensor, num_points: int) -> tuple[Tensor, Tensor]:
    """Points and normals (B, P, 3) on house fronts on both sides of paths."""
    b = len(path)
    along = draw.uniform(0, 1, b, num_points)
    side = torch.where(draw.chance(0.5, b, num_points), 1.0, -1.0)
    offset = side * (draw.uniform(4, 12, b, 1) + draw.uniform(0, 3, b, num_points))
    left = _left_of(_at(tangent, along))
    point_xy = _at(path, along) + offset[..., None] * left
    point = torch.cat((point_xy, draw.uniform(0, 12, b, num_points, 1)), -1)
    towards_street = torch.cat((-side[..., None] * left, torch.zeros_like(point[..., :1])), -1)
    return point, normalize(towards_street + draw.normal(0.5, b, num_points, 3), dim=-1)


def _path(draw: Draw, length: Tensor, wiggle: Tensor, num_turns: float) -> tuple[Tensor, Tensor]:
    """Positions and unit tangents (B, K, 2) along smooth paths of the given lengths (B, 1).

    Args:
        wiggle: (B, 1) radians by which the path bends to and fro.
        num_turns: full turns from beginning to end; with any, the path is closed.
    """
    b = len(length)
    walked = torch.linspace(0, 1, _NUM_PATH_STEPS, device=length.device).expand(b, -1)
    waves, phase = draw.uniform(0.3, 2.0, b, 1), draw.uniform(0, 2 * pi, b, 1)
    yaw = wiggle * torch.sin(2 * pi * waves * walked + phase) + 2 * pi * num_turns * walked
    step = length / _NUM_PATH_STEPS
    path = (step[..., None] * torch.stack((yaw.cos(), yaw.sin()), -1)).cumsum(1)
    if num_turns:
        path = path - walked[..., None] * (path[:, -1:] - path[:, :1])
    return path, normalize(torch.gradient(path, dim=1)[0], dim=-1)


def _at(path: Tensor, walked: Tensor) -> Tensor:
    """Rows (B, M, 2) of a sampled path (B, K, 2) at the fractions `walked` (B, M) of its length."""
    index = (walked * (_NUM_PATH_STEPS - 1)).round().long().clamp(0, _NUM_PATH_STEPS - 1)
    return path.gather(1, index[..., None].expand(*index.shape, 2))


def _left_of(direction: Tensor) -> Tensor:
    return torch.stack((-direction[..., 1], direction[..., 0]), -1)
