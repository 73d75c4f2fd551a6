"""Laws of the network: relabelling cameras relabels poses; the split form of phi_m is phi_m."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vgpa.network.graph import GraphTensors
from vgpa.network.layers import MessageLayer, mean_by_index
from vgpa.network.posenet import PoseNet, PoseNetConfig

SMALL = PoseNetConfig(width=32, num_layers=3, dropout=0.1)


def make_net(config: PoseNetConfig = SMALL) -> PoseNet:
    torch.manual_seed(3)
    net = PoseNet(config).eval()
    torch.nn.init.normal_(net.head[-1].weight)  # a head that really turns features into poses
    return net


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_relabelling_cameras_relabels_poses(random_graph: Callable[..., Any], seed: int) -> None:
    graph, net = random_graph(seed).measured, make_net()
    generator = torch.Generator().manual_seed(seed)
    num_cams = graph.num_cams
    new_label = torch.randperm(num_cams, generator=generator)
    order = torch.randperm(graph.num_edges, generator=generator)

    i, j = new_label[graph.edge_index[:, order]]
    rotation, direction = graph.rotation[order], graph.direction[order]
    swap = i > j  # keep i < j: such an edge is stored the other way round
    reverse_direction = -(rotation.mT @ direction[:, :, None]).squeeze(-1)
    edge_index = torch.stack((torch.where(swap, j, i), torch.where(swap, i, j)))
    rotation = torch.where(swap[:, None, None], rotation.mT, rotation)
    direction = torch.where(swap[:, None], reverse_direction, direction)

    with torch.no_grad():
        expected = net(graph)
        relabelled = net(
            replace(
                graph,
                edge_index=edge_index,
                rotation=rotation,
                direction=direction,
                has_direction=graph.has_direction[order],
                num_matches=graph.num_matches[order],
            )
        )
    for ours, theirs in zip(relabelled, expected, strict=True):
        torch.testing.assert_close(ours[new_label], theirs, atol=1e-5, rtol=1e-5)


def test_graphs_of_a_disjoint_union_do_not_see_each_other(random_graph: Callable[..., Any]) -> None:
    first, second, net = random_graph(1).measured, random_graph(2, num_cams=5).measured, make_net()
    with torch.no_grad():
        together = net(GraphTensors.join([first, second]))
        apart = [torch.cat(pair) for pair in zip(net(first), net(second), strict=True)]
    for ours, theirs in zip(together, apart, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def test_edges_without_a_direction_ignore_what_stands_there(random_graph: Callable[..., Any]) -> None:
    graph, net = random_graph(4).measured, make_net()
    junk = torch.where(graph.has_direction[:, None], graph.direction, torch.nan)
    with torch.no_grad():
        expected = net(graph)
        got = net(replace(graph, direction=junk))
    torch.testing.assert_close(got, expected)


def test_message_equals_the_plain_formula() -> None:
    torch.manual_seed(0)
    layer, (num_cams, num_edges) = MessageLayer(width=8, dropout=0.0), (5, 12)
    h, e = torch.randn(num_cams, 8), torch.randn(num_edges, 8)
    receiver = torch.arange(num_edges) % num_cams
    sender = (receiver + 1) % num_cams
    hidden = layer.phi_m_first(torch.cat((h[receiver], h[sender], e), dim=1)).relu()
    m = mean_by_index(layer.phi_m_last(hidden), receiver, num_cams)
    expected = layer.norm_out(h + layer.psi(torch.cat((layer.norm_in(h), m), dim=1)))
    torch.testing.assert_close(layer(h, e, receiver, sender), expected, atol=1e-5, rtol=1e-5)


def test_mean_by_index_of_an_empty_group_is_zero() -> None:
    value = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    mean = mean_by_index(value, torch.tensor([2, 2]), 3)
    torch.testing.assert_close(mean, torch.tensor([[0.0, 0.0], [0.0, 0.0], [2.0, 3.0]]))


def test_paper_sizes_start_and_unit_quaternions(random_graph: Callable[..., Any]) -> None:
    config = PoseNetConfig()
    assert (config.width, config.num_layers) == (256, 3)
    torch.manual_seed(0)
    net, graph = PoseNet(config).eval(), random_graph(0)
    quaternion_wxyz, translation = net(graph.measured)
    assert quaternion_wxyz.shape == (9, 4)
    assert translation.shape == (9, 3)
    torch.testing.assert_close(quaternion_wxyz.norm(dim=1), torch.ones(9))
    assert (quaternion_wxyz[:, 0] > 0.8).all(), "an untrained network answers close to the identity"


def test_gradients_reach_every_parameter_and_are_finite(random_graph: Callable[..., Any]) -> None:
    net, graph = make_net(), random_graph(5)
    quaternion_wxyz, translation = net(graph.measured)
    (quaternion_wxyz[:, 1:].sum() + translation.square().sum()).backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
