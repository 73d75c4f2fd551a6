"""Places seen from many spots: a facade, a building from all around, a plaza from inside, a town from the air.

Each kind is a function from `place`, (B, N) with values from 0 up, to a `Layout` of B places: `place` is the position
of a camera in the order of shooting, as a fraction of the number of cameras (values of 1 and above belong to cameras
that do not exist).

Touches nothing but torch.
"""

from __future__ import annotations

from math import pi, radians

import torch
from torch import Tensor
from torch.nn.functional import normalize

from vgpa.train.draw import Draw
from vgpa.train.layouts import (
    Layout,
    draw_pictures,
    draw_texture,
    face,
    heading,
    hold_level,
    rolled,
    scattered_about,
)

EYE_HEIGHT = 1.6


def facade(draw: Draw, place: Tensor, num_points: int) -> Layout:
    """One wall with some relief, photographed from in front at many distances."""
    b, n = place.shape
    width, height = draw.uniform(20, 60, b, 1), draw.uniform(10, 30, b, 1)
    relief = draw.uniform(0.5, 5, b, 1)
    depth = relief * draw.uniform(0, 1, b, num_points).square()
    across = width * draw.uniform(-0.5, 0.5, b, num_points)
    point = torch.stack((across, depth, height * draw.uniform(0, 1, b, num_points)), -1)
    normal = scattered_about(0.0, -1.0, 0.0, spread=draw.normal(0.35, b, num_points, 3))

    x = width * draw.normal(0.45, b, n)
    y = -width * draw.log_normal(0.7, 0.4, b, n)
    z = EYE_HEIGHT + 0.5 * height * draw.uniform(0, 1, b, n).pow(4)
    centre = torch.stack((x, y, z), -1)
    aim_x = 0.35 * x + width * draw.normal(0.2, b, n)
    aim = torch.stack((aim_x, torch.zeros_like(x), height * draw.uniform(0.2, 0.6, b, n)), -1)
    cam_from_world = hold_level(draw, normalize(aim - centre, dim=-1))
    return _photographed(draw, centre, cam_from_world, (point, normal), 4 * width)


def around(draw: Draw, place: Tensor, num_points: int) -> Layout:
    """A building or monument seen from all (or most) sides."""
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
    z = EYE_HEIGHT + steepness * radius
    centre = torch.stack((radius * angle.cos(), radius * angle.sin(), z), -1)
    aim_xy = 0.25 * size[..., None] * draw.normal(1.0, b, n, 2)
    aim = torch.cat((aim_xy, (height * draw.uniform(0.2, 0.6, b, n))[..., None]), -1)
    cam_from_world = hold_level(draw, normalize(aim - centre, dim=-1))
    return _photographed(draw, centre, cam_from_world, (point, normal), 6 * size)


def plaza(draw: Draw, place: Tensor, num_points: int) -> Layout:
    """A square or a room with walls on all sides, photographed from inside in all directions."""
    b, n = place.shape
    size, height = draw.uniform(12, 40, b, 1), draw.uniform(6, 20, b, 1)
    point, outward = _wall_ring(draw, size, height, num_points)

    spread = draw.uniform(0.2, 0.45, b, 1, 1)
    xy = (size[..., None] * spread * draw.normal(1.0, b, n, 2)).clamp(-0.8 * size[..., None], 0.8 * size[..., None])
    z = EYE_HEIGHT + draw.uniform(0, 1, b, n).pow(6) * height
    centre = torch.cat((xy, z[..., None]), -1)
    # A few photos look one way; from about twenty on they look all around.
    sweep = (radians(18) / place[:, 1:2]).clamp(max=2 * pi)
    yaw = draw.uniform(-pi, pi, b, 1) + sweep * draw.uniform(0, 1, b, n)
    forward = heading(yaw, draw.normal(0.1, b, n) + 0.08)
    return _photographed(draw, centre, hold_level(draw, forward), (point, -outward), 4 * size)


def aerial(draw: Draw, place: Tensor, num_points: int) -> Layout:
    """A flight over a town: strips or scattered photos, looking straight down or ahead and down."""
    b, n = place.shape
    side = draw.uniform(100, 300, b, 1)
    num_columns = place[:, 1:2].rsqrt().ceil()
    step = side / num_columns
    altitude = step * draw.uniform(2.5, 6, b, 1)

    relief = altitude * draw.uniform(0.02, 0.3, b, 1)
    z = relief * draw.uniform(0, 1, b, num_points) * draw.chance(0.5, b, num_points)
    ground = 1.3 * side[..., None] * draw.uniform(-0.5, 0.5, b, num_points, 2)
    point = torch.cat((ground, z[..., None]), -1)
    normal = scattered_about(0.0, 0.0, 1.0, spread=draw.normal(0.5, b, num_points, 3))

    strip_xy, is_back = _strips(place, num_columns)
    strip_xy = strip_xy * step[..., None] - 0.5 * side[..., None] + 0.1 * step[..., None] * draw.normal(1.0, b, n, 2)
    is_strip = draw.chance(0.6, b, 1)
    free_xy = side[..., None] * draw.uniform(-0.5, 0.5, b, n, 2)
    xy = torch.where(is_strip[..., None], strip_xy, free_xy)
    centre = torch.cat((xy, (altitude * draw.log_normal(1.0, 0.05, b, n))[..., None]), -1)
    strip_yaw = torch.where(is_back, pi, 0.0) + draw.normal(0.1, b, n)
    yaw = torch.where(is_strip, strip_yaw, draw.uniform(-pi, pi, b, n))
    tilt = draw.uniform(0, 0.7, b, 1) * draw.chance(0.5, b, 1) + draw.normal(0.05, b, n)
    looking = face(heading(yaw, tilt - pi / 2), heading(yaw, torch.zeros_like(yaw)))
    cam_from_world = rolled(looking, draw.normal(0.05, b, n))
    return _photographed(draw, centre, cam_from_world, (point, normal), 20 * altitude)


def _photographed(
    draw: Draw, centre: Tensor, cam_from_world: Tensor, surface: tuple[Tensor, Tensor], max_range: Tensor
) -> Layout:
    b, n = centre.shape[:2]
    pictures = draw_pictures(draw, b, n)
    return Layout(centre, cam_from_world, pictures, *surface, max_range.expand(b, n), *draw_texture(draw, b))


def _strips(place: Tensor, num_columns: Tensor) -> tuple[Tensor, Tensor]:
    """Cells (B, N, 2) of a grid flown to and fro, at their middles, and where (B, N) the flight comes back."""
    order = (place / place[:, 1:2]).round()
    row, column = (order / num_columns).floor(), order.fmod(num_columns)
    is_back = row.fmod(2.0) > 0.5
    column = torch.where(is_back, num_columns - 1 - column, column)
    return torch.stack((column, row), -1) + 0.5, is_back


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
