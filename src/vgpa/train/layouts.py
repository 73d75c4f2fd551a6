"""Where cameras stand and what is there to see: the type that every kind of place fills in, many places at a time.

Lengths are metres, z is up. `kinds` lists the kinds of places; `places`, `paths` and `orbits` build them. What they
have in common is here: how people hold a camera, and what lenses they use.

Touches nothing but torch and `vgpa.geometry`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import pi, radians

import torch
from torch import Tensor
from torch.nn.functional import normalize

from vgpa.geometry.torch_rotation import exp_map
from vgpa.train.draw import Draw

_PORTRAIT_PART = 0.12
_ROLL_STD_RAD = radians(3)
_ASPECT = 0.75
_UP = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Layout:
    """N cameras and P surface points in each of B places."""

    centre: Tensor  # (B, N, 3) camera centres
    cam_from_world: Tensor  # (B, N, 3, 3) rotations: x right, y down, z along the viewing direction
    half_size: Tensor  # (B, N, 2) half the width and height of the picture, one metre in front of the camera
    point: Tensor  # (B, P, 3) points on surfaces
    normal: Tensor  # (B, P, 3) unit outward normals
    max_range: Tensor  # (B, N) a point further away from the camera is not recognised
    num_features: Tensor  # (B,) matches between two equal photos
    matchable_rad: Tensor  # (B,) half-width (of a Gaussian) of the change of view that matching survives

    @staticmethod
    def concatenate(layouts: list[Layout]) -> Layout:
        """All places of several layouts with the same numbers of cameras and points."""
        return Layout(*(torch.cat([getattr(x, f.name) for x in layouts]) for f in fields(Layout)))

    def pick(self, idx: Tensor) -> Layout:
        """Some of the places."""
        return Layout(*(getattr(self, f.name)[idx] for f in fields(Layout)))


def hold_level(draw: Draw, forward: Tensor) -> Tensor:
    """Rotations cam_from_world (B, N, 3, 3) as people hold a camera: nearly level, one in eight turned to portrait.

    Args:
        forward: (B, N, 3) unit viewing directions, not straight up or down.
    """
    b, n = forward.shape[:2]
    is_portrait = draw.chance(_PORTRAIT_PART, b, n)
    quarter_turn = torch.where(draw.chance(0.5, b, n), pi / 2, -pi / 2)
    roll = draw.normal(_ROLL_STD_RAD, b, n) + is_portrait * quarter_turn
    return rolled(face(forward, torch.tensor(_UP, device=forward.device).expand_as(forward)), roll)


def face(forward: Tensor, up: Tensor) -> Tensor:
    """Rotations cam_from_world (..., 3, 3) that look along `forward`, with `up` upwards in the picture."""
    right = normalize(torch.linalg.cross(forward, up), dim=-1)
    down = torch.linalg.cross(forward, right)
    return torch.stack((right, down, forward), -2)


def rolled(cam_from_world: Tensor, roll_rad: Tensor) -> Tensor:
    """The cameras (..., 3, 3) turned about their viewing directions."""
    zero = torch.zeros_like(roll_rad)
    return exp_map(torch.stack((zero, zero, roll_rad), -1)) @ cam_from_world


def heading(yaw: Tensor, pitch: Tensor) -> Tensor:
    """Unit vectors (..., 3) of a compass angle and an angle above the horizon, radians."""
    return torch.stack((pitch.cos() * yaw.cos(), pitch.cos() * yaw.sin(), pitch.sin()), -1)


def scattered_about(x: float, y: float, z: float, spread: Tensor) -> Tensor:
    """Unit vectors (..., 3) scattered about (x, y, z)."""
    return normalize(torch.tensor((x, y, z), device=spread.device) + spread, dim=-1)


def draw_pictures(draw: Draw, num_graphs: int, num_cams: int, fov_deg: tuple[float, float] = (38.0, 75.0)) -> Tensor:
    """Half sizes of pictures (B, N, 2) with horizontal fields of view about the given range: one camera or a mix."""
    low, high = radians(fov_deg[0]), radians(fov_deg[1])
    own = draw.uniform(low, high, num_graphs, 1)
    mix = 0.3 * (high - low) * draw.chance(0.5, num_graphs, 1) * draw.normal(1.0, num_graphs, num_cams)
    half_width = torch.tan(0.5 * (own + mix).clamp(0.85 * low, 1.1 * high))
    return torch.stack((half_width, _ASPECT * half_width), -1)


def draw_texture(draw: Draw, num_graphs: int) -> tuple[Tensor, Tensor]:
    """Matches (B,) that two equal photos have, few where walls are plain, and the change of view (B,) they survive."""
    return draw.log_normal(900, 0.7, num_graphs).clamp(150, 5000), draw.uniform(radians(30), radians(48), num_graphs)
