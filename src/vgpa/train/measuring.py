"""What a matcher says about an edge: the relative pose with its noise, or a mistake.

The noise follows real view graphs (`docs/worlds.md` has the figures). It shrinks with the number of matches, for the
direction also with the parallax. A focal length that is wrong by a part x turns an edge by x times its parallax, about
the axis across the baseline, and its direction by half of that: every edge of a world errs the same way, so no
averaging can take it out.

Touches nothing but torch and `vgpa.geometry`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, radians

import torch
from torch import Tensor
from torch.nn.functional import normalize

from vgpa.geometry.torch_rotation import exp_map, quaternion_wxyz_to_matrix
from vgpa.train.draw import Draw

_ROTATION_STD_RAD = radians(0.6)
_MATCHES_AT_THAT_STD = 60.0
_POWER_OF_MATCHES = (0.5, 1.0)
_DIRECTION_PER_ROTATION_STD = 0.7
_EQUAL_PARALLAX_RAD = radians(30)
"""Where the part of the direction's noise that shrinks with parallax is the rotation's noise."""
_FOCAL_STD = 0.06
_PANORAMIC_PARALLAX_RAD = radians(0.5)
_UNKNOWN_DIRECTION_PART = 0.02


@dataclass(frozen=True)
class Noise:
    """How bad the measurements of B worlds with N cameras are."""

    rotation_std_rad: Tensor  # (B,) of an edge with 60 matches, per axis
    power: Tensor  # (B,) how fast it falls with the number of matches
    focal_error: Tensor  # (B, N) part by which the focal length is wrong


@dataclass(frozen=True)
class SeenPairs:
    """E edges as a matcher without noise would see them, and how much noise they get."""

    rotation_i: Tensor  # (E, 3, 3) cam_i_from_world
    rotation_j: Tensor  # (E, 3, 3) cam_j_from_world
    offset: Tensor  # (E, 3) centre_i - centre_j in the world
    distance: Tensor  # (E,) from camera i to what is seen, in the units of the offset
    parallax_rad: Tensor  # (E,)
    rotation_std_rad: Tensor  # (E,)
    focal_error: Tensor  # (E,)


@dataclass(frozen=True)
class Mistakes:
    """What went wrong with E edges, at most one thing each."""

    is_nonsense: Tensor  # (E,) the pose means nothing
    is_flat: Tensor  # (E,) the other solution of a flat scene
    is_lost: Tensor  # (E,) the direction means nothing


@dataclass(frozen=True)
class Measured:
    """What a matcher says about E edges: cam_j_from_cam_i."""

    rotation: Tensor  # (E, 3, 3)
    direction: Tensor  # (E, 3) unit length
    has_direction: Tensor  # (E,) False where the baseline is too short to tell


def draw_noise(draw: Draw, num_graphs: int, num_cams: int) -> Noise:
    """Noise of worlds: half of them know their focal lengths, the others share one wrong one or have many."""
    is_calibrated = draw.chance(0.5, num_graphs, 1)
    own = draw.normal(_FOCAL_STD, num_graphs, num_cams) * draw.chance(0.4, num_graphs, 1)
    return Noise(
        rotation_std_rad=draw.log_normal(_ROTATION_STD_RAD, 0.7, num_graphs),
        power=draw.uniform(*_POWER_OF_MATCHES, num_graphs),
        focal_error=~is_calibrated * (draw.normal(_FOCAL_STD, num_graphs, 1) + own),
    )


def edge_std_rad(draw: Draw, noise: Noise, graph_idx: Tensor, num_matches: Tensor) -> Tensor:
    """Standard deviations (E,) per axis of the rotations of edges, by their graph and matches."""
    fewer = (_MATCHES_AT_THAT_STD / num_matches).pow(noise.power[graph_idx])
    return noise.rotation_std_rad[graph_idx] * fewer * draw.log_normal(1.0, 0.5, len(num_matches))


def measure_edges(draw: Draw, pairs: SeenPairs, mistakes: Mistakes) -> Measured:
    """Add noise to what is seen, and put mistakes where there are any."""
    e = len(pairs.offset)
    is_flat, is_nonsense = mistakes.is_flat, mistakes.is_nonsense
    rotation = pairs.rotation_j @ pairs.rotation_i.mT
    # A hair of difference, so that two photos from the very same spot have some direction too.
    translation = (pairs.rotation_j @ (pairs.offset + draw.normal(1e-5, e, 3))[:, :, None]).squeeze(-1)
    facing = normalize(draw.normal(0.3, e, 3) + torch.tensor((0.0, 0.0, 1.0), device=translation.device), dim=-1)
    twin_rotation, twin_translation = flat_twin(rotation, translation / pairs.distance[:, None], facing)
    rotation = torch.where(is_flat[:, None, None], twin_rotation, rotation)
    direction = normalize(torch.where(is_flat[:, None], twin_translation, translation), dim=-1)

    std = pairs.rotation_std_rad
    per_rotation_std = _DIRECTION_PER_ROTATION_STD + _EQUAL_PARALLAX_RAD / pairs.parallax_rad.clamp(min=1e-3)
    direction_std = (per_rotation_std * std).clamp(max=1.0)
    focal_turn = _focal_turn(direction, pairs.focal_error * pairs.parallax_rad)
    rotation = exp_map(focal_turn + std[:, None] * draw.normal(1.0, e, 3)) @ rotation
    turn = exp_map(0.5 * focal_turn + direction_std[:, None] * draw.normal(1.0, e, 3))
    direction = normalize((turn @ direction[:, :, None]).squeeze(-1), dim=-1)

    wrong_rotation, wrong_direction = _nonsense(draw, pairs)
    is_panoramic = (pairs.parallax_rad < _PANORAMIC_PARALLAX_RAD) & ~is_nonsense
    return Measured(
        rotation=torch.where(is_nonsense[:, None, None], wrong_rotation, rotation),
        direction=torch.where((is_nonsense | mistakes.is_lost)[:, None], wrong_direction, direction),
        has_direction=~(is_panoramic | draw.chance(_UNKNOWN_DIRECTION_PART, e)),
    )


def flat_twin(rotation: Tensor, translation: Tensor, normal: Tensor) -> tuple[Tensor, Tensor]:
    """The other motion (E, 3, 3), (E, 3) with the same homography R + t n^T of a plane.

    Args:
        translation: (E, 3) in units of the distance of the plane from the first camera.
        normal: (E, 3) unit normals n in the first camera; the plane is n . x = 1.
    """
    back = (rotation.mT @ translation[:, :, None]).squeeze(-1)
    size = torch.linalg.vector_norm(translation, dim=-1, keepdim=True).clamp(min=1e-6)
    scale = torch.linalg.vector_norm(2 * normal + back, dim=-1, keepdim=True).clamp(min=1e-6)
    twin_normal = (size * normal + 2 * back / size) / scale
    twin_translation = size / scale * (rotation @ (2 * normal + back)[:, :, None]).squeeze(-1)
    homography = rotation + translation[:, :, None] * normal[:, None]
    twin_rotation = homography - twin_translation[:, :, None] * twin_normal[:, None]
    # The plane is in front of the camera, so its normal points ahead; the sign of both may change.
    sign = torch.where(twin_normal[:, 2:] < 0, -1.0, 1.0)
    return twin_rotation, sign * twin_translation


def _focal_turn(direction: Tensor, angle_rad: Tensor) -> Tensor:
    """Rotation vectors (E, 3) by the given angles about the axis across the baseline and the line of sight."""
    x, y, _ = direction.unbind(-1)
    across = torch.stack((y, -x, torch.zeros_like(x)), -1)
    return angle_rad[:, None] * normalize(across, dim=-1)


def _nonsense(draw: Draw, pairs: SeenPairs) -> tuple[Tensor, Tensor]:
    """Wrong relative poses: half arbitrary, half plausible (a yaw mistake)."""
    e = len(pairs.offset)
    anything = quaternion_wxyz_to_matrix(draw.normal(1.0, e, 4))
    yaw = torch.where(draw.chance(0.5, e), 1.0, -1.0) * draw.uniform(radians(15), pi, e)
    about_up = torch.stack((torch.zeros_like(yaw), torch.zeros_like(yaw), yaw), -1)
    yaw_mistake = pairs.rotation_j @ exp_map(about_up) @ pairs.rotation_i.mT
    level = draw.unit_vector(e) * torch.tensor((1.0, 1.0, 0.2), device=yaw.device)
    level_direction = normalize((pairs.rotation_j @ level[:, :, None]).squeeze(-1), dim=-1)
    is_arbitrary = draw.chance(0.5, e)[:, None]
    direction = torch.where(is_arbitrary, draw.unit_vector(e), level_direction)
    return torch.where(is_arbitrary[..., None], anything, yaw_mistake), direction
