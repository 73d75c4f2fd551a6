"""Laws of the loss: zero at agreement, blind to a similarity, bounded gradients everywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.network.conftest import make_disagreeing_pair
from vgpa.geometry.torch_rotation import exp_map, matrix_to_quaternion_wxyz, quaternion_wxyz_to_matrix
from vgpa.network.graph import GraphTensors
from vgpa.network.losses import relative_pose_loss

FLOAT64 = torch.float64


def wrong_poses(seed: int, num_cams: int = 9) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    quaternion_wxyz = torch.randn(num_cams, 4, generator=generator, dtype=FLOAT64)
    translation = torch.randn(num_cams, 3, generator=generator, dtype=FLOAT64)
    return quaternion_wxyz / quaternion_wxyz.norm(dim=1, keepdim=True), translation


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_true_poses_have_no_loss(random_graph: Callable[..., Any], seed: int) -> None:
    graph = random_graph(seed, dtype=FLOAT64)
    assert float(relative_pose_loss(graph.quaternion_wxyz, graph.translation, graph.measured)) < 1e-7


@given(seed=st.integers(0, 10_000), scale=st.floats(0.01, 100))
@settings(max_examples=15, deadline=None)
def test_a_similarity_of_the_world_changes_nothing(random_graph: Callable[..., Any], seed: int, scale: float) -> None:
    graph, (quaternion_wxyz, translation) = random_graph(seed, dtype=FLOAT64), wrong_poses(seed)
    generator = torch.Generator().manual_seed(seed + 1)
    old_from_new = exp_map(torch.randn(3, generator=generator, dtype=FLOAT64))
    shift = torch.randn(3, generator=generator, dtype=FLOAT64)
    rotation = quaternion_wxyz_to_matrix(quaternion_wxyz)
    moved_quaternion = matrix_to_quaternion_wxyz(rotation @ old_from_new)
    moved_translation = scale * translation + rotation @ shift
    before = relative_pose_loss(quaternion_wxyz, translation, graph.measured)
    after = relative_pose_loss(moved_quaternion, moved_translation, graph.measured)
    torch.testing.assert_close(after, before, atol=1e-9, rtol=1e-9)


def test_loss_is_the_sum_of_mean_angles() -> None:
    """Two cameras, 0.3 rad of rotation error about the baseline's normal, by hand."""
    pair = make_disagreeing_pair()
    loss = relative_pose_loss(pair.quaternion_wxyz, pair.translation, pair.measured)
    # Camera 1 is turned, so its direction is off by 0.3; seen from camera 0 the direction is right.
    assert float(loss) == pytest.approx(0.3 + 0.5 * (0.3 + 0.0), abs=1e-5)


def test_a_batch_of_graphs_is_the_mean_of_their_losses(random_graph: Callable[..., Any]) -> None:
    first, second = random_graph(1, dtype=FLOAT64), random_graph(2, num_cams=5, dtype=FLOAT64)
    poses, other = wrong_poses(1), wrong_poses(2, num_cams=5)
    apart = (relative_pose_loss(*poses, first.measured), relative_pose_loss(*other, second.measured))
    together = relative_pose_loss(
        *(torch.cat(pair) for pair in zip(poses, other, strict=True)),
        GraphTensors.join([first.measured, second.measured]),
    )
    torch.testing.assert_close(together, sum(apart) / 2)


def test_only_edges_with_a_direction_enter_the_direction_term(random_graph: Callable[..., Any]) -> None:
    graph, poses = random_graph(3, dtype=FLOAT64), wrong_poses(3)
    measured = graph.measured
    junk = torch.where(measured.has_direction[:, None], measured.direction, 7.0)
    expected = relative_pose_loss(*poses, graph.measured)
    got = relative_pose_loss(*poses, replace(measured, direction=junk))
    torch.testing.assert_close(got, expected)
    no_direction = torch.zeros_like(measured.has_direction)
    rotation_only = relative_pose_loss(*poses, replace(measured, has_direction=no_direction))
    assert 0 < float(rotation_only) < float(expected)


@pytest.mark.parametrize("case", ["agreement", "half_turn", "same_centre"])
def test_gradients_are_finite_and_bounded_in_the_worst_cases(random_graph: Callable[..., Any], case: str) -> None:
    graph = random_graph(7)
    quaternion_wxyz, translation = graph.quaternion_wxyz.clone(), graph.translation.clone()
    measured = graph.measured
    if case == "half_turn":
        turned = measured.rotation @ torch.diag(torch.tensor([1.0, -1.0, -1.0]))
        measured = replace(measured, rotation=turned, direction=-measured.direction)
    if case == "same_centre":
        translation = torch.zeros_like(translation)
    quaternion_wxyz.requires_grad_()
    translation.requires_grad_()
    loss = relative_pose_loss(quaternion_wxyz, translation, measured)
    loss.backward()
    assert torch.isfinite(loss)
    for gradient in (quaternion_wxyz.grad, translation.grad):
        assert gradient is not None
        assert torch.isfinite(gradient).all()
        if case != "same_centre":
            assert gradient.abs().max() < 100
