"""Laws of rotations: group axioms, round trips and angles, for quaternions, matrices and rotation vectors alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.transform import Rotation

from vgpa.geometry import rotation as rot

BATCHES = [(), (1,), (7,), (2, 3)]
ANGLES_RAD = [0.0, 1e-12, 1e-8, 1e-4, 0.3, 1.0, 3.0, np.pi - 1e-4, np.pi - 1e-8, np.pi]


def random_matrices(seed: int, *batch: int) -> np.ndarray:
    num = int(np.prod(batch)) if batch else 1
    return Rotation.random(num, random_state=seed).as_matrix().reshape(*batch, 3, 3)


unit_axes = hnp.arrays(np.float64, 3, elements=st.floats(-1, 1)).filter(lambda v: np.linalg.norm(v) > 1e-3)


@pytest.mark.parametrize("batch", BATCHES)
def test_group_axioms_of_quaternions(batch: tuple[int, ...]) -> None:
    a, b, c = (rot.matrix_to_quaternion_wxyz(random_matrices(seed, *batch)) for seed in (1, 2, 3))
    identity = np.array([1.0, 0, 0, 0])
    np.testing.assert_allclose(rot.multiply(rot.multiply(a, b), c), rot.multiply(a, rot.multiply(b, c)), atol=1e-14)
    np.testing.assert_allclose(rot.multiply(a, np.broadcast_to(identity, a.shape)), a, atol=1e-15)
    np.testing.assert_allclose(
        rot.canonical(rot.multiply(a, rot.conjugate(a))), np.broadcast_to(identity, a.shape), atol=1e-14
    )


@pytest.mark.parametrize("batch", BATCHES)
def test_product_of_quaternions_is_product_of_matrices(batch: tuple[int, ...]) -> None:
    a, b = random_matrices(4, *batch), random_matrices(5, *batch)
    product = rot.multiply(rot.matrix_to_quaternion_wxyz(a), rot.matrix_to_quaternion_wxyz(b))
    np.testing.assert_allclose(rot.quaternion_wxyz_to_matrix(product), a @ b, atol=1e-14)


@pytest.mark.parametrize("batch", BATCHES)
def test_turning_a_vector_is_the_matrix_times_it(batch: tuple[int, ...]) -> None:
    matrix, vector = random_matrices(6, *batch), np.random.default_rng(7).normal(size=(*batch, 3))
    turned = rot.rotate(rot.matrix_to_quaternion_wxyz(matrix), vector)
    np.testing.assert_allclose(turned, (matrix @ vector[..., None])[..., 0], atol=1e-14)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-13)])
@pytest.mark.parametrize("batch", BATCHES)
def test_matrix_round_trip_keeps_dtype(batch: tuple[int, ...], dtype: type, tolerance: float) -> None:
    matrix = random_matrices(6, *batch).astype(dtype)
    quaternion = rot.matrix_to_quaternion_wxyz(matrix)
    assert quaternion.dtype == dtype
    assert quaternion.shape == (*batch, 4)
    np.testing.assert_allclose(rot.quaternion_wxyz_to_matrix(quaternion), matrix, atol=tolerance)


@given(axis=unit_axes, angle=st.one_of(st.sampled_from(ANGLES_RAD), st.floats(0, np.pi)))
def test_exp_then_log_gives_the_same_rotation(axis: np.ndarray, angle: float) -> None:
    vector = angle * axis / np.linalg.norm(axis)
    matrix = rot.exp_map(vector)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(matrix) == pytest.approx(1)
    recovered = rot.log_map(matrix)
    # At pi the axis may come back with the other sign, which is the same rotation.
    same = np.allclose(recovered, vector, atol=1e-7) or np.allclose(recovered, -vector, atol=1e-7)
    assert same if angle > np.pi - 1e-6 else np.allclose(recovered, vector, atol=1e-9 + 1e-9 / max(np.pi - angle, 1e-6))


@given(axis=unit_axes, angle=st.one_of(st.sampled_from(ANGLES_RAD), st.floats(0, np.pi)))
def test_angle_is_the_length_of_the_log_everywhere(axis: np.ndarray, angle: float) -> None:
    vector = angle * axis / np.linalg.norm(axis)
    base = random_matrices(7)
    measured = rot.rotation_angle_rad(base, base @ rot.exp_map(vector))
    assert measured == pytest.approx(angle, abs=1e-14)


@given(axis=unit_axes, angle=st.one_of(st.sampled_from(ANGLES_RAD), st.floats(0, np.pi)))
def test_direction_angle_is_exact_near_0_and_pi(axis: np.ndarray, angle: float) -> None:
    a = rot.normalize(axis)
    orthogonal = rot.normalize(np.cross(a, np.eye(3)[np.argmin(np.abs(a))]))
    b = np.cos(angle) * a + np.sin(angle) * orthogonal
    assert rot.direction_angle_rad(a, b) == pytest.approx(angle, abs=1e-12)


def test_quaternion_orders_are_inverse_and_agree_with_scipy() -> None:
    matrix = random_matrices(8, 5)
    wxyz = rot.matrix_to_quaternion_wxyz(matrix)
    np.testing.assert_allclose(rot.wxyz_from_xyzw(rot.xyzw_from_wxyz(wxyz)), wxyz)
    np.testing.assert_allclose(Rotation.from_quat(rot.xyzw_from_wxyz(wxyz)).as_matrix(), matrix, atol=1e-14)


def test_log_agrees_with_scipy() -> None:
    matrix = random_matrices(9, 100)
    np.testing.assert_allclose(rot.log_map(matrix), Rotation.from_matrix(matrix).as_rotvec(), atol=1e-12)


def test_skew_is_the_cross_product() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 4, 3))
    np.testing.assert_allclose(np.einsum("nij,nj->ni", rot.skew(a), b), np.cross(a, b))


def test_nearest_rotation_undoes_scaling_and_never_reflects() -> None:
    matrix = random_matrices(10, 6)
    np.testing.assert_allclose(rot.nearest_rotation(3.7 * matrix), matrix, atol=1e-14)
    reflected = rot.nearest_rotation(matrix @ np.diag([1, 1, -1.0]))
    np.testing.assert_allclose(np.linalg.det(reflected), 1)


def test_zero_vector_normalizes_to_zero() -> None:
    np.testing.assert_array_equal(rot.normalize(np.zeros((2, 3))), 0)
