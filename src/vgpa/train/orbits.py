"""Small things seen from all around: on a turntable, and walked about with a camera in the hand.

Objects have few features, and their photos match their neighbours only: the view graph is a ring, or a few rings
above each other. The kinds are functions from `place` to a `Layout`, as in `places`. Touches nothing but torch.
"""

from __future__ import annotations

from math import pi, radians

import torch
from torch import Tensor
from torch.nn.functional import normalize

from vgpa.train.draw import Draw
from vgpa.train.layouts import Layout, draw_pictures, face, heading, hold_level, rolled


def turntable(draw: Draw, place: Tensor, num_points: int) -> Layout:
    """An object on a turntable, one to three rings, even steps, often through a long lens."""
    b, n = place.shape
    # Full rings only, and none with steps too large to match: at least twelve photos each.
    num_rings = torch.minimum(draw.uniform(1, 3.999, b, 1).floor(), (1 / (12 * place[:, 1:2])).floor()).clamp(min=1)
    order = place.fmod(1.0) * num_rings
    ring = order.floor()
    turned = draw.uniform(0.7, 1.0, b, 1) * draw.chance(0.3, b, 1)
    angle = 2 * pi * torch.where(turned > 0, turned, 1.0) * (order - ring) + draw.normal(0.01, b, n)
    elevation = draw.uniform(-0.1, 0.5, b, 1) + ring * draw.uniform(0.2, 0.35, b, 1)
    pictures = draw_pictures(draw, b, n, (10.0, 35.0))
    # The picture is filled: the object of radius 1/2 stands this far away.
    distance = (draw.uniform(0.45, 0.8, b, 1) / pictures[..., 1].mean(1, keepdim=True)).expand(b, n)
    forward = -heading(angle, elevation)
    up = torch.tensor((0.0, 0.0, 1.0), device=place.device).expand_as(forward)
    # The camera on its stand is turned somehow, always the same way.
    cam_from_world = rolled(face(forward, up), draw.uniform(-pi, pi, b, 1) * draw.chance(0.5, b, 1).expand(b, n))
    return _seen_object(draw, -distance[..., None] * forward, cam_from_world, pictures, num_points)


def orbit(draw: Draw, place: Tensor, num_points: int) -> Layout:
    """A walk around a small object with the camera in the hand: once, or several times and denser."""
    b, n = place.shape
    num_turns = draw.uniform(0.6, 3.0, b, 1).minimum(1 / (14 * place[:, 1:2]))
    angle = 2 * pi * num_turns * place.fmod(1.0) + draw.uniform(0.01, 0.12, b, 1) * draw.normal(1.0, b, n)
    wave = draw.uniform(0, 0.4, b, 1) * torch.sin(angle * draw.uniform(0.5, 2.0, b, 1) + draw.uniform(0, 6.28, b, 1))
    elevation = (draw.uniform(0.0, 0.7, b, 1) + wave + draw.normal(0.05, b, n)).clamp(-0.3, 1.2)
    pictures = draw_pictures(draw, b, n, (25.0, 65.0))
    filled = draw.uniform(0.45, 1.1, b, 1) * draw.log_normal(1.0, 0.15, b, n)
    distance = (filled / pictures[..., 1].mean(1, keepdim=True)).clamp(min=0.65)
    centre = distance[..., None] * heading(angle, elevation)
    aim = 0.15 * draw.normal(1.0, b, n, 3)
    return _seen_object(draw, centre, hold_level(draw, normalize(aim - centre, dim=-1)), pictures, num_points)


def _seen_object(draw: Draw, centre: Tensor, cam_from_world: Tensor, pictures: Tensor, num_points: int) -> Layout:
    """The cameras about a lumpy object of radius 1/2, sometimes on a textured table."""
    b = len(centre)
    normal = draw.unit_vector(b, num_points)
    radius = 0.5 * draw.uniform(0.5, 1.0, b, 1, 3)
    on_object = radius * normal
    on_table = torch.cat((draw.uniform(-1, 1, b, num_points, 2), -0.5 * torch.ones_like(normal[..., :1])), -1)
    is_table = (draw.chance(0.4, b, 1) & draw.chance(0.5, b, num_points))[..., None]
    up = torch.tensor((0.0, 0.0, 1.0), device=centre.device)
    point = torch.where(is_table, on_table, on_object)
    rough = normalize(torch.where(is_table, up, normal / radius) + draw.normal(0.3, b, num_points, 3), dim=-1)
    max_range = torch.full_like(centre[..., 0], 100.0)
    num_features, matchable_rad = draw.log_uniform(80, 2500, b), draw.uniform(radians(20), radians(40), b)
    return Layout(centre, cam_from_world, pictures, point, rough, max_range, num_features, matchable_rad)
