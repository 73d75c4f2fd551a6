"""Laws of the robust objective: zero at agreement, blind to a similarity, deaf to gross edges, downhill together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.network.conftest import make_disagreeing_pair
from vgpa.geometry.torch_rotation import exp_map, matrix_to_quaternion_wxyz, quaternion_wxyz_to_matrix
from vgpa.network.graph import GraphTensors
from vgpa.network.losses import relative_pose_loss
from vgpa.network.robust import RobustLoss, edge_weights

FLOAT64 = torch.float64
WIDE, NARROW = 2.0, 0.1

Poses = tuple[Tensor, Tensor]


def disturbed(graph: Any, size: float, seed: int = 0) -> Poses:
    """The true poses, turned and shifted a little; leaves of a computation."""
    generator = torch.Generator().manual_seed(seed)
    turn = exp_map(size * torch.randn(len(graph.translation), 3, generator=generator, dtype=FLOAT64))
    shift = size * torch.randn(graph.translation.shape, generator=generator, dtype=FLOAT64)
    rotation = turn @ quaternion_wxyz_to_matrix(graph.quaternion_wxyz)
    poses = matrix_to_quaternion_wxyz(rotation), graph.translation + shift
    return poses[0].requires_grad_(), poses[1].requires_grad_()


def gradient(loss: Tensor, poses: Poses) -> Tensor:
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, poses)])


def with_one_gross_edge(graph: GraphTensors) -> GraphTensors:
    turn = exp_map(torch.tensor([0.0, 2.0, 0.0], dtype=FLOAT64))
    rotation, direction = graph.rotation.clone(), graph.direction.clone()
    edge = int(graph.has_direction.nonzero()[0])
    rotation[edge], direction[edge] = rotation[edge] @ turn, turn @ direction[edge]
    return replace(graph, rotation=rotation, direction=direction)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_true_poses_are_at_rest(random_graph: Callable[..., Any], seed: int) -> None:
    graph = random_graph(seed, dtype=FLOAT64)
    robust = RobustLoss(graph.measured)
    assert float(robust.bounded(graph.quaternion_wxyz, graph.translation, NARROW)) < 1e-9
    # The shortest baselines ask for more than they have, and so move a little.
    assert float(robust.pull(graph.quaternion_wxyz, graph.translation, NARROW)) < 1e-3


@given(seed=st.integers(0, 10_000), scale=st.floats(0.01, 100))
@settings(max_examples=15, deadline=None)
def test_a_similarity_of_the_world_changes_nothing(random_graph: Callable[..., Any], seed: int, scale: float) -> None:
    graph = random_graph(seed, dtype=FLOAT64)
    robust, (quaternion_wxyz, translation) = RobustLoss(graph.measured), disturbed(graph, 0.2, seed)
    generator = torch.Generator().manual_seed(seed + 1)
    old_from_new = exp_map(torch.randn(3, generator=generator, dtype=FLOAT64))
    shift = torch.randn(3, generator=generator, dtype=FLOAT64)
    rotation = quaternion_wxyz_to_matrix(quaternion_wxyz)
    moved = matrix_to_quaternion_wxyz(rotation @ old_from_new), scale * translation + rotation @ shift
    for term in (robust.bounded, robust.pull):
        torch.testing.assert_close(term(*moved, WIDE), term(quaternion_wxyz, translation, WIDE), atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_one_gross_edge_hardly_pulls(random_graph: Callable[..., Any], seed: int) -> None:
    """At the true poses all other edges agree, so the whole gradient is that of the gross one."""
    graph = random_graph(seed, dtype=FLOAT64)
    spoiled, poses = with_one_gross_edge(graph.measured), disturbed(graph, 0.0)
    of_paper = gradient(relative_pose_loss(*poses, spoiled), poses)
    of_bounded = gradient(RobustLoss(spoiled).bounded(*poses, NARROW), poses)
    assert of_bounded.norm() < 0.02 * of_paper.norm()


def test_an_angle_counts_no_more_than_the_scale() -> None:
    """Two cameras that disagree with their edge by 0.3 rad of rotation, and of direction at one end."""
    pair = make_disagreeing_pair()
    robust = RobustLoss(pair.measured)
    for scale in (0.05, 0.3, 3.0):
        expected = sum(scale * a**2 / (a**2 + scale**2) for a in (0.3, 0.15))
        assert float(robust.bounded(pair.quaternion_wxyz, pair.translation, scale)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_the_pull_goes_downhill(random_graph: Callable[..., Any], seed: int) -> None:
    graph = random_graph(seed, dtype=FLOAT64)
    robust, poses = RobustLoss(graph.measured), disturbed(graph, 0.1, seed)
    downhill = gradient(robust.bounded(*poses, WIDE), poses) @ gradient(robust.pull(*poses, WIDE), poses)
    assert downhill > 0


def test_edges_that_close_triplets_count_more() -> None:
    """Four cameras, all pairs: the one wrong edge closes neither of its triplets."""
    i, j = torch.triu_indices(4, 4, offset=1)
    rotation = torch.eye(3).repeat(6, 1, 1)
    rotation[0] = exp_map(torch.tensor([0.0, 0.0, 1.0]))
    graph = GraphTensors(
        torch.stack((i, j)),
        rotation,
        torch.tensor([[1.0, 0.0, 0.0]]).expand(6, 3),
        torch.ones(6, dtype=torch.bool),
        torch.full((6,), 100),
        torch.zeros(4, dtype=torch.int64),
    )
    weight = edge_weights(graph)
    assert float(weight[0]) < 0.5 * float(weight[1:].min())
    assert torch.all(edge_weights(replace(graph, num_matches=torch.full((6,), 400))) > weight)


@pytest.mark.parametrize("case", ["agreement", "half_turn", "same_centre"])
def test_gradients_are_finite_in_the_worst_cases(random_graph: Callable[..., Any], case: str) -> None:
    graph = random_graph(7)
    measured, translation = graph.measured, graph.translation.clone()
    if case == "half_turn":
        turned = measured.rotation @ torch.diag(torch.tensor([1.0, -1.0, -1.0]))
        measured = replace(measured, rotation=turned, direction=-measured.direction)
    if case == "same_centre":
        translation = torch.zeros_like(translation)
    poses = graph.quaternion_wxyz.clone().requires_grad_(), translation.requires_grad_()
    robust = RobustLoss(measured)
    for term in (robust.bounded, robust.pull):
        assert torch.isfinite(gradient(term(*poses, NARROW), poses)).all()
