"""Training worlds: view graphs with the truth beside them, made on the fly from a seed.

A world is a place (`layouts`), photos of it and what they share (`covisibility`), and what a matcher
would have made of them (`matching`). Only the largest component that correct edges hold together is
kept, so every camera can be found.

Everything runs batched on the generator's device. Touches nothing but torch and `vgpa.geometry`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from vgpa.network.graph import GraphTensors
from vgpa.train.covisibility import draw_fov, find_covisibility, find_visible, hold_cameras
from vgpa.train.draw import Draw
from vgpa.train.layouts import KINDS, Layout
from vgpa.train.matching import Edges, TruePairs, draw_edges, measure_edges


@dataclass(frozen=True)
class WorldOptions:
    """How large and how bad worlds are."""

    num_cams: tuple[int, int] = (40, 250)
    num_cams_small: tuple[int, int] = (8, 40)
    small_part: float = 0.25
    num_points: int = 1000
    max_wrong_part: float = 0.4


@dataclass(frozen=True)
class WorldBatch:
    """Several view graphs side by side (edges have i < j), with their truth."""

    graph: GraphTensors
    is_wrong: Tensor  # (E,)
    cam_from_world: Tensor  # (N, 3, 3) true rotations
    centre: Tensor  # (N, 3) true centres, metres


def make_worlds(num_graphs: int, generator: torch.Generator, options: WorldOptions | None = None) -> WorldBatch:
    """Make view graphs of random places, the kinds in turn, on the device of the generator."""
    options = options or WorldOptions()
    draw = Draw(generator)
    place = _draw_places(draw, num_graphs, options)
    exists = place < 1
    layout = _draw_layouts(draw, place, options.num_points)
    cam_from_world = hold_cameras(draw, layout)
    visible = find_visible(layout, cam_from_world, draw_fov(draw, *place.shape)) * exists[..., None]
    pairs = find_covisibility(layout, visible, draw.log_normal(500, 0.6, num_graphs))
    wrong_part = draw.uniform(0, options.max_wrong_part, num_graphs, 1, 1)
    worlds = _pack(draw, layout, cam_from_world, draw_edges(draw, pairs, exists, wrong_part))
    # A single tiny world may end up without any edge; then there is nothing to learn from it.
    return worlds if worlds.graph.num_cams else make_worlds(num_graphs, generator, options)


def _draw_places(draw: Draw, num_graphs: int, options: WorldOptions) -> Tensor:
    """Order of shooting (B, N) as fractions of each graph's number of cameras; 1 and above: no camera."""
    is_small = draw.chance(options.small_part, num_graphs, 1)
    small = draw.log_uniform(*options.num_cams_small, num_graphs, 1)
    count = torch.where(is_small, small, draw.log_uniform(*options.num_cams, num_graphs, 1)).round()
    return torch.arange(int(count.max()), device=count.device) / count


def _draw_layouts(draw: Draw, place: Tensor, num_points: int) -> Layout:
    """Layouts of B graphs: as many of each kind as possible, and which kind comes short is random."""
    num_kinds = len(KINDS)
    first = int(draw.uniform(0, num_kinds, 1))
    num_of_kind = [(len(place) + (kind - first) % num_kinds) // num_kinds for kind in range(num_kinds)]
    boundaries = list(accumulate(num_of_kind))[:-1]
    parts = torch.tensor_split(place, boundaries)
    return Layout.concatenate(
        [make(draw, part, num_points) for make, part in zip(KINDS, parts, strict=True) if len(part)]
    )


def _pack(draw: Draw, layout: Layout, cam_from_world: Tensor, edges: Edges) -> WorldBatch:
    """Measure the edges and renumber the cameras that have any to a disjoint union."""
    graph, i, j = edges.is_edge.nonzero(as_tuple=True)
    pairs = TruePairs(
        rotation_i=cam_from_world[graph, i],
        rotation_j=cam_from_world[graph, j],
        offset=layout.centre[graph, i] - layout.centre[graph, j],
        num_shared=edges.num_shared[graph, i, j],
        parallax_rad=edges.parallax_rad[graph, i, j],
        noise_scale=draw.log_normal(1.0, 0.5, len(edges.is_edge))[graph],
    )
    is_wrong = edges.is_wrong[graph, i, j]
    measured = measure_edges(draw, pairs, is_wrong)
    is_used = (edges.is_edge | edges.is_edge.mT).any(-1)
    new_idx = is_used.flatten().cumsum(0).view_as(is_used) - 1
    used_graph, used_cam = is_used.nonzero(as_tuple=True)
    return WorldBatch(
        graph=GraphTensors(
            edge_index=torch.stack((new_idx[graph, i], new_idx[graph, j])),
            rotation=measured.rotation,
            direction=measured.direction,
            has_direction=measured.has_direction,
            num_matches=pairs.num_shared.round().long(),
            graph_idx=used_graph,
            num_graphs=len(is_used),
        ),
        is_wrong=is_wrong,
        cam_from_world=cam_from_world[used_graph, used_cam],
        centre=layout.centre[used_graph, used_cam],
    )
