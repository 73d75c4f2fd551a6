"""Which photos see the same things: from a layout to cameras and to what each pair of them shares.

Cameras are held as most people hold them: nearly level, one photo in eight turned to portrait. A
camera sees a point that is inside its picture, near enough and facing it. Matches between two photos
fall off with the angle between the two views and with their difference in scale, as they do for SIFT.

Works on small dense blocks (B, N, N), for training only. Touches nothing but torch and `vgpa.geometry`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, radians

import torch
from torch import Tensor
from torch.nn.functional import normalize

from vgpa.geometry.torch_rotation import direction_angle, exp_map
from vgpa.train.draw import Draw
from vgpa.train.layouts import Layout

_PORTRAIT_PART = 0.12
_ROLL_STD_RAD = radians(3)
_ASPECT = 0.75
_MIN_FACING_COSINE = 0.2
_MIN_DEPTH = 0.3
_MIN_COMMON_POINTS = 3
# Half-width (in the sense of a Gaussian) of the change of view and of log scale that matching survives.
_MATCHABLE_ANGLE_RAD = radians(35)
_MATCHABLE_LOG_SCALE = 0.9


@dataclass(frozen=True)
class Covisibility:
    """What pairs of photos share, symmetric (B, N, N)."""

    num_shared: Tensor  # matches to be expected
    parallax_rad: Tensor  # the angle between the two views, at the middle of what they share


def hold_cameras(draw: Draw, layout: Layout) -> Tensor:
    """Rotations cam_from_world (B, N, 3, 3): x right, y down, z along the viewing direction."""
    b, n = layout.centre.shape[:2]
    right = normalize(torch.linalg.cross(layout.forward, layout.up_hint), dim=-1)
    down = torch.linalg.cross(layout.forward, right)
    level = torch.stack((right, down, layout.forward), -2)
    is_portrait = draw.chance(_PORTRAIT_PART, b, n)
    quarter_turn = torch.where(draw.chance(0.5, b, n), pi / 2, -pi / 2)
    roll = draw.normal(_ROLL_STD_RAD, b, n) + is_portrait * quarter_turn
    about_z = torch.stack((torch.zeros_like(roll), torch.zeros_like(roll), roll), -1)
    return exp_map(about_z) @ level


def draw_fov(draw: Draw, num_graphs: int, num_cams: int) -> Tensor:
    """Horizontal fields of view (B, N), 35 to 80 degrees in radians: one camera or a mix of many."""
    own = draw.uniform(radians(40), radians(75), num_graphs, 1)
    mix = radians(12) * draw.chance(0.5, num_graphs, 1) * draw.normal(1.0, num_graphs, num_cams)
    return (own + mix).clamp(radians(35), radians(80))


def find_visible(layout: Layout, cam_from_world: Tensor, fov_rad: Tensor) -> Tensor:
    """1.0 where a camera sees a point, else 0.0; (B, N, P)."""
    centre_in_cam = torch.einsum("bnij,bnj->bni", cam_from_world, layout.centre)
    in_cam = torch.einsum("bnij,bpj->bnpi", cam_from_world, layout.point) - centre_in_cam[:, :, None]
    x, y, depth = in_cam.unbind(-1)
    half_width = torch.tan(0.5 * fov_rad)[..., None] * depth
    is_inside = (x.abs() < half_width) & (y.abs() < _ASPECT * half_width) & (depth > _MIN_DEPTH)
    distance: Tensor = torch.linalg.vector_norm(in_cam, dim=-1)
    is_near = distance < layout.max_range[:, None, None]
    plane = (layout.normal * layout.point).sum(-1)
    above = torch.einsum("bni,bpi->bnp", layout.centre, layout.normal) - plane[:, None]
    is_facing = above > _MIN_FACING_COSINE * distance
    return (is_inside & is_near & is_facing).float()


def find_covisibility(layout: Layout, visible: Tensor, num_features: Tensor) -> Covisibility:
    """Expected matches and parallax of all pairs; `num_features` (B,) is what two equal photos share."""
    common = visible @ visible.mT
    weighted = visible[:, None] * layout.point.mT[:, :, None]
    middle = (weighted @ visible.mT[:, None]).permute(0, 2, 3, 1) / common.clamp(min=1.0)[..., None]

    ray_i = layout.centre[:, :, None] - middle
    ray_j = layout.centre[:, None] - middle
    length_i, length_j = (torch.linalg.vector_norm(ray, dim=-1) for ray in (ray_i, ray_j))
    parallax_rad = direction_angle(normalize(ray_i, dim=-1), normalize(ray_j, dim=-1))
    log_scale = (length_i.clamp(min=_MIN_DEPTH) / length_j.clamp(min=_MIN_DEPTH)).log()

    own = visible.sum(-1).clamp(min=1.0).sqrt()
    overlap = common / (own[:, :, None] * own[:, None]) * (common >= _MIN_COMMON_POINTS)
    survives = torch.exp(-(parallax_rad / _MATCHABLE_ANGLE_RAD).square() - (log_scale / _MATCHABLE_LOG_SCALE).square())
    return Covisibility(num_features[:, None, None] * overlap * survives, parallax_rad)
