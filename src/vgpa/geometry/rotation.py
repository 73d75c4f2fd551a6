"""Rotations as arrays: quaternions (w, x, y, z), 3x3 matrices and rotation vectors, in numpy.

All functions broadcast over leading axes. Angles are radians unless the name says degrees. None of them uses
arccos, whose rounding error grows without bound near 0 and pi; atan2 forms are exact to rounding everywhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def skew(vector: FloatArray) -> FloatArray:
    """Cross-product matrix: skew(v) @ w = v x w. (..., 3) -> (..., 3, 3)."""
    x, y, z = vector[..., 0], vector[..., 1], vector[..., 2]
    zero = np.zeros_like(x)
    rows = [np.stack(row, -1) for row in ([zero, -z, y], [z, zero, -x], [-y, x, zero])]
    return np.stack(rows, -2)


def normalize(vector: FloatArray) -> FloatArray:
    """Vector over its length; the zero vector stays zero. (..., n) -> (..., n)."""
    length = np.linalg.norm(vector, axis=-1, keepdims=True)
    return vector / np.where(length > 0, length, 1)


def quaternion_wxyz_to_matrix(quaternion_wxyz: FloatArray) -> FloatArray:
    """(..., 4) unit quaternions -> (..., 3, 3) rotation matrices."""
    w, vector = quaternion_wxyz[..., :1, None], quaternion_wxyz[..., 1:]
    cross = skew(vector)
    return np.eye(3, dtype=quaternion_wxyz.dtype) + 2 * (w * cross + cross @ cross)


def matrix_to_quaternion_wxyz(matrix: FloatArray) -> FloatArray:
    """(..., 3, 3) rotation matrices -> (..., 4) unit quaternions with w >= 0.

    Every column of 4 q q^T can be read off the matrix; we take the one with the largest norm, so that nothing
    is divided by a small number whatever the angle.
    """
    m = matrix
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    wx, wy, wz = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    xy, xz, yz = m[..., 1, 0] + m[..., 0, 1], m[..., 0, 2] + m[..., 2, 0], m[..., 2, 1] + m[..., 1, 2]
    columns = np.stack(
        [
            np.stack([1 + xx + yy + zz, wx, wy, wz], -1),
            np.stack([wx, 1 + xx - yy - zz, xy, xz], -1),
            np.stack([wy, xy, 1 - xx + yy - zz, yz], -1),
            np.stack([wz, xz, yz, 1 - xx - yy + zz], -1),
        ],
        -2,
    )
    diagonal = np.diagonal(columns, axis1=-2, axis2=-1)
    best = np.argmax(diagonal, axis=-1)[..., None, None]
    return canonical(normalize(np.take_along_axis(columns, best, axis=-2)[..., 0, :]))


def canonical(quaternion_wxyz: FloatArray) -> FloatArray:
    """The one of q and -q (the same rotation) with w >= 0. (..., 4) -> (..., 4)."""
    return np.where(quaternion_wxyz[..., :1] < 0, -quaternion_wxyz, quaternion_wxyz)


def wxyz_from_xyzw(quaternion_xyzw: FloatArray) -> FloatArray:
    """Scalar last (pycolmap, scipy) to scalar first. (..., 4) -> (..., 4)."""
    return np.roll(quaternion_xyzw, 1, axis=-1)


def xyzw_from_wxyz(quaternion_wxyz: FloatArray) -> FloatArray:
    """Scalar first (COLMAP files, ours) to scalar last. (..., 4) -> (..., 4)."""
    return np.roll(quaternion_wxyz, -1, axis=-1)


def multiply(a_wxyz: FloatArray, b_wxyz: FloatArray) -> FloatArray:
    """Hamilton product: the rotation b first, then a. (..., 4), (..., 4) -> (..., 4)."""
    aw, ax, ay, az = (a_wxyz[..., k] for k in range(4))
    bw, bx, by, bz = (b_wxyz[..., k] for k in range(4))
    product = (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )
    return np.stack(product, axis=-1)


def rotate(quaternion_wxyz: FloatArray, vector: FloatArray) -> FloatArray:
    """Turned vectors: v + 2 w (u x v) + 2 u x (u x v), where q = (w, u). (..., 4), (..., 3) -> (..., 3).

    Component by component, which for many rotations takes a fraction of the time that their matrices do.
    """
    w, x, y, z = (quaternion_wxyz[..., k] for k in range(4))
    a, b, c = (vector[..., k] for k in range(3))
    p, q, r = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return np.stack([a + w * p + y * r - z * q, b + w * q + z * p - x * r, c + w * r + x * q - y * p], axis=-1)


def conjugate(quaternion_wxyz: FloatArray) -> FloatArray:
    """The inverse rotation of a unit quaternion. (..., 4) -> (..., 4)."""
    return quaternion_wxyz * np.array([1, -1, -1, -1], dtype=quaternion_wxyz.dtype)


def exp_quaternion(rotation_vector: FloatArray) -> FloatArray:
    """Rotation vector (axis times angle in radians) -> unit quaternion. (..., 3) -> (..., 4)."""
    half = 0.5 * np.linalg.norm(rotation_vector, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * rotation_vector], axis=-1)


def log_quaternion(quaternion_wxyz: FloatArray) -> FloatArray:
    """Unit quaternion -> rotation vector with an angle in [0, pi]. (..., 4) -> (..., 3)."""
    q = canonical(quaternion_wxyz)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    half = np.arctan2(sine, q[..., :1])
    # Near zero angle / sine -> 2 / w, and w -> 1.
    ratio = np.where(sine > 1e-12, 2 * half / np.where(sine > 1e-12, sine, 1), 2.0)
    return ratio * q[..., 1:]


def exp_map(rotation_vector: FloatArray) -> FloatArray:
    """Rotation vector -> rotation matrix. (..., 3) -> (..., 3, 3)."""
    return quaternion_wxyz_to_matrix(exp_quaternion(rotation_vector))


def log_map(matrix: FloatArray) -> FloatArray:
    """Rotation matrix -> rotation vector with an angle in [0, pi]. (..., 3, 3) -> (..., 3)."""
    return log_quaternion(matrix_to_quaternion_wxyz(matrix))


def rotation_angle_rad(a: FloatArray, b: FloatArray) -> FloatArray:
    """Geodesic angle between rotation matrices (d_R of the paper's eq. 1). (..., 3, 3) twice -> (...).

    Through the quaternion, whose parts are the sine and the cosine of half the angle: exact near 0 and near pi.
    """
    return np.linalg.norm(log_map(np.swapaxes(a, -1, -2) @ b), axis=-1)


def direction_angle_rad(a: FloatArray, b: FloatArray) -> FloatArray:
    """Angle between unit vectors (d_t of the paper's eq. 1). (..., 3) twice -> (...)."""
    return 2 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))


def nearest_rotation(matrix: FloatArray) -> FloatArray:
    """The rotation closest to a 3x3 matrix in the chordal sense. (..., 3, 3) -> (..., 3, 3)."""
    u, _, vt = np.linalg.svd(matrix)
    sign = np.sign(np.linalg.det(u @ vt))
    u[..., :, -1] *= sign[..., None]
    return u @ vt
