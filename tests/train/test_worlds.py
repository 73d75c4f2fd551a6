"""Worlds are connected, honest about their truth, as noisy as they say, and the same for the same seed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from vgpa.geometry.torch_rotation import direction_angle, rotation_angle
from vgpa.train.kinds import KIND_NAMES, KINDS
from vgpa.train.worlds import WorldBatch, WorldOptions, make_worlds

SMALL = WorldOptions(num_cams=(12, 30), num_cams_small=(6, 12), num_points=300)


def worlds_of(seed: int, num_graphs: int = 6, options: WorldOptions = SMALL) -> WorldBatch:
    return make_worlds(num_graphs, torch.Generator().manual_seed(seed), options)


def errors_deg(worlds: WorldBatch) -> tuple[torch.Tensor, torch.Tensor]:
    """Rotation and direction errors (E,) of the measured edges."""
    i, j = worlds.graph.edge_index
    rotation = worlds.cam_from_world[j] @ worlds.cam_from_world[i].mT
    offset = (worlds.cam_from_world[j] @ (worlds.centre[i] - worlds.centre[j])[:, :, None]).squeeze(-1)
    direction = torch.nn.functional.normalize(offset, dim=-1)
    return (
        rotation_angle(rotation, worlds.graph.rotation).rad2deg(),
        direction_angle(direction, worlds.graph.direction).rad2deg(),
    )


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_correct_edges_connect_every_graph_and_no_edge_joins_two(seed: int) -> None:
    worlds = worlds_of(seed)
    i, j = worlds.graph.edge_index[:, ~worlds.is_wrong].numpy()
    adjacency = coo_array((np.ones(len(i)), (i, j)), shape=(worlds.graph.num_cams, worlds.graph.num_cams))
    num_components, _ = connected_components(adjacency, directed=False)
    assert num_components == len(worlds.graph.graph_idx.unique())
    i, j = worlds.graph.edge_index
    assert (worlds.graph.graph_idx[i] == worlds.graph.graph_idx[j]).all()


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_edges_are_well_formed(seed: int) -> None:
    worlds = worlds_of(seed)
    i, j = worlds.graph.edge_index
    assert (i < j).all()
    assert len(torch.unique(worlds.graph.edge_index, dim=1).T) == len(i)
    identity = torch.eye(3).expand_as(worlds.graph.rotation)
    torch.testing.assert_close(worlds.graph.rotation @ worlds.graph.rotation.mT, identity, atol=1e-5, rtol=0)
    torch.testing.assert_close(torch.linalg.det(worlds.graph.rotation), torch.ones(len(i)))
    torch.testing.assert_close(worlds.graph.direction.norm(dim=1), torch.ones(len(i)))
    assert (worlds.graph.num_matches > 0).all()


def test_same_seed_same_worlds() -> None:
    first, again, other = worlds_of(1), worlds_of(1), worlds_of(2)
    for ours, theirs in zip(tensors_of(first), tensors_of(again), strict=True):
        torch.testing.assert_close(ours, theirs, atol=0, rtol=0)
    ours, theirs = first.graph.rotation, other.graph.rotation
    assert ours.shape != theirs.shape or not torch.equal(ours, theirs)


def tensors_of(worlds: WorldBatch) -> list[torch.Tensor]:
    values = [*vars(worlds.graph).values(), *vars(worlds).values()]
    return [value for value in values if isinstance(value, torch.Tensor)]


def test_correct_edges_are_close_to_the_truth_and_wrong_ones_are_not() -> None:
    worlds = worlds_of(3, num_graphs=40)
    rotation_deg, direction_deg = errors_deg(worlds)
    correct = ~worlds.is_wrong
    assert 0.1 < rotation_deg[correct].median() < 1.5
    assert 0.2 < direction_deg[correct & worlds.graph.has_direction].median() < 4.0
    assert rotation_deg[correct].quantile(0.9) < 6
    assert torch.maximum(rotation_deg, direction_deg)[worlds.is_wrong].median() > 30
    assert 0.05 < worlds.is_wrong.float().mean() < 0.4
    shared = worlds.graph.num_matches.float()
    assert shared[worlds.is_wrong].median() < shared[correct].median(), "doubt falls on weak edges"


def test_noise_shrinks_with_matches() -> None:
    worlds = worlds_of(4, num_graphs=25)
    rotation_deg, _ = errors_deg(worlds)
    many = worlds.graph.num_matches > worlds.graph.num_matches.median()
    correct = ~worlds.is_wrong
    assert rotation_deg[correct & many].median() < rotation_deg[correct & ~many].median()


def test_worlds_without_mistakes() -> None:
    clean = worlds_of(5, options=dataclasses.replace(SMALL, max_wrong_part=0.0))
    assert not clean.is_wrong.any()


@pytest.mark.parametrize("num_graphs", [1, 3, 8])
def test_as_many_graphs_as_asked_of_the_sizes_asked(num_graphs: int) -> None:
    worlds = worlds_of(6, num_graphs)
    assert worlds.graph.num_graphs == num_graphs
    assert int(worlds.graph.graph_idx.max()) < num_graphs
    assert worlds.graph.graph_idx.bincount().max() <= SMALL.num_cams[1]


def test_kinds_take_turns() -> None:
    worlds = worlds_of(7, num_graphs=2 * len(KINDS))
    assert worlds.kind_idx.bincount().tolist() == [2] * len(KINDS)
    only = worlds_of(7, num_graphs=4, options=dataclasses.replace(SMALL, kinds=("street", "loop")))
    assert {KIND_NAMES[k] for k in only.kind_idx.tolist()} == {"street", "loop"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_well_connected(kind: str) -> None:
    options = WorldOptions(num_cams=(60, 70), small_part=0.0, kinds=(kind,))
    graph = worlds_of(8, num_graphs=8, options=options).graph
    assert graph.num_cams > 0.7 * 8 * min(60, 0.3 * KINDS[kind].max_num_cams)
    degree = 2 * graph.num_edges / graph.num_cams
    assert 4 < degree < 60
