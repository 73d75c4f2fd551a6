"""Training worlds: view graphs with the truth beside them, made on the fly from a seed.

A world is a place of some kind (`kinds`) or the cameras of real photos (`cameras`), what its photos share
(`covisibility`, `repeats`), which pairs a matcher would have found (`matching`) and what it would have said about them
(`measuring`). Only the largest component that correct edges hold together is kept, so every camera can be found.

Everything runs batched on the generator's device. Touches nothing but torch and `vgpa.geometry`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from pathlib import Path

import torch
from torch import Tensor

from vgpa.network.graph import GraphTensors
from vgpa.train.cameras import CameraSet, draw_subsets, lay_out, load_cameras
from vgpa.train.covisibility import Covisibility, Views, find_covisibility, find_visible
from vgpa.train.draw import Draw
from vgpa.train.kinds import KIND_NAMES, KINDS
from vgpa.train.layouts import Layout
from vgpa.train.matching import Edges, draw_edges
from vgpa.train.measuring import Mistakes, SeenPairs, draw_noise, edge_std_rad, measure_edges
from vgpa.train.repeats import Repeats, find_repeats

_CAMERA_KINDS = ("cameras", "cameras")


@dataclass(frozen=True)
class WorldOptions:
    """How large and how bad worlds are, and of which kinds."""

    num_cams: tuple[int, int] = (40, 300)
    num_cams_small: tuple[int, int] = (8, 40)
    small_part: float = 0.25
    num_points: int = 800
    max_wrong_part: float = 0.4
    kinds: tuple[str, ...] = tuple(KINDS)
    cameras: tuple[Path, ...] = ()
    """Files with cameras of real photos; with any, every fifth world or so is made of those."""


@dataclass(frozen=True)
class WorldBatch:
    """Several view graphs side by side (edges have i < j), with their truth."""

    graph: GraphTensors
    is_wrong: Tensor  # (E,)
    cam_from_world: Tensor  # (N, 3, 3) true rotations
    centre: Tensor  # (N, 3) true centres, metres
    kind_idx: Tensor  # (num_graphs,) what each graph shows: indices into KIND_NAMES


def make_worlds(num_graphs: int, generator: torch.Generator, options: WorldOptions | None = None) -> WorldBatch:
    """Make view graphs of random places, as many of each kind as possible, on the device of the generator."""
    options = options or WorldOptions()
    draw = Draw(generator)
    cameras = load_cameras(options.cameras, generator.device) if options.cameras else None
    kind = _deal_kinds(draw, num_graphs, (*options.kinds, *_CAMERA_KINDS) if cameras else options.kinds)
    place = _draw_places(draw, kind, options, cameras)
    layout = _draw_layouts(draw, kind, place, options.num_points, cameras)
    worlds = photograph(draw, layout, place < 1, kind, options.max_wrong_part)
    # A single tiny world may end up without any edge; then there is nothing to learn from it.
    return worlds if worlds.graph.num_cams else make_worlds(num_graphs, generator, options)


def photograph(draw: Draw, layout: Layout, exists: Tensor, kind: tuple[str, ...], max_wrong_part: float) -> WorldBatch:
    """The view graphs that matching the photos of B places yields.

    Args:
        exists: (B, N) which of the layout's cameras there are; in each row those that exist come first.
        kind: (B) what the places are, for the record.
        max_wrong_part: each graph has a random part of wrong edges up to this one.
    """
    views = Views(layout.centre, layout.half_size, find_visible(layout) * exists[..., None])
    pairs = find_covisibility(layout, views, views)
    repeats = find_repeats(draw, layout, views, exists.sum(1, keepdim=True))
    wrong_part = draw.uniform(0, max_wrong_part, len(exists), 1, 1)
    edges = draw_edges(draw, pairs, repeats.pairs.num_shared, exists, wrong_part)
    return _pack(draw, layout, edges, _see_edges(draw, layout, pairs, repeats, edges), kind)


def _deal_kinds(draw: Draw, num_graphs: int, names: tuple[str, ...]) -> tuple[str, ...]:
    """The kind of each graph, equal ones together; which kinds come short is random."""
    first = int(draw.uniform(0, len(names), 1))
    return tuple(sorted((names[(first + k) % len(names)] for k in range(num_graphs)), key=names.index))


def _draw_places(draw: Draw, kind: tuple[str, ...], options: WorldOptions, cameras: CameraSet | None) -> Tensor:
    """Order of shooting (B, N) as fractions of each graph's number of cameras; 1 and above: no camera."""
    num = len(kind)
    is_small = draw.chance(options.small_part, num, 1)
    small = draw.log_uniform(*options.num_cams_small, num, 1)
    count = torch.where(is_small, small, draw.log_uniform(*options.num_cams, num, 1)).round()
    most = count.new_tensor([[KINDS[name].max_num_cams if name in KINDS else -inf] for name in kind])
    if cameras is not None:
        most = torch.where(most == -inf, cameras.set_size.min(), most)
    count = torch.where(count > most, draw.log_uniform(0.3, 1.0, num, 1) * most, count).round()
    return torch.arange(int(count.max()), device=count.device) / count


