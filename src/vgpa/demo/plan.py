"""The drawing board of the demo world: flat painted surfaces, laid out in frames that move and turn.

A `Plan` collects what is drawn on it: *surfaces*, each a rectangle with a paint and a density of
texels, and *quads*, the visible pieces of these rectangles. Strokes are given in a local frame:
`plan.at(...)` and `plan.around(...)` are the same drawing seen from another place, so a house can
be drawn around its own origin. Nothing is painted here; the order of the surfaces is the order in
which the painter will number them. Metres, z up. Touches no files and no randomness.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from vgpa.demo.paints import Paint

FloatArray = npt.NDArray[np.float64]
Point = tuple[float, float, float]
Hole = tuple[float, float, float, float]  # x0, z0, x1, z1 on a wall


@dataclass(frozen=True)
class Quad:
    """A flat convex piece of a surface: corners (4, 3), counter-clockwise seen from its front.

    The last two corners may coincide (a triangle). Only the front is visible.
    """

    corners: FloatArray
    texture_idx: int


@dataclass(frozen=True)
class Surface:
    """A painted rectangle: x_world = world_from_texel @ (column, row, 1)."""

    paint: Paint
    texels_per_m: float
    shape: tuple[int, int]
    world_from_texel: FloatArray
    normal: FloatArray
    is_lit: bool

    @property
    def texel_from_world(self) -> FloatArray:
        axes = self.world_from_texel[:, :2].T * self.texels_per_m**2
        return np.column_stack([axes, -axes @ self.world_from_texel[:, 2]])


@dataclass
class Plan:
    """The drawing so far, and the frame and sharpness in which the next strokes are given."""

    quads: list[Quad] = field(default_factory=list)
    surfaces: list[Surface] = field(default_factory=list)
    world_from_local: FloatArray = field(default_factory=lambda: np.eye(4))
    texels_per_m: float = 60.0

    def at(self, x: float, y: float, z: float = 0.0, yaw_deg: float = 0.0) -> Plan:
        """The same drawing in a frame moved to (x, y, z) and turned about the vertical."""
        cos, sin = np.cos(np.deg2rad(yaw_deg)), np.sin(np.deg2rad(yaw_deg))
        move = np.array([[cos, -sin, 0, x], [sin, cos, 0, y], [0, 0, 1, z], [0, 0, 0, 1]])
        return replace(self, world_from_local=self.world_from_local @ move)

    def around(self, bearing_deg: float, distance_m: float) -> Plan:
        """A frame at a bearing from the middle, its -y axis pointing away from there."""
        x, y = np.cos(np.deg2rad(bearing_deg)), np.sin(np.deg2rad(bearing_deg))
        return self.at(distance_m * x, distance_m * y, 0.0, bearing_deg + 90.0)

    def face(self, corners: Sequence[Point] | FloatArray, paint: Paint, is_lit: bool = True) -> None:
        """Paint one convex quad, counter-clockwise from its front; row 0 is its first edge."""
        local = np.asarray(corners, dtype=np.float64)
        world = local @ self.world_from_local[:3, :3].T + self.world_from_local[:3, 3]
        across = (world[1] - world[0]) / np.linalg.norm(world[1] - world[0])
        normal = np.cross(across, world[3] - world[0])
        normal /= np.linalg.norm(normal)
        axes = np.stack([across, np.cross(normal, across)])
        offset = (world - world[0]) @ axes.T
        origin = world[0] + offset.min(axis=0) @ axes
        columns, rows = (math.ceil(extent) for extent in np.ptp(offset, axis=0) * self.texels_per_m)
        world_from_texel = np.column_stack([axes.T / self.texels_per_m, origin])
        self.surfaces.append(Surface(paint, self.texels_per_m, (rows, columns), world_from_texel, normal, is_lit))
        self.quads.append(Quad(world, len(self.surfaces) - 1))

    def wall(self, width: float, height: float, holes: Sequence[Hole], paint: Paint) -> None:
        """A wall in the local plane y = 0, seen from -y, with rectangular holes cut out."""
        self.face([(0, 0, 0), (width, 0, 0), (width, 0, height), (0, 0, height)], paint)
        whole = self.quads.pop()
        origin, right, up = whole.corners[[0, 1, 3]]
        right, up = (right - origin) / width, (up - origin) / height
        for x0, z0, x1, z1 in _pieces(width, height, holes):
            corners = np.array([[x0, z0], [x1, z0], [x1, z1], [x0, z1]]) @ np.stack([right, up])
            self.quads.append(Quad(origin + corners, whole.texture_idx))

    def solid(
        self,
        low: FloatArray,
        high: FloatArray,
        paint: Paint,
        top_paint: Paint | None = None,
        hidden: str = "",
    ) -> None:
        """The faces between two quads (4, 3), counter-clockwise from above, but for hidden ones.

        The sides are called front (the first edge), right, back and left, then top and bottom.
        """
        sides = zip(low, np.roll(low, -1, axis=0), np.roll(high, -1, axis=0), high, strict=True)
        faces = dict(zip(("front", "right", "back", "left"), map(np.stack, sides), strict=True))
        for name, corners in {**faces, "bottom": low[::-1], "top": high}.items():
            if name not in hidden:
                self.face(corners, top_paint if name == "top" and top_paint else paint)

    def block(
        self,
        low: Point,
        high: Point,
        paint: Paint,
        top_paint: Paint | None = None,
        hidden: str = "bottom",
    ) -> None:
        """An upright box between two opposite corners."""
        (x0, y0, z0), (x1, y1, z1) = low, high
        outline = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
        bottom, top = (np.column_stack([outline, np.full(4, z)]) for z in (z0, z1))
        self.solid(bottom, top, paint, top_paint, hidden)

    def lathe(self, profile: Sequence[tuple[float, float]], num_sides: int, paint: Paint) -> None:
        """Turn a profile of (radius, height) points about the vertical axis, in flat sides."""
        angle_rad = 2 * np.pi * (np.arange(num_sides + 1) + 0.5) / num_sides
        circle = np.stack([np.cos(angle_rad), np.sin(angle_rad)], axis=1)
        rings = [np.column_stack([r * circle, np.full(num_sides + 1, z)]) for r, z in profile]
        for low, high in pairwise(rings):
            for i in range(num_sides):
                corners = np.stack([low[i], low[i + 1], high[i + 1], high[i]])
                self.face(corners, paint)


def _pieces(width: float, height: float, holes: Sequence[Hole]) -> list[Hole]:
    """Rectangles that cover a wall but leave its holes open."""
    levels = sorted({0.0, height} | {hole[1] for hole in holes} | {hole[3] for hole in holes})
    pieces = []
    for low, high in pairwise(levels):
        start = 0.0
        for x0, z0, x1, z1 in sorted(holes):
            if z0 <= low and high <= z1:
                pieces.append((start, low, x0, high))
                start = x1
        pieces.append((start, low, width, high))
    return pieces
