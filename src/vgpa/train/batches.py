"""Batches of worlds taken apart and put together: move, join, shuffle, cut.

Touches nothing but torch.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import torch
from torch import Tensor

from vgpa.network.graph import GraphTensors
from vgpa.train.worlds import WorldBatch

# What there is one of per edge, per camera and per graph, apart from the numbers of cameras and graphs themselves.
PER_EDGE_OF_GRAPH = ("rotation", "direction", "has_direction", "num_matches")
PER_EDGE = ("is_wrong",)
PER_CAM = ("cam_from_world", "centre")
PER_GRAPH = ("kind_idx",)


def move_worlds(worlds: WorldBatch, device: torch.device) -> WorldBatch:
    """The same worlds on another device."""
    moved = {name: getattr(worlds, name).to(device) for name in (*PER_EDGE, *PER_CAM, *PER_GRAPH)}
    return replace(worlds, graph=worlds.graph.to(device), **moved)


def join_worlds(worlds: list[WorldBatch]) -> WorldBatch:
    """Several batches as one."""
    names = (*PER_EDGE, *PER_CAM, *PER_GRAPH)
    joined = {name: torch.cat([getattr(item, name) for item in worlds]) for name in names}
    return WorldBatch(graph=GraphTensors.join([item.graph for item in worlds]), **joined)


def reorder_worlds(worlds: WorldBatch, order: Tensor) -> WorldBatch:
    """The same graphs in another order (num_graphs,): first the one with the number `order[0]`, and so on."""
    graph = worlds.graph
    label = _inverse(order)[graph.graph_idx]
    cams, edges = label.argsort(stable=True), label[graph.edge_index[0]].argsort(stable=True)
    picked = _pick(worlds, cams, edges, order)
    graph = replace(picked.graph, edge_index=_inverse(cams)[picked.graph.edge_index], graph_idx=label[cams])
    return replace(picked, graph=graph)


def cut_worlds(worlds: WorldBatch, size: int) -> list[WorldBatch]:
    """Batches of `size` graphs each, in order, of worlds whose cameras and edges are sorted by graph."""
    graph = worlds.graph
    num_pieces = graph.num_graphs // size
    piece_of_cam = graph.graph_idx // size
    piece_of_edge = piece_of_cam[graph.edge_index[0]]
    # The sizes of all pieces are asked for at once: on a GPU every question waits for the answer.
    counts = torch.stack([piece.bincount(minlength=num_pieces) for piece in (piece_of_cam, piece_of_edge)])
    cam_end, edge_end = ([0, *accumulate(count)] for count in counts.tolist())
    pieces = []
    for k in range(num_pieces):
        cams, edges = slice(cam_end[k], cam_end[k + 1]), slice(edge_end[k], edge_end[k + 1])
        piece = _pick(worlds, cams, edges, slice(k * size, (k + 1) * size))
        edge_index, graph_idx = piece.graph.edge_index - cam_end[k], piece.graph.graph_idx - k * size
        graph = replace(piece.graph, edge_index=edge_index, graph_idx=graph_idx, num_graphs=size)
        pieces.append(replace(piece, graph=graph))
    return pieces


def _pick(worlds: WorldBatch, cams: Tensor | slice, edges: Tensor | slice, graphs: Tensor | slice) -> WorldBatch:
    """Some cameras, edges and graphs, with their old numbers."""
    graph = replace(
        worlds.graph,
        edge_index=worlds.graph.edge_index[:, edges],
        graph_idx=worlds.graph.graph_idx[cams],
        **{name: getattr(worlds.graph, name)[edges] for name in PER_EDGE_OF_GRAPH},
    )
    picked = {name: getattr(worlds, name)[edges] for name in PER_EDGE}
    picked |= {name: getattr(worlds, name)[cams] for name in PER_CAM}
    picked |= {name: getattr(worlds, name)[graphs] for name in PER_GRAPH}
    return replace(worlds, graph=graph, **picked)


def _inverse(permutation: Tensor) -> Tensor:
    """The permutation that undoes the given one."""
    inverse = torch.empty_like(permutation)
    inverse[permutation] = torch.arange(len(permutation), device=permutation.device)
    return inverse
