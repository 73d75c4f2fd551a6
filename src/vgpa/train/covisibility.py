"""Which photos see the same things: from a layout to what each pair of its photos shares.

A camera sees a point that is inside its picture, near enough and facing it. Matches between two photos fall off with
the angle between the two views and with their difference in scale, as they do for SIFT.

Works on small dense blocks (B, N, N), for training only. Touches nothing but torch.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from vgpa.train.layouts import Layout

_MIN_FACING_COSINE = 0.2
_MIN_DEPTH = 0.05
_MIN_COMMON_POINTS = 3
# Half-width (in the sense of a Gaussian) of the change of log scale that matching survives.
_MATCHABLE_LOG_SCALE = 0.9


@dataclass(frozen=True)
class Views:
    """Photos of B places: where from, through what lens, and of what."""

    centre: Tensor  # (B, N, 3)
    half_size: Tensor  # (B, N, 2)
    visible: Tensor  # (B, N, P) 1.0 where a camera sees a point, else 0.0


@dataclass(frozen=True)
class Covisibility:
    """What pairs (i, j) of photos share, (B, N, N)."""

    num_shared: Tensor  # matches to be expected
    parallax_rad: Tensor  # the angle between the two views, at the middle of what they share
    distance: Tensor  # from photo i to that middle, metres


def find_visible(layout: Layout) -> Tensor:
    """1.0 where a camera sees a point, else 0.0; (B, N, P)."""
    # Cameras and points meet in two matrix products, so that no array of (B, N, P, 3) is ever made.
    offset = (layout.cam_from_world @ layout.centre[..., None]).squeeze(-1)
    x, y, depth = (layout.cam_from_world[:, :, k] @ layout.point.mT - offset[..., k, None] for k in range(3))
    half_width, half_height = (size[..., None] * depth for size in layout.half_size.unbind(-1))
    is_inside = (x.abs() < half_width) & (y.abs() < half_height) & (depth > _MIN_DEPTH)
    squared_distance = x.square() + y.square() + depth.square()
    is_near = squared_distance < layout.max_range.square()[..., None]
    above = layout.centre @ layout.normal.mT - (layout.normal * layout.point).sum(-1)[:, None]
    is_facing = above > _MIN_FACING_COSINE * squared_distance.sqrt()
    return (is_inside & is_near & is_facing).float()


def find_covisibility(layout: Layout, first: Views, second: Views) -> Covisibility:
    """What photos i of `first` and j of `second` share of the same points."""
    common = first.visible @ second.visible.mT
    weighted = first.visible[:, None] * layout.point.mT[:, :, None]
    middle = (weighted @ second.visible.mT[:, None]) / common.clamp(min=1.0)[:, None]

    # Coordinates lead, (3, B, N, N): sums over a last axis of length three are slow.
    ray_i = first.centre.permute(2, 0, 1)[..., None] - middle.transpose(0, 1)
    ray_j = second.centre.permute(2, 0, 1)[:, :, None] - middle.transpose(0, 1)
    length_i, length_j = (ray.square().sum(0).sqrt().clamp(min=_MIN_DEPTH) for ray in (ray_i, ray_j))
    cosine = (ray_i * ray_j).sum(0) / (length_i * length_j)
    parallax_rad = torch.atan2((1 - cosine.square()).clamp(min=0).sqrt(), cosine)
    width_i, width_j = (length_i * first.half_size[:, :, None, 0]), (length_j * second.half_size[:, None, :, 0])
    log_scale = (width_i / width_j).log()

    own_i, own_j = (views.visible.sum(-1).clamp(min=1.0).sqrt() for views in (first, second))
    overlap = common / (own_i[:, :, None] * own_j[:, None]) * (common >= _MIN_COMMON_POINTS)
    matchable_rad = layout.matchable_rad[:, None, None]
    survives = torch.exp(-(parallax_rad / matchable_rad).square() - (log_scale / _MATCHABLE_LOG_SCALE).square())
    return Covisibility(layout.num_features[:, None, None] * overlap * survives, parallax_rad, length_i)
