"""Laws of the paper's network: relabelling cameras relabels poses; the split form of phi_m is phi_m."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vgpa.network.graph import GraphTensors
from vgpa.network.layers import DirectedEdges, MessageLayer, mean_by_index
from vgpa.network.posenet import PoseNet, PoseNetConfig, directed_edges, make_edge_encoder

SMALL = PoseNetConfig(width=32, num_layers=3, dropout=0.1)


def make_net(config: PoseNetConfig = SMALL) -> PoseNet:
    torch.manual_seed(3)
    net = PoseNet(config).eval()
    torch.nn.init.normal_(net.head[-1].weight)  # a head that really turns features into poses
    return net


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_relabelling_cameras_relabels_poses(
    random_graph: Callable[..., Any], relabel: Callable[..., Any], seed: int
) -> None:
    graph, net = random_graph(seed).measured, make_net()
    relabelled, new_label = relabel(graph, seed)
    with torch.no_grad():
        expected, got = net(graph), net(relabelled)
    for ours, theirs in zip(got, expected, strict=True):
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
    """The split and merged linear maps of the layer are phi_m(h_i, h_j, phi_e(x_ij)), mean over j."""
    torch.manual_seed(0)
    layer, phi_e, (num_cams, num_edges) = MessageLayer(width=8, dropout=0.0), make_edge_encoder(8), (5, 12)
    h, feature = torch.randn(num_cams, 8), torch.randn(num_edges, 6)
    receiver = torch.arange(num_edges) % num_cams
    sender = (receiver + 1) % num_cams
    hidden = layer.phi_m_first(torch.cat((h[receiver], h[sender], phi_e(feature)), dim=1)).relu()
    m = mean_by_index(layer.phi_m_last(hidden), receiver, num_cams)
    expected = layer.norm_out(h + layer.psi(torch.cat((layer.norm_in(h), m), dim=1)))
    got = layer(h, DirectedEdges(feature, receiver, sender), phi_e)
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


def test_an_edge_seen_from_its_other_end_is_its_inverse(random_graph: Callable[..., Any]) -> None:
    """Storing every edge the other way round swaps the two halves of the directed edges."""
    graph = random_graph(6).measured
    backward = replace(
        graph,
        edge_index=graph.edge_index.flip(0),
        rotation=graph.rotation.mT,
        direction=-(graph.rotation.mT @ graph.direction[:, :, None]).squeeze(-1),
    )
    ours, theirs = directed_edges(graph), directed_edges(backward)
    for name in ("feature", "receiver", "sender"):
        expected = getattr(ours, name).roll(graph.num_edges, 0)
        torch.testing.assert_close(getattr(theirs, name), expected, atol=1e-5, rtol=1e-5)


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


def test_bf16_is_used_for_products_and_not_for_poses(random_graph: Callable[..., Any]) -> None:
    net, graph = make_net(), random_graph(8).measured
    expected = net(graph)
    with torch.autocast("cpu", torch.bfloat16):
        got = net(graph)
    for ours, theirs in zip(got, expected, strict=True):
        assert ours.dtype == torch.float32
        torch.testing.assert_close(ours, theirs, atol=0.1, rtol=0.1)
        assert not torch.equal(ours, theirs), "bf16 was not used at all"
