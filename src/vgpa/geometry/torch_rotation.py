"""Rotations in torch, batched over leading axes, for the network, its loss and its training.

The numpy twins live in `vgpa.geometry.rotation`. Everything here can be differentiated: gradients
are finite for every input, also where two rotations agree or differ by 180 degrees, because no
function uses arccos (its slope is infinite at agreement, which is where training ends up).

Pure functions on tensors; touches nothing but torch.
"""

from __future__ import annotations

import torch
from torch import Tensor

_SMALL_SINE = 1e-6


def quaternion_wxyz_to_matrix(quaternion_wxyz: Tensor) -> Tensor:
    """Rotation matrices (..., 3, 3) of non-zero quaternions (..., 4); their length does not matter."""
    w, x, y, z = quaternion_wxyz.unbind(-1)
    two_over_norm = 2.0 / quaternion_wxyz.square().sum(-1)
    xx, yy, zz = two_over_norm * x * x, two_over_norm * y * y, two_over_norm * z * z
    xy, xz, yz = two_over_norm * x * y, two_over_norm * x * z, two_over_norm * y * z
    wx, wy, wz = two_over_norm * w * x, two_over_norm * w * y, two_over_norm * w * z
    rows = (
        *(1.0 - yy - zz, xy - wz, xz + wy),
        *(xy + wz, 1.0 - xx - zz, yz - wx),
        *(xz - wy, yz + wx, 1.0 - xx - yy),
    )
    return torch.stack(rows, dim=-1).reshape(*w.shape, 3, 3)


def matrix_to_quaternion_wxyz(rotation: Tensor) -> Tensor:
    """Unit quaternions (..., 4) with w >= 0 of rotation matrices (..., 3, 3).

    Row k of `multiples` is 4 q_k q. The row of the largest |q_k| >= 1/2 is normalised, so neither
    the value nor the gradient loses digits anywhere.
    """
    (m00, m01, m02), (m10, m11, m12), (m20, m21, m22) = (row.unbind(-1) for row in rotation.unbind(-2))
    wx, wy, wz = m21 - m12, m02 - m20, m10 - m01
    xy, xz, yz = m10 + m01, m02 + m20, m21 + m12
    multiples = torch.stack(
        (
            *(1.0 + m00 + m11 + m22, wx, wy, wz),
            *(wx, 1.0 + m00 - m11 - m22, xy, xz),
            *(wy, xy, 1.0 - m00 + m11 - m22, yz),
            *(wz, xz, yz, 1.0 - m00 - m11 + m22),
        ),
        dim=-1,
    ).reshape(*m00.shape, 4, 4)
    largest = multiples.diagonal(dim1=-2, dim2=-1).argmax(-1)
    index = largest[..., None, None].expand(*largest.shape, 1, 4)
    row = multiples.gather(-2, index).squeeze(-2)
    sign = torch.where(row[..., :1] < 0, -1.0, 1.0)
    length: Tensor = torch.linalg.vector_norm(row, dim=-1, keepdim=True)
    return sign * row / length


def log_map(rotation: Tensor) -> Tensor:
    """Rotation vectors (..., 3), radians, length at most pi, of rotation matrices (..., 3, 3)."""
    quaternion_wxyz = matrix_to_quaternion_wxyz(rotation)
    cosine, axis_sine = quaternion_wxyz[..., :1], quaternion_wxyz[..., 1:]
    sine = torch.linalg.vector_norm(axis_sine, dim=-1, keepdim=True)
    is_small = sine < _SMALL_SINE
    # Both branches of `where` are differentiated, so the unused one must stay finite too.
    safe_sine = torch.where(is_small, 1.0, sine)
    angle_per_sine = torch.where(is_small, 2.0, 2.0 * torch.atan2(safe_sine, cosine) / safe_sine)
    return angle_per_sine * axis_sine


def exp_map(rotation_vector: Tensor) -> Tensor:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3) in radians."""
    half_angle = 0.5 * torch.linalg.vector_norm(rotation_vector, dim=-1, keepdim=True)
    # torch.sinc(x) is sin(pi x) / (pi x), smooth at zero.
    half_sinc = 0.5 * torch.sinc(half_angle / torch.pi)
    quaternion_wxyz = torch.cat((half_angle.cos(), half_sinc * rotation_vector), dim=-1)
    return quaternion_wxyz_to_matrix(quaternion_wxyz)


def rotation_angle(rotation_a: Tensor, rotation_b: Tensor) -> Tensor:
    """Geodesic angle (...), radians in [0, pi], between rotation matrices (..., 3, 3).

    With D = A^T B, sin and cos of the angle are |vee(D - D^T)| / 2 and (trace D - 1) / 2; their
    atan2 has full precision and a gradient of bounded length over the whole range.
    """
    difference = rotation_a.transpose(-1, -2) @ rotation_b
    twice_axis_sine = torch.stack(
        (
            difference[..., 2, 1] - difference[..., 1, 2],
            difference[..., 0, 2] - difference[..., 2, 0],
            difference[..., 1, 0] - difference[..., 0, 1],
        ),
        dim=-1,
    )
    twice_cosine = difference.diagonal(dim1=-2, dim2=-1).sum(-1) - 1.0
    return torch.atan2(torch.linalg.vector_norm(twice_axis_sine, dim=-1), twice_cosine)


def direction_angle(direction_a: Tensor, direction_b: Tensor) -> Tensor:
    """Angle (...), radians in [0, pi], between unit vectors (..., 3): 2 atan2(|a - b|, |a + b|)."""
    apart = torch.linalg.vector_norm(direction_a - direction_b, dim=-1)
    together = torch.linalg.vector_norm(direction_a + direction_b, dim=-1)
    return 2.0 * torch.atan2(apart, together)
