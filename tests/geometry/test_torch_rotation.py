"""The torch rotations obey the laws of SO(3), agree with their numpy twins, and never give bad gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vgpa.geometry import rotation as numpy_rotation
from vgpa.geometry import torch_rotation

seeds = st.integers(0, 2**31 - 1)


def random_vectors(seed: int, num: int = 16, max_angle: float = np.pi) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    axis = numpy_rotation.normalize(rng.normal(size=(num, 3)))
    return torch.from_numpy(axis * rng.uniform(0, max_angle, (num, 1)))


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_exp_and_log_undo_each_other(seed: int) -> None:
    vector = random_vectors(seed, max_angle=3.1)
    torch.testing.assert_close(torch_rotation.log_map(torch_rotation.exp_map(vector)), vector)


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_numpy_twins_agree(seed: int) -> None:
    vector, other = random_vectors(seed), random_vectors(seed + 1)
    matrix, other_matrix = torch_rotation.exp_map(vector), torch_rotation.exp_map(other)
    pairs = [
        (matrix, numpy_rotation.exp_map(vector.numpy())),
        (torch_rotation.log_map(matrix), numpy_rotation.log_map(matrix.numpy())),
        (
            torch_rotation.matrix_to_quaternion_wxyz(matrix),
            numpy_rotation.matrix_to_quaternion_wxyz(matrix.numpy()),
        ),
        (
            torch_rotation.rotation_angle(matrix, other_matrix),
            numpy_rotation.rotation_angle_rad(matrix.numpy(), other_matrix.numpy()),
        ),
    ]
    for ours, twin in pairs:
        np.testing.assert_allclose(ours.numpy(), twin, atol=1e-9)


def test_quaternion_length_does_not_matter_and_matrix_is_a_rotation() -> None:
    quaternion_wxyz = torch.from_numpy(np.random.default_rng(0).normal(size=(4, 5, 4)))
    matrix = torch_rotation.quaternion_wxyz_to_matrix(quaternion_wxyz)
    torch.testing.assert_close(matrix @ matrix.mT, torch.eye(3, dtype=torch.float64).expand_as(matrix))
    torch.testing.assert_close(torch.linalg.det(matrix), torch.ones(4, 5, dtype=torch.float64))
    torch.testing.assert_close(torch_rotation.quaternion_wxyz_to_matrix(-3 * quaternion_wxyz), matrix)


@pytest.mark.parametrize("angle", [0.0, 1e-7, 1e-4, 1.0, np.pi - 1e-4, np.pi - 1e-7, np.pi])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_angles_and_logs_are_exact_near_zero_and_half_a_turn(angle: float, dtype: torch.dtype) -> None:
    axis = torch.tensor([0.6, 0.0, 0.8], dtype=torch.float64)
    matrix = torch_rotation.exp_map(axis * angle).to(dtype)
    tolerance = 1e-12 if dtype == torch.float64 else 1e-6
    identity = torch.eye(3, dtype=dtype)
    assert abs(float(torch_rotation.rotation_angle(identity, matrix)) - angle) < tolerance
    logarithm = torch_rotation.log_map(matrix)
    assert abs(float(torch.linalg.vector_norm(logarithm)) - angle) < tolerance
    torch.testing.assert_close(torch_rotation.exp_map(logarithm), matrix, atol=tolerance, rtol=0)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-6, 1e-3, 2.0, np.pi - 1e-6, np.pi])
@pytest.mark.parametrize("function", ["log_map", "rotation_angle", "direction_angle", "exp_map"])
def test_gradients_are_finite_and_bounded_everywhere(function: str, angle: float) -> None:
    for axis in torch.cat((torch.eye(3), torch.tensor([[0.48, 0.6, 0.64]]))):
        vector = (axis * angle).requires_grad_()
        matrix = torch_rotation.exp_map(vector)
        if function == "log_map":
            value = torch_rotation.log_map(matrix).sum()
        elif function == "rotation_angle":
            value = torch_rotation.rotation_angle(torch.eye(3), matrix)
        elif function == "direction_angle":
            start = torch.linalg.cross(axis, torch.tensor([0.3, -0.7, 0.2]))
            start = start / torch.linalg.vector_norm(start)
            value = torch_rotation.direction_angle(matrix @ start, start)
        else:
            value = matrix.sum()
        value.backward()
        assert vector.grad is not None
        assert torch.isfinite(vector.grad).all()
        assert vector.grad.abs().max() < 10


def test_angle_slope_is_one_along_the_rotation() -> None:
    angle = torch.tensor([1e-3, 0.5, 1.5, 3.0, 3.14], dtype=torch.float64, requires_grad=True)
    axis = torch.tensor([0.48, 0.6, 0.64], dtype=torch.float64)
    matrix = torch_rotation.exp_map(angle[:, None] * axis)
    torch_rotation.rotation_angle(torch.eye(3, dtype=torch.float64), matrix).sum().backward()
    torch.testing.assert_close(angle.grad, torch.ones(5, dtype=torch.float64))


def test_direction_angle_closed_forms() -> None:
    x, y = torch.eye(3)[:2]
    angles = torch_rotation.direction_angle(torch.stack((x, x, x)), torch.stack((x, y, -x)))
    torch.testing.assert_close(angles, torch.tensor([0.0, np.pi / 2, np.pi]))
