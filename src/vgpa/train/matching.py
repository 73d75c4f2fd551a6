"""What a matcher makes of photos that share things: edges, their noise, and mistakes.

An edge appears where enough is shared. Its noise shrinks with the number of matches and, for the
direction, with the baseline. Some edges are wrong: matches spoiled where little is shared, and stray
edges between photos that share nothing. Some graphs keep all edges, some are thinned by chance, some
keep each photo's best few, as retrieval does.

Touches nothing but torch and `vgpa.geometry`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2, pi, radians

import torch
from torch import Tensor
from torch.nn.functional import normalize

from vgpa.geometry.torch_rotation import exp_map, quaternion_wxyz_to_matrix
from vgpa.train.covisibility import Covisibility
from vgpa.train.draw import Draw

_MIN_SHARED = 15.0
_HALF_CHANCE_SHARED = 20.0
_STRAY_PART = 0.4
_ROTATION_STD_RAD = radians(0.35)
_SHARED_AT_THAT_STD = 60.0
_DIRECTION_PER_ROTATION_STD = 3.0
_EASY_PARALLAX_RAD = radians(10)
_PANORAMIC_PARALLAX_RAD = radians(0.5)
_UNKNOWN_DIRECTION_PART = 0.02


@dataclass(frozen=True)
class Edges:
    """Edges as dense upper triangles (B, N, N)."""

    is_edge: Tensor
    is_wrong: Tensor
    num_shared: Tensor
    parallax_rad: Tensor


@dataclass(frozen=True)
class TruePairs:
    """The truth about E edges."""

    rotation_i: Tensor  # (E, 3, 3) cam_i_from_world
    rotation_j: Tensor  # (E, 3, 3) cam_j_from_world
    offset: Tensor  # (E, 3) centre_i - centre_j in the world
    num_shared: Tensor  # (E,)
    parallax_rad: Tensor  # (E,)
    noise_scale: Tensor  # (E,) how much noisier than usual the edge's graph is


@dataclass(frozen=True)
class Measured:
    """What a matcher says about E edges: cam_j_from_cam_i."""

    rotation: Tensor  # (E, 3, 3)
    direction: Tensor  # (E, 3) unit length
    has_direction: Tensor  # (E,) False where the baseline is too short to tell


def draw_edges(draw: Draw, pairs: Covisibility, exists: Tensor, wrong_part: Tensor) -> Edges:
    """Edges a matcher would return, some wrong, restricted to one component per graph."""
    b, n = exists.shape
    quality = draw.log_normal(1.0, 0.3, b, n)
    luck = quality[:, :, None] * quality[:, None] * draw.log_normal(1.0, 0.4, b, n, n)
    num_shared = pairs.num_shared * luck
    upper = torch.ones(n, n, dtype=torch.bool, device=exists.device).triu(1)
    is_match = draw.chance(num_shared / (num_shared + _HALF_CHANCE_SHARED), b, n, n)
    is_match &= upper & (num_shared > _MIN_SHARED)

    possible = upper & exists[:, :, None] & exists[:, None] & ~is_match
    num_matches, num_possible = (x.sum((1, 2), keepdim=True) for x in (is_match, possible))
    is_stray = possible & draw.chance(_STRAY_PART * wrong_part * num_matches / num_possible.clamp(min=1), b, n, n)
    num_shared = torch.where(is_stray, draw.log_normal(1.5 * _MIN_SHARED, 0.3, b, n, n), num_shared)
    doubt = is_match / (1 + num_shared / _SHARED_AT_THAT_STD)
    doubt = doubt * num_matches / doubt.sum((1, 2), keepdim=True).clamp(min=1e-6)
    is_spoiled = draw.chance((1 - _STRAY_PART) * wrong_part * doubt, b, n, n)
    is_wrong = is_stray | (is_match & is_spoiled)

    is_edge = _thin(draw, is_match | is_stray, num_shared)
    in_component = _largest_component(is_edge & ~is_wrong)
    is_edge = is_edge & in_component[:, :, None] & in_component[:, None]
    return Edges(is_edge, is_wrong, num_shared, pairs.parallax_rad)


def measure_edges(draw: Draw, pairs: TruePairs, is_wrong: Tensor) -> Measured:
    """Add noise to the true relative poses, and mistakes where `is_wrong` (E,)."""
    e = len(is_wrong)
    std = _ROTATION_STD_RAD * pairs.noise_scale * (_SHARED_AT_THAT_STD / pairs.num_shared).sqrt()
    std = std * draw.log_normal(1.0, 0.5, e)
    rotation = exp_map(std[:, None] * draw.normal(1.0, e, 3)) @ pairs.rotation_j @ pairs.rotation_i.mT
    harder = (_EASY_PARALLAX_RAD / pairs.parallax_rad.clamp(min=1e-3)).clamp(min=1.0)
    direction_std = (_DIRECTION_PER_ROTATION_STD * std * harder).clamp(max=1.0)
    turn = exp_map(direction_std[:, None] * draw.normal(1.0, e, 3)) @ pairs.rotation_j
    direction = normalize((turn @ pairs.offset[:, :, None]).squeeze(-1), dim=-1)

    wrong_rotation, wrong_direction = _mistake(draw, pairs)
    is_panoramic = (pairs.parallax_rad < _PANORAMIC_PARALLAX_RAD) & ~is_wrong
    return Measured(
        rotation=torch.where(is_wrong[:, None, None], wrong_rotation, rotation),
        direction=torch.where(is_wrong[:, None], wrong_direction, direction),
        has_direction=~(is_panoramic | draw.chance(_UNKNOWN_DIRECTION_PART, e)),
    )


def _thin(draw: Draw, is_edge: Tensor, num_shared: Tensor) -> Tensor:
    """Keep all edges, or each camera's k best ones, or each camera's k random ones (a part of them)."""
    b, n = is_edge.shape[:2]
    both_ways = is_edge | is_edge.mT
    degree = both_ways.sum(-1)
    choice = draw.uniform(0, 1, b, 1)
    num_best = draw.log_uniform(5, 30, b, 1)
    num_random = (draw.uniform(0.1, 0.7, b, 1) * degree).clamp(min=3)
    num_kept = torch.where(choice < 0.4, n, torch.where(choice < 0.7, num_best, num_random))
    by_chance = draw.uniform(0, 1, b, n, n)
    score = torch.where((choice < 0.7)[..., None], num_shared, by_chance) * is_edge
    rank = (score + score.mT).argsort(-1, descending=True).argsort(-1)
    is_kept = rank < num_kept[..., None]
    return is_edge & (is_kept | is_kept.mT)


def _largest_component(is_edge: Tensor) -> Tensor:
    """The cameras (B, N) of the largest connected component of each graph (B, N, N)."""
    n = is_edge.shape[-1]
    reach = (is_edge | is_edge.mT | torch.eye(n, dtype=torch.bool, device=is_edge.device)).float()
    for _ in range(ceil(log2(max(n, 2)))):  # each squaring doubles the length of the paths
        reach = (reach @ reach).clamp(max=1.0)
    largest = reach.sum(-1).argmax(-1)
    return reach[torch.arange(len(reach), device=reach.device), largest] > 0.5


def _mistake(draw: Draw, pairs: TruePairs) -> tuple[Tensor, Tensor]:
    """Wrong relative poses: half arbitrary, half plausible (a yaw mistake, as repeated facades cause)."""
    e = len(pairs.offset)
    anything = quaternion_wxyz_to_matrix(draw.normal(1.0, e, 4))
    yaw = torch.where(draw.chance(0.5, e), 1.0, -1.0) * draw.uniform(radians(15), pi, e)
    about_up = torch.stack((torch.zeros_like(yaw), torch.zeros_like(yaw), yaw), -1)
    yaw_mistake = pairs.rotation_j @ exp_map(about_up) @ pairs.rotation_i.mT
    level = draw.unit_vector(e) * torch.tensor((1.0, 1.0, 0.2), device=yaw.device)
    level_direction = normalize((pairs.rotation_j @ level[:, :, None]).squeeze(-1), dim=-1)
    is_arbitrary = draw.chance(0.5, e)[:, None]
    direction = torch.where(is_arbitrary, draw.unit_vector(e), level_direction)
    return torch.where(is_arbitrary[..., None], anything, yaw_mistake), direction
