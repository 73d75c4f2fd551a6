"""Cutting, shuffling and joining batches lose and mix up nothing."""

from __future__ import annotations

from dataclasses import fields

import pytest
import torch

from vgpa.network.graph import GraphTensors
from vgpa.train import batches
from vgpa.train.batches import cut_worlds, join_worlds, move_worlds, reorder_worlds
from vgpa.train.worlds import WorldBatch, WorldOptions, make_worlds

SIZES = WorldOptions(num_cams=(10, 20), num_cams_small=(6, 10), num_points=200)
WORLDS = make_worlds(6, torch.Generator().manual_seed(0), SIZES)


def assert_same(ours: WorldBatch, theirs: WorldBatch) -> None:
    for pair in ((ours, theirs), (ours.graph, theirs.graph)):
        for name in vars(pair[0]):
            left, right = (getattr(item, name) for item in pair)
            if isinstance(left, torch.Tensor):
                torch.testing.assert_close(left, right, atol=0, rtol=0, msg=lambda text, name=name: f"{name}: {text}")
    assert ours.graph.num_graphs == theirs.graph.num_graphs


def test_every_field_has_its_place() -> None:
    of_graph = {"edge_index", "graph_idx", "num_graphs", *batches.PER_EDGE_OF_GRAPH}
    assert {field.name for field in fields(GraphTensors)} == of_graph
    of_batch = {"graph", *batches.PER_EDGE, *batches.PER_CAM, *batches.PER_GRAPH}
    assert {field.name for field in fields(WorldBatch)} == of_batch


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_joining_the_pieces_gives_the_whole(size: int) -> None:
    pieces = cut_worlds(WORLDS, size)
    assert [piece.graph.num_graphs for piece in pieces] == [size] * (6 // size)
    assert_same(join_worlds(pieces), WORLDS)


def test_shuffled_graphs_are_the_graphs_shuffled() -> None:
    order = [3, 0, 5, 1, 4, 2]
    shuffled = cut_worlds(reorder_worlds(WORLDS, torch.tensor(order)), 1)
    graphs = cut_worlds(WORLDS, 1)
    for place, number in enumerate(order):
        assert_same(shuffled[place], graphs[number])


def test_shuffling_back_restores() -> None:
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    assert_same(reorder_worlds(reorder_worlds(WORLDS, order), order.argsort()), WORLDS)


def test_moving_to_where_they_are_changes_nothing() -> None:
    assert_same(move_worlds(WORLDS, torch.device("cpu")), WORLDS)
