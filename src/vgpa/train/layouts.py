"""Where people stand and what they photograph: five kinds of places, many at a time.

Facade, building seen all around, plaza seen from inside, street or loop, and a flight over a town.
Lengths are metres, z is up. Each kind is a function from `place`, (B, N) with values from 0 up, to a
`Layout` of B places: `place` is the position of a camera in the order of shooting, as a fraction
of the number of cameras (values of 1 and above belong to cameras that do not exist).

Touches nothing but torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import pi, radians

import torch
from torch import Tensor
from torch.nn.functional import normalize

from vgpa.train.draw import Draw

_EYE_HEIGHT = 1.6
_NUM_PATH_STEPS = 1024


@dataclass(frozen=True)
class Layout:
    """Cameras and surface points of B places."""

    centre: Tensor  # (B, N, 3) camera centres
    forward: Tensor  # (B, N, 3) unit viewing directions
    up_hint: Tensor  # (B, N, 3) what is up in the photo, before roll; not parallel to forward
    point: Tensor  # (B, P, 3) points on surfaces
    normal: Tensor  # (B, P, 3) unit outward normals
    max_range: Tensor  # (B,) a point further away is not recognised

    @staticmethod
    def concatenate(layouts: list[Layout]) -> Layout:
        """All places of several layouts with the same numbers of cameras and points."""
        return Layout(*(torch.cat([getattr(x, f.name) for x in layouts]) for f in fields(Layout)))


def facade(draw: Draw, place: Tensor, num_points: int) -> Layout:
    """One wall with some relief, photographed from in front at many distances."""
    b, n = place.shape
    width, height = draw.uniform(20, 60, b, 1), draw.uniform(10, 30, b, 1)
    relief = draw.uniform(0.5, 5, b, 1)
    depth = relief * draw.uniform(0, 1, b, num_points).square()
    across = width * draw.uniform(-0.5, 0.5, b, num_points)
    point = torch.stack((across, depth, height * draw.uniform(0, 1, b, num_points)), -1)
    normal = _near(0.0, -1.0, 0.0, spread=draw.normal(0.35, b, num_points, 3))

    x = width * draw.normal(0.45, b, n)
    y = -width * draw.log_normal(0.7, 0.4, b, n)
    z = _EYE_HEIGHT + 0.5 * height * draw.uniform(0, 1, b, n).pow(4)
    centre = torch.stack((x, y, z), -1)
    aim_x = 0.35 * x + width * draw.normal(0.2, b, n)
    aim = torch.stack((aim_x, torch.zeros_like(x), height * draw.uniform(0.2, 0.6, b, n)), -1)
    return _looking_at(aim, centre, point, normal, 4 * width)


def around(draw: Draw, place: Tensor, num_points: int) -> Layout:
    """A building, statue or object seen from all (or most) sides."""
    b, n = place.shape
    size, height = draw.uniform(6, 20, b, 1), draw.uniform(5, 25, b, 1)
    point, normal = _wall_ring(draw, size, height, num_points)

    # A few photos cover a few views only: neighbours are at most 20 degrees apart.
    arc = draw.uniform(radians(200), radians(420), b, 1).minimum(radians(20) / place[:, 1:2])
    bunch = draw.uniform(0, 0.8, b, 1)
    angle = arc * place.fmod(1.0) + draw.normal(0.1, b, n)
    angle = angle + bunch * torch.sin(angle + draw.uniform(0, 2 * pi, b, 1))
    radius = size * (1.0 + draw.log_normal(1.0, 0.2, b, 1) * draw.log_normal(1.0, 0.3, b, n))
    steepness = draw.uniform(0, 0.8, b, 1) * draw.uniform(0, 1, b, n)
    z = _EYE_HEIGHT + steepness * radius
    centre = torch.stack((radius * angle.cos(), radius * angle.sin(), z), -1)
    aim_xy = 0.25 * size[..., None] * draw.normal(1.0, b, n, 2)
    aim = torch.cat((aim_xy, (height * draw.uniform(0.2, 0.6, b, n))[..., None]), -1)
    return _looking_at(aim, centre, point, normal, 6 * size)


def plaza(draw: Draw, place: Tensor, num_points: int) -> Layout:
    """A square or a room with walls on all sides, photographed from inside in all directions."""
    b, n = place.shape
    size, height = draw.uniform(12, 40, b, 1), draw.uniform(6, 20, b, 1)
    point, outward = _wall_ring(draw, size, height, num_points)

    spread = draw.uniform(0.2, 0.45, b, 1, 1)
    xy = (size[..., None] * spread * draw.normal(1.0, b, n, 2)).clamp(-0.8 * size[..., None], 0.8 * size[..., None])
    z = _EYE_HEIGHT + draw.uniform(0, 1, b, n).pow(6) * height
    centre = torch.cat((xy, z[..., None]), -1)
    # A few photos look one way; from about twenty on they look all around.
    sweep = (radians(18) / place[:, 1:2]).clamp(max=2 * pi)
    yaw = draw.uniform(-pi, pi, b, 1) + sweep * draw.uniform(0, 1, b, n)
    forward = _heading(yaw, draw.normal(0.1, b, n) + 0.08)
    return _layout(centre, forward, point, -outward, 4 * size)


def street(draw: Draw, place: Tensor, num_points: int) -> Layout:
    """A walk or drive along houses on both sides: a bending street or a closed loop."""
    b, n = place.shape
    spacing = draw.uniform(1, 4, b, 1)
    path, tangent = _path(draw, spacing / place[:, 1:2])

    along = draw.uniform(0, 1, b, num_points)
    side = torch.where(draw.chance(0.5, b, num_points), 1.0, -1.0)
    offset = side * (draw.uniform(5, 12, b, 1) + draw.uniform(0, 3, b, num_points))
    left = _left_of(_at(tangent, along))
    point_xy = _at(path, along) + offset[..., None] * left
    point = torch.cat((point_xy, draw.uniform(0, 12, b, num_points, 1)), -1)
    towards_street = torch.cat((-side[..., None] * left, torch.zeros_like(point[..., :1])), -1)
    normal = normalize(towards_street + draw.normal(0.4, b, num_points, 3), dim=-1)

    walked = place.fmod(1.0) + 0.3 * place[:, 1:2] * draw.normal(1.0, b, n)
    ahead = _at(tangent, walked)
    xy = _at(path, walked) + draw.normal(1.0, b, n, 1) * _left_of(ahead)
    centre = torch.cat((xy, _EYE_HEIGHT + draw.normal(0.1, b, n, 1)), -1)
    # Looking ahead, to one side, or alternately wherever there is something to see.
    habit = draw.uniform(-pi / 2, pi / 2, b, 1) * draw.chance(0.5, b, 1)
    yaw = torch.atan2(ahead[..., 1], ahead[..., 0]) + habit
    yaw = yaw + draw.uniform(0.1, 0.4, b, 1) * draw.normal(1.0, b, n)
    forward = _heading(yaw, draw.normal(0.08, b, n) + 0.05)
    return _layout(centre, forward, point, normal, draw.uniform(25, 60, b, 1))


def aerial(draw: Draw, place: Tensor, num_points: int) -> Layout:
    """A flight over a town: strips or scattered photos, looking straight down or ahead and down."""
    b, n = place.shape
    side = draw.uniform(100, 300, b, 1)
    num_columns = place[:, 1:2].rsqrt().ceil()
    step = side / num_columns
    altitude = step * draw.uniform(2.5, 6, b, 1)

    relief = altitude * draw.uniform(0.05, 0.3, b, 1)
    z = relief * draw.uniform(0, 1, b, num_points) * draw.chance(0.5, b, num_points)
    ground = 1.3 * side[..., None] * draw.uniform(-0.5, 0.5, b, num_points, 2)
    point = torch.cat((ground, z[..., None]), -1)
    normal = _near(0.0, 0.0, 1.0, spread=draw.normal(0.5, b, num_points, 3))

    order = (place / place[:, 1:2]).round()
    row, column = (order / num_columns).floor(), order.fmod(num_columns)
    is_back = row.fmod(2.0) > 0.5
    column = torch.where(is_back, num_columns - 1 - column, column)
    strip_xy = (torch.stack((column, row), -1) + 0.5) * step[..., None] - 0.5 * side[..., None]
    strip_xy = strip_xy + 0.1 * step[..., None] * draw.normal(1.0, b, n, 2)
    is_strip = draw.chance(0.5, b, 1)
    free_xy = side[..., None] * draw.uniform(-0.5, 0.5, b, n, 2)
    xy = torch.where(is_strip[..., None], strip_xy, free_xy)
    centre = torch.cat((xy, (altitude * draw.log_normal(1.0, 0.05, b, n))[..., None]), -1)
    strip_yaw = torch.where(is_back, pi, 0.0) + draw.normal(0.1, b, n)
    yaw = torch.where(is_strip, strip_yaw, draw.uniform(-pi, pi, b, n))
    tilt = draw.uniform(0, 0.7, b, 1) * draw.chance(0.5, b, 1) + draw.normal(0.05, b, n)
    forward, up_hint = _heading(yaw, tilt - pi / 2), _heading(yaw, torch.zeros_like(yaw))
    return Layout(centre, forward, up_hint, point, normal, 20 * altitude[:, 0])


KINDS: tuple[Callable[[Draw, Tensor, int], Layout], ...] = (facade, around, plaza, street, aerial)


def _layout(centre: Tensor, forward: Tensor, point: Tensor, normal: Tensor, max_range: Tensor) -> Layout:
    up = torch.tensor((0.0, 0.0, 1.0), device=centre.device).expand_as(centre)
    return Layout(centre, forward, up, point, normal, max_range[:, 0])


def _looking_at(aim: Tensor, centre: Tensor, point: Tensor, normal: Tensor, max_range: Tensor) -> Layout:
    return _layout(centre, normalize(aim - centre, dim=-1), point, normal, max_range)


def _heading(yaw: Tensor, pitch: Tensor) -> Tensor:
    """Unit vectors (..., 3) of a compass angle and an angle above the horizon, radians."""
    return torch.stack((pitch.cos() * yaw.cos(), pitch.cos() * yaw.sin(), pitch.sin()), -1)


def _near(x: float, y: float, z: float, spread: Tensor) -> Tensor:
    """Unit vectors (..., 3) scattered about (x, y, z)."""
    return normalize(torch.tensor((x, y, z), device=spread.device) + spread, dim=-1)


def _wall_ring(draw: Draw, size: Tensor, height: Tensor, num_points: int) -> tuple[Tensor, Tensor]:
    """Points and outward normals (B, P, 3) on upright walls about the origin: a box or an ellipse."""
    b = len(size)
    angle = draw.uniform(-pi, pi, b, num_points)
    circle = torch.stack((angle.cos(), angle.sin()), -1)
    largest = circle.abs().amax(-1, keepdim=True)
    box_normal = torch.where(circle.abs() == largest, circle.sign(), 0.0)
    is_box = draw.chance(0.6, b, 1, 1)
    stretch = torch.stack((size, size * draw.uniform(0.5, 1.0, b, 1)), -1)
    xy = torch.where(is_box, circle / largest, circle) * stretch
    z = height * draw.uniform(0, 1, b, num_points)
    flat_normal = torch.where(is_box, box_normal, circle / stretch * size[..., None])
    upright = torch.cat((flat_normal, torch.zeros_like(z)[..., None]), -1)
    normal = normalize(normalize(upright, dim=-1) + draw.normal(0.3, b, num_points, 3), dim=-1)
    return torch.cat((xy, z[..., None]), -1), normal


def _path(draw: Draw, length: Tensor) -> tuple[Tensor, Tensor]:
    """Positions and unit tangents (B, K, 2) along B smooth paths of the given lengths (B, 1)."""
    b = len(length)
    walked = torch.linspace(0, 1, _NUM_PATH_STEPS, device=length.device).expand(b, -1)
    is_loop = draw.chance(0.4, b, 1)
    wiggle = torch.where(is_loop, 0.4, 1.2) * draw.uniform(0, 1, b, 1)
    waves, phase = draw.uniform(0.3, 2.0, b, 1), draw.uniform(0, 2 * pi, b, 1)
    yaw = wiggle * torch.sin(2 * pi * waves * walked + phase) + 2 * pi * walked * is_loop
    step = length / _NUM_PATH_STEPS
    path = (step[..., None] * torch.stack((yaw.cos(), yaw.sin()), -1)).cumsum(1)
    gap = torch.where(is_loop, 1.0, 0.0)[..., None] * (path[:, -1:] - path[:, :1])
    path = path - walked[..., None] * gap
    return path, normalize(torch.gradient(path, dim=1)[0], dim=-1)


def _at(path: Tensor, walked: Tensor) -> Tensor:
    """Rows (B, M, 2) of a sampled path (B, K, 2) at the fractions `walked` (B, M) of its length."""
    index = (walked * (_NUM_PATH_STEPS - 1)).round().long().clamp(0, _NUM_PATH_STEPS - 1)
    return path.gather(1, index[..., None].expand(*index.shape, 2))


def _left_of(direction: Tensor) -> Tensor:
    return torch.stack((-direction[..., 1], direction[..., 0]), -1)