def _draw_layouts(
    draw: Draw, kind: tuple[str, ...], place: Tensor, num_points: int, cameras: CameraSet | None
) -> Layout:
    layouts, start = [], 0
    for name in dict.fromkeys(kind):
        part = place[start : start + kind.count(name)]
        if cameras is not None and name in _CAMERA_KINDS:
            chosen = draw_subsets(draw, cameras, *part.shape)
            layouts.append(lay_out(draw, cameras, chosen, (part < 1).sum(1, keepdim=True), num_points))
        else:
            layouts.append(KINDS[name].make(draw, part, num_points))
        start += len(part)
    return Layout.concatenate(layouts)


def _see_edges(draw: Draw, layout: Layout, pairs: Covisibility, repeats: Repeats, edges: Edges) -> SeenPairs:
    """The edges (E) as a matcher would see them without noise: where structure repeats itself, from elsewhere."""
    at = graph, i, j = edges.at
    is_repeat = edges.is_repeat
    noise = draw_noise(draw, *layout.centre.shape[:2])
    return SeenPairs(
        rotation_i=layout.cam_from_world[graph, i],
        rotation_j=_where(is_repeat, repeats.cam_from_world[graph, j], layout.cam_from_world[graph, j]),
        offset=layout.centre[graph, i] - _where(is_repeat, repeats.centre[graph, j], layout.centre[graph, j]),
        distance=torch.where(is_repeat, repeats.pairs.distance[at], pairs.distance[at]),
        parallax_rad=torch.where(is_repeat, repeats.pairs.parallax_rad[at], pairs.parallax_rad[at]),
        rotation_std_rad=edge_std_rad(draw, noise, graph, edges.num_shared),
        focal_error=0.5 * (noise.focal_error[graph, i] + noise.focal_error[graph, j]),
    )


def _pack(draw: Draw, layout: Layout, edges: Edges, seen: SeenPairs, kind: tuple[str, ...]) -> WorldBatch:
    """Measure the edges and renumber the cameras that have any to a disjoint union."""
    graph, i, j = edges.at
    is_nonsense = edges.is_wrong & ~(edges.is_repeat | edges.is_flat | edges.is_lost)
    measured = measure_edges(draw, seen, Mistakes(is_nonsense, edges.is_flat, edges.is_lost))
    new_idx = edges.is_used.flatten().cumsum(0).view_as(edges.is_used) - 1
    used = edges.is_used.nonzero(as_tuple=True)
    return WorldBatch(
        graph=GraphTensors(
            edge_index=torch.stack((new_idx[graph, i], new_idx[graph, j])),
            rotation=measured.rotation,
            direction=measured.direction,
            has_direction=measured.has_direction,
            num_matches=edges.num_shared.round().long(),
            graph_idx=used[0],
            num_graphs=len(kind),
        ),
        is_wrong=edges.is_wrong,
        cam_from_world=layout.cam_from_world[used],
        centre=layout.centre[used],
        kind_idx=torch.tensor([KIND_NAMES.index(name) for name in kind], device=graph.device),
    )


def _where(mask: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    """Rows of `yes` where the mask (E,) is True, else of `no`."""
    return torch.where(mask.view(-1, *(1,) * (yes.dim() - 1)), yes, no)
