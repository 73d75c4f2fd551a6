"""Laws of the refining network: labels and company do not matter, and exact edges keep exact rotations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vgpa.geometry.torch_rotation import quaternion_wxyz_to_matrix, rotation_angle
from vgpa.network.graph import GraphTensors
from vgpa.network.refine import RefineConfig, RefineNet, tree_start

SMALL = RefineConfig(width=16, num_steps=3, num_iterations=30)


def make_net() -> RefineNet:
    torch.manual_seed(3)
    net = RefineNet(SMALL).eval()
    torch.nn.init.normal_(net.judge[-1].weight)  # verdicts that differ from edge to edge
    return net.double()


def relative_rotations(quaternion_wxyz: torch.Tensor) -> torch.Tensor:
    rotation = quaternion_wxyz_to_matrix(quaternion_wxyz)
    return rotation[:, None] @ rotation.mT


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_relabelling_cameras_relabels_poses(
    random_graph: Callable[..., Any], relabel: Callable[..., Any], seed: int
) -> None:
    graph, net = noisy(random_graph(seed, dtype=torch.float64).measured, seed), make_net()
    relabelled, new_label = relabel(graph, seed)
    with torch.no_grad():
        expected, got = net(graph), net(relabelled)
    # The world frame is that of the tree's root, which labels may choose among equals: relative poses are compared.
    torch.testing.assert_close(
        relative_rotations(got[0][new_label]), relative_rotations(expected[0]), atol=1e-6, rtol=1e-6
    )


def noisy(graph: GraphTensors, seed: int) -> GraphTensors:
    """All edges a little off, and different numbers of matches, so that there is one best tree."""
    generator = torch.Generator().manual_seed(seed)
    turn = torch.linalg.qr(
        torch.eye(3, dtype=torch.float64)
        + 0.2 * torch.randn(graph.num_edges, 3, 3, generator=generator, dtype=torch.float64)
    )[0]
    turn = turn * torch.linalg.det(turn)[:, None, None]
    num_matches = 30 + torch.randperm(graph.num_edges, generator=generator)
    return replace(graph, rotation=turn @ graph.rotation, num_matches=num_matches)


def test_graphs_of_a_disjoint_union_do_not_see_each_other(random_graph: Callable[..., Any]) -> None:
    first, second = (random_graph(k, num_cams=n, dtype=torch.float64).measured for k, n in ((1, 9), (2, 5)))
    net = make_net()
    with torch.no_grad():
        together = net(GraphTensors.join([first, second]))
        apart = [torch.cat(pair) for pair in zip(net(first), net(second), strict=True)]
    for ours, theirs in zip(together, apart, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-8, rtol=1e-8)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_exact_edges_keep_exact_rotations(random_graph: Callable[..., Any], seed: int) -> None:
    """On consistent edges the tree is right and every residual is zero, whatever the network thinks of them."""
    graph = random_graph(seed, dtype=torch.float64)
    with torch.no_grad():
        got = relative_rotations(make_net()(graph.measured)[0])
    expected = relative_rotations(graph.quaternion_wxyz)
    assert rotation_angle(got, expected).max() < 1e-6


def test_the_tree_is_exact_on_exact_edges_of_unit_length() -> None:
    """A line of three cameras, one metre apart, stored in both orders."""
    eye = torch.eye(3).expand(2, 3, 3)
    graph = GraphTensors(
        edge_index=torch.tensor([[0, 0], [1, 2]]),
        rotation=eye,
        direction=torch.tensor([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
        has_direction=torch.tensor([True, True]),
        num_matches=torch.tensor([50, 60]),
        graph_idx=torch.zeros(3, dtype=torch.int64),
    )
    rotation, centre = tree_start(graph)
    torch.testing.assert_close(rotation, torch.eye(3).expand(3, 3, 3))
    torch.testing.assert_close(centre - centre[0], torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]))


@pytest.mark.parametrize("case", ["no_direction", "exact", "line"])
def test_gradients_are_finite_everywhere(random_graph: Callable[..., Any], case: str) -> None:
    graph = random_graph(5).measured
    if case == "no_direction":
        nowhere = torch.full_like(graph.direction, torch.nan)
        graph = replace(graph, has_direction=torch.zeros_like(graph.has_direction), direction=nowhere)
    if case == "line":
        keep = graph.edge_index[1] == graph.edge_index[0] + 1
        graph = GraphTensors(
            graph.edge_index[:, keep],
            *(x[keep] for x in (graph.rotation, graph.direction, graph.has_direction, graph.num_matches)),
            graph.graph_idx,
        )
    net = make_net().float()
    steps = net.unroll(graph)
    total = sum(step.cam_from_world.sum() + step.centre.sum() + step.right_logit.sum() for step in steps)
    assert isinstance(total, torch.Tensor)
    total.backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
