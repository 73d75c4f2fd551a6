"""Large graphs go through the network in pieces: the same answer and the same gradients, in less memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from vgpa.network import layers
from vgpa.network.graph import GraphTensors
from vgpa.network.losses import relative_pose_loss
from vgpa.network.posenet import PoseNet, PoseNetConfig, directed_edges

SMALL = PoseNetConfig(width=16, num_layers=3, dropout=0.0)


def make_net() -> PoseNet:
    torch.manual_seed(3)
    net = PoseNet(SMALL).double()
    torch.nn.init.normal_(net.head[-1].weight)
    return net


@pytest.fixture
def graph(random_graph: Callable[..., Any]) -> GraphTensors:
    return random_graph(0, num_cams=12, dtype=torch.float64).measured


def gradients(net: PoseNet, graph: GraphTensors) -> dict[str, torch.Tensor]:
    net.zero_grad()
    relative_pose_loss(*net(graph), graph).backward()
    return {name: parameter.grad.clone() for name, parameter in net.named_parameters() if parameter.grad is not None}


@pytest.mark.parametrize("edges_per_chunk", [1, 7, 10_000])
def test_pieces_change_neither_poses_nor_gradients(
    graph: GraphTensors, monkeypatch: pytest.MonkeyPatch, edges_per_chunk: int
) -> None:
    net = make_net()
    expected, expected_gradient = net(graph), gradients(net, graph)
    monkeypatch.setitem(layers.EDGES_PER_CHUNK, "cpu", edges_per_chunk)
    monkeypatch.setattr(layers, "EDGES_PER_RECOMPUTED_CHUNK", edges_per_chunk)
    torch.testing.assert_close(gradients(net, graph), expected_gradient)
    monkeypatch.setattr(layers, "MAX_STORED_EDGES", 0)
    with torch.no_grad():
        torch.testing.assert_close(net(graph), expected)
    torch.testing.assert_close(gradients(net, graph), expected_gradient)


def test_nothing_of_full_width_is_stored_per_edge_for_large_graphs(
    graph: GraphTensors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What backpropagation keeps: with pieces, nothing as large as one float64 per edge and feature."""
    net, size_of_all = make_net(), 8 * 2 * graph.num_edges * SMALL.width

    def num_stored() -> int:
        num_bytes: list[int] = []

        def note(tensor: torch.Tensor) -> torch.Tensor:
            num_bytes.append(tensor.untyped_storage().nbytes())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            net(graph)
        return sum(size >= size_of_all for size in num_bytes)

    assert num_stored() > 0
    monkeypatch.setattr(layers, "MAX_STORED_EDGES", 0)  # still one piece, so that a leak is as large as it gets
    assert num_stored() == 0


def test_no_piece_is_larger_than_a_chunk(graph: GraphTensors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(layers.EDGES_PER_CHUNK, "cpu", 7)
    seen: list[int] = []

    def message(piece: layers.DirectedEdges) -> torch.Tensor:
        seen.append(len(piece.receiver))
        return piece.feature

    edges = directed_edges(graph)
    with torch.no_grad():
        mean = layers.mean_message(message, edges, like=torch.zeros(graph.num_cams, 6, dtype=torch.float64))
    assert max(seen) == 7
    assert sum(seen) == len(edges.receiver)
    torch.testing.assert_close(mean, layers.mean_by_index(edges.feature, edges.receiver, graph.num_cams))


def test_cameras_without_edges_have_an_answer(graph: GraphTensors) -> None:
    lonely = GraphTensors(
        edge_index=graph.edge_index[:, :0],
        rotation=graph.rotation[:0],
        direction=graph.direction[:0],
        has_direction=graph.has_direction[:0],
        num_matches=graph.num_matches[:0],
        graph_idx=graph.graph_idx,
    )
    for pose in make_net()(lonely):
        assert torch.isfinite(pose).all()
