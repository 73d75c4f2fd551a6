"""What a matcher makes of photos that share things: which pairs become edges, and which of those are mistakes.

An edge appears where enough is shared. Some edges are wrong, for one of five reasons: matches that mean nothing,
between photos that share nothing (stray) or little (spoiled); a flat scene, which has two solutions (flat); a direction
that got lost while the rotation is right (lost); repeated structure (`repeats`). Some graphs keep all edges, some are
thinned by chance, some keep each photo's best few, as retrieval does.

Touches nothing but torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2, radians

import torch
from torch import Tensor

from vgpa.train.covisibility import Covisibility
from vgpa.train.draw import Draw

_MIN_SHARED = (15.0, 40.0)
"""Matches an edge needs; from and to, since people choose differently."""
_HALF_CHANCE_SHARED = 8.0
_DOUBTFUL_SHARED = 60.0
_FLAT_PARALLAX_RAD = radians(15)
"""The two solutions of a flat scene differ by about the parallax; below this they are not told apart."""


@dataclass(frozen=True)
class Edges:
    """E edges."""

    at: tuple[Tensor, Tensor, Tensor]  # (E,) each: the graph, and its cameras i < j
    num_shared: Tensor  # (E,) matches
    is_wrong: Tensor  # (E,)
    is_flat: Tensor  # (E,) wrong: the other solution of a flat scene
    is_lost: Tensor  # (E,) wrong: the direction, not the rotation
    is_repeat: Tensor  # (E,) wrong: repeated structure
    is_used: Tensor  # (B, N) cameras with an edge


@dataclass(frozen=True)
class _Mistakes:
    """Edges as dense upper triangles (B, N, N), with what is wrong with them."""

    is_edge: Tensor
    num_shared: Tensor
    is_wrong: Tensor
    is_flat: Tensor
    is_lost: Tensor
    is_repeat: Tensor


@dataclass(frozen=True)
class _Finds:
    """What a matcher finds for all pairs, (B, N, N), before anything goes wrong."""

    num_shared: Tensor
    repeated_shared: Tensor  # matches that repeated structure yields
    min_shared: Tensor  # (B, 1, 1) matches an edge needs
    may_pair: Tensor  # the upper triangle of the cameras that exist
    is_match: Tensor


def draw_edges(draw: Draw, pairs: Covisibility, repeated_shared: Tensor, exists: Tensor, wrong_part: Tensor) -> Edges:
    """Edges a matcher would return, some wrong, restricted to one component per graph.

    Args:
        repeated_shared: (B, N, N) matches that repeated structure yields.
        exists: (B, N) which cameras there are.
        wrong_part: (B, 1, 1) part of the edges that is wrong.
    """
    finds = _find_matches(draw, pairs.num_shared, repeated_shared, exists)
    found = _make_mistakes(draw, finds, pairs.parallax_rad > _FLAT_PARALLAX_RAD, wrong_part)
    is_edge = _thin(draw, found.is_edge, found.num_shared)
    in_component = _largest_component(is_edge & ~found.is_wrong)
    is_edge = is_edge & in_component[:, :, None] & in_component[:, None]
    graph, i, j = at = is_edge.nonzero(as_tuple=True)
    return Edges(
        at=(graph, i, j),
        num_shared=found.num_shared[at],
        is_wrong=found.is_wrong[at],
        is_flat=found.is_flat[at],
        is_lost=found.is_lost[at],
        is_repeat=found.is_repeat[at],
        is_used=(is_edge | is_edge.mT).any(-1),
    )


def _find_matches(draw: Draw, num_shared: Tensor, repeated_shared: Tensor, exists: Tensor) -> _Finds:
    b, n = exists.shape
    quality = draw.log_normal(1.0, 0.4, b, n)
    luck = quality[:, :, None] * quality[:, None] * draw.log_normal(1.0, 0.3, b, n, n)
    num_shared, repeated_shared = num_shared * luck, repeated_shared * luck
    min_shared = draw.log_uniform(*_MIN_SHARED, b, 1, 1)
    may_pair = (exists[:, :, None] & exists[:, None]).triu(1)
    is_found = draw.chance(num_shared / (num_shared + _HALF_CHANCE_SHARED), b, n, n)
    return _Finds(num_shared, repeated_shared, min_shared, may_pair, may_pair & is_found & (num_shared > min_shared))


def _make_mistakes(draw: Draw, finds: _Finds, is_ambiguous: Tensor, wrong_part: Tensor) -> _Mistakes:
    """Edges with their mistakes; reasons are mixed differently in every world.

    Args:
        is_ambiguous: (B, N, N) where a flat scene would have two solutions.
        wrong_part: (B, 1, 1) part of the edges that is wrong.
    """
    seems_elsewhere = finds.repeated_shared > torch.maximum(finds.num_shared, finds.min_shared)
    likely_repeat = torch.where(finds.may_pair & seems_elsewhere, finds.repeated_shared, 0.0)
    weight = draw.uniform(0, 1, 5, len(wrong_part), 1, 1).square()
    weight[4] *= likely_repeat.amax((1, 2), keepdim=True) > 0
    num_wrong = wrong_part * finds.is_match.sum((1, 2), keepdim=True)
    num_stray, num_spoiled, num_flat, num_lost, num_repeat = num_wrong * weight / weight.sum(0)

    is_repeat = _choose(draw, likely_repeat, num_repeat)
    is_stray = _choose(draw, (finds.may_pair & ~finds.is_match & ~is_repeat).float(), num_stray)
    is_match = finds.is_match & ~is_repeat
    is_spoiled = _choose(draw, is_match / (1 + finds.num_shared / _DOUBTFUL_SHARED), num_spoiled)
    is_flat = _choose(draw, (is_match & ~is_spoiled & is_ambiguous).float(), num_flat)
    is_lost = _choose(draw, (is_match & ~is_spoiled & ~is_flat).float(), num_lost)
    stray_shared = finds.min_shared * (1 + draw.log_normal(0.4, 1.0, *is_match.shape))
    num_shared = torch.where(is_repeat, finds.repeated_shared, torch.where(is_stray, stray_shared, finds.num_shared))
    is_wrong = is_repeat | is_stray | is_spoiled | is_flat | is_lost
    return _Mistakes(is_match | is_wrong, num_shared, is_wrong, is_flat, is_lost, is_repeat)


def _choose(draw: Draw, weight: Tensor, num: Tensor) -> Tensor:
    """True for about `num` (B, 1, 1) entries of `weight` (B, N, N), each with a chance that rises with its weight."""
    chance = weight * (num / weight.sum((1, 2), keepdim=True).clamp(min=1e-6))
    return draw.chance(chance, *weight.shape)


def _thin(draw: Draw, is_edge: Tensor, num_shared: Tensor) -> Tensor:
    """Keep all edges, or each camera's k best ones, or each camera's k random ones (a part of them)."""
    b, n = is_edge.shape[:2]
    choice = draw.uniform(0, 1, b, 1)
    degree = (is_edge.sum(-1) + is_edge.sum(-2)).float()
    num_best = draw.log_uniform(6, 30, b, 1)
    num_random = (draw.uniform(0.1, 0.7, b, 1) * degree).clamp(min=4)
    num_kept = torch.where(choice < 0.5, n, torch.where(choice < 0.75, num_best, num_random))
    score = torch.where((choice < 0.75)[..., None], num_shared, draw.uniform(0.01, 1, b, n, n)) * is_edge
    score = score + score.mT
    last = num_kept.long().expand(b, n).clamp(max=n)[..., None] - 1
    is_kept = score >= score.sort(-1, descending=True).values.gather(-1, last)
    return is_edge & (is_kept | is_kept.mT)


def _largest_component(is_edge: Tensor) -> Tensor:
    """The cameras (B, N) of the largest connected component of each graph (B, N, N)."""
    n = is_edge.shape[-1]
    reach = (is_edge | is_edge.mT | torch.eye(n, dtype=torch.bool, device=is_edge.device)).float()
    for _ in range(ceil(log2(max(n, 2)))):  # each squaring doubles the length of the paths
        reach = (reach @ reach).clamp(max=1.0)
    largest = reach.sum(-1).argmax(-1)
    return reach[torch.arange(len(reach), device=reach.device), largest] > 0.5
