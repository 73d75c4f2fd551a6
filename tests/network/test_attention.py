"""Laws of the attention network: relabelling cameras relabels poses; graphs side by side do not see each other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vgpa.errors import InputError
from vgpa.network.attention import AttentionConfig, AttentionNet
from vgpa.network.graph import GraphTensors
from vgpa.network.posenet import PoseNet, PoseNetConfig

SMALL = AttentionConfig(width=32, num_layers=2, dropout=0.1, num_heads=4)


def make_net() -> AttentionNet:
    torch.manual_seed(3)
    net = AttentionNet(SMALL).eval()
    torch.nn.init.normal_(net.head[-1].weight)  # a head that really turns features into poses
    return net


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_relabelling_cameras_relabels_poses(
    random_graph: Callable[..., Any], relabel: Callable[..., Any], seed: int
) -> None:
    graph, net = random_graph(seed).measured, make_net()
    relabelled, new_label = relabel(graph, seed)
    with torch.no_grad():
        expected, got = net(graph), net(relabelled)
    assert expected[1].std(0).min() > 1e-3, "cameras with other neighbours must get other poses"
    for ours, theirs in zip(got, expected, strict=True):
        torch.testing.assert_close(ours[new_label], theirs, atol=1e-4, rtol=1e-4)


def test_graphs_of_a_disjoint_union_do_not_see_each_other(random_graph: Callable[..., Any]) -> None:
    first, second, net = random_graph(1).measured, random_graph(2, num_cams=5).measured, make_net()
    with torch.no_grad():
        together = net(GraphTensors.join([first, second]))
        apart = [torch.cat(pair) for pair in zip(net(first), net(second), strict=True)]
    for ours, theirs in zip(together, apart, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def test_encoder_and_head_are_those_of_the_main_network() -> None:
    ours, theirs = AttentionNet(SMALL).state_dict(), PoseNet(PoseNetConfig(width=SMALL.width)).state_dict()
    shared = {name: value.shape for name, value in theirs.items() if not name.startswith("layers.")}
    assert {name: ours[name].shape for name in shared} == shared


def test_gradients_reach_every_parameter_and_are_finite(random_graph: Callable[..., Any]) -> None:
    net, graph = make_net(), random_graph(5).measured
    quaternion_wxyz, translation = net(graph)
    (quaternion_wxyz[:, 1:].sum() + translation.square().sum()).backward()
    torch.testing.assert_close(quaternion_wxyz.norm(dim=1), torch.ones(graph.num_cams))
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="5 attention heads cannot share a width of 32"):
        AttentionNet(AttentionConfig(width=32, num_heads=5))
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    with pytest.raises(InputError, match=r"vgpa\[ablation\]"):
        AttentionNet(SMALL)
