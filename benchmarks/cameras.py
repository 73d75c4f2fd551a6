"""Simulated edges between real cameras: MegaDepth scenes of the paper's tables, which no training may see.

What the photos share is modelled by `vgpa.train.cameras`, matching and its mistakes by `vgpa.train.worlds`, with a
seed of their own. Of the edges each camera keeps thirty, as after retrieval; chosen at random, so that wrong ones stay
as frequent as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from graphs import Case, split_worlds
from numpy.typing import NDArray

from vgpa.train.cameras import CameraSet, draw_subsets, lay_out, load_cameras
from vgpa.train.draw import Draw
from vgpa.train.worlds import photograph

TEST_SCENES = ("0019", "0024", "0063", "1589")
SUBSET_SIZE = 300
NUM_SUBSETS = 3
NUM_POINTS = 2000
MAX_WRONG_PART = 0.4
NUM_EDGES_KEPT = 30
SEED = 7


def simulate_cameras(folder: Path) -> Iterator[Case]:
    """For every test scene some subsets of 300 cameras, where there are as many, and the full set."""
    for scene in TEST_SCENES:
        cameras = load_cameras((folder / f"megadepth_{scene}.npz",), torch.device("cpu"))
        draw = Draw(torch.Generator().manual_seed(SEED))
        if len(cameras) > SUBSET_SIZE:
            for number in range(NUM_SUBSETS):
                chosen = draw_subsets(draw, cameras, 1, SUBSET_SIZE)
                yield _simulate(draw, cameras, chosen, scene, f"{scene}, {SUBSET_SIZE} cameras, {number + 1}")
        yield _simulate(draw, cameras, torch.arange(len(cameras))[None], scene, f"{scene}, all cameras")


def _simulate(draw: Draw, cameras: CameraSet, chosen: torch.Tensor, scene: str, name: str) -> Case:
    """The largest component of the view graph of the chosen cameras (1, N)."""
    num_cams = torch.tensor([[chosen.shape[1]]])
    layout = lay_out(draw, cameras, chosen, num_cams, NUM_POINTS)
    worlds = photograph(draw, layout, torch.ones_like(chosen, dtype=torch.bool), ("cameras",), MAX_WRONG_PART)
    (full,) = split_worlds(worlds, name)
    assert full.is_wrong is not None
    kept = _thin(full.graph.edge_index, full.graph.num_images)
    thinned = full.graph.select_edges(kept)
    cams = np.flatnonzero(thinned.component_labels() == 0)
    graph, inside = thinned.subgraph(cams)
    return Case(name, scene, graph, full.truth[cams], full.has_truth[cams], full.is_wrong[kept][inside])


def _thin(edge_index: NDArray[np.int64], num_images: int) -> NDArray[np.bool_]:
    """(num_edges,) True for edges that are among thirty random ones of either end."""
    num_edges = edge_index.shape[1]
    chance = np.random.default_rng(SEED).random(num_edges)
    edge, end = np.tile(np.arange(num_edges), 2), edge_index.ravel()
    order = np.lexsort((chance[edge], end))
    rank = np.arange(2 * num_edges) - np.searchsorted(end[order], np.arange(num_images))[end[order]]
    kept = np.zeros(num_edges, dtype=np.bool_)
    kept[edge[order[rank < NUM_EDGES_KEPT]]] = True
    return kept
