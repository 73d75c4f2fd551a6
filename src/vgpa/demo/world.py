"""The demo world: a small old quarter around a fountain, and the walk of the photographer.

Six houses, a tower and a loggia stand around a paved square, inside a town wall; hills close the
view. Everything is made of flat quads, and every flat surface carries its own texture. Sun and sky
light are computed once, with shadows, and painted into the textures. The photographer walks once
around the quarter and takes a photo every few steps, so the cameras form a closed loop.

World coordinates are metres with z up and the fountain at the origin. Cameras follow COLMAP:
x_cam = rotation @ x_world + translation, looking along +z with y down. Touches no files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from vgpa.demo.textures import (
    Colour,
    FloatImage,
    Paint,
    TextureStore,
    cloudy_sky,
    masonry,
    mottled,
    pack_textures,
    planks,
    plaster,
    tiles,
    window_panes,
)

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
class World:
    """Quads and what is painted on them; texture k lies on one plane, shared by its quads.

    texel_from_world (T, 2, 4): a surface point x has texture coordinates (column, row) =
    texel_from_world[k] @ (x, 1). `background` is the colour (0..255) where nothing is.
    """

    quads: tuple[Quad, ...]
    texel_from_world: FloatArray
    textures: TextureStore
    background: Colour
    seed: int

    @property
    def corners(self) -> FloatArray:
        """Corners of all quads (Q, 4, 3)."""
        return np.stack([quad.corners for quad in self.quads])

    @property
    def texture_idx(self) -> npt.NDArray[np.intp]:
        """Texture of each quad (Q,)."""
        return np.array([quad.texture_idx for quad in self.quads])


@dataclass(frozen=True)
class DemoCameras:
    """N pinhole cameras, principal point in the middle: rotation (N, 3, 3), translation (N, 3)."""

    width: int
    height: int
    focal_px: float
    rotation: FloatArray
    translation: FloatArray

    @property
    def pixel_from_cam(self) -> FloatArray:
        """Calibration matrix (3, 3)."""
        focal = self.focal_px
        return np.array([[focal, 0, self.width / 2], [0, focal, self.height / 2], [0, 0, 1.0]])


def make_world(seed: int) -> World:
    """Build, paint and light the quarter. The seed changes every texture, not the layout."""
    plan = _Plan()
    for house in _HOUSES:
        _add_house(plan, house)
    _add_tower(plan)
    _add_loggia(plan)
    _add_fountain(plan)
    _add_grounds(plan)
    _add_horizon(plan)
    pictures = [
        surface.paint(np.random.default_rng([seed, idx]), surface.shape, surface.texels_per_m)
        for idx, surface in enumerate(plan.surfaces)
    ]
    lit = _light(plan, pictures)
    textures = pack_textures([np.clip(255 * p, 0, 255).astype(np.uint8) for p in lit])
    texel_from_world = np.stack([surface.texel_from_world for surface in plan.surfaces])
    background = (255 * _HAZE[0], 255 * _HAZE[1], 255 * _HAZE[2])
    return World(tuple(plan.quads), texel_from_world, textures, background, seed)


def loop_cameras(num_views: int, seed: int) -> DemoCameras:
    """A walk once around the quarter, looking in: no two steps, heights or aims quite the same."""
    rng = np.random.default_rng([seed, num_views])
    step_rad = 2 * np.pi / num_views
    angle_rad = step_rad * (np.arange(num_views) + rng.uniform(-0.12, 0.12, num_views))
    distance_m = 30.0 + 1.4 * np.sin(2 * angle_rad) + rng.uniform(-0.5, 0.5, num_views)
    height_m = 8.8 + 1.0 * np.sin(3 * angle_rad + 1.0) + rng.uniform(-0.3, 0.3, num_views)
    x, y = distance_m * np.cos(angle_rad), distance_m * np.sin(angle_rad)
    centre = np.stack([x, y, height_m], axis=1)
    aim = np.array([0.0, 0.0, 3.4]) + rng.uniform(-1, 1, (num_views, 3)) * (2.2, 2.2, 0.5)
    roll_rad = np.deg2rad(rng.uniform(-1.5, 1.5, num_views))
    rotation = np.stack([_look(*view) for view in zip(centre, aim, roll_rad, strict=True)])
    translation = -np.einsum("nij,nj->ni", rotation, centre)
    return DemoCameras(1200, 800, 1080.0, rotation, translation)


def _look(centre: FloatArray, aim: FloatArray, roll_rad: float) -> FloatArray:
    """Rotation cam_from_world (3, 3) of a camera at `centre` that looks at `aim`."""
    forward = (aim - centre) / np.linalg.norm(aim - centre)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    level = np.stack([right, np.cross(forward, right), forward])
    cos, sin = np.cos(roll_rad), np.sin(roll_rad)
    return np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]]) @ level


# ------------------------------------------------------------------------------ surfaces and sites


@dataclass(frozen=True)
class _Surface:
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

    def light_grid(self) -> FloatArray:
        """World points (rows, columns, 3) on the surface, every _LIGHT_STEP texels."""
        rows, columns = (_LIGHT_STEP * np.arange(n // _LIGHT_STEP + 2) for n in self.shape)
        across, up, origin = self.world_from_texel.T
        return origin + rows[:, None, None] * up + columns[None, :, None] * across


@dataclass
class _Plan:
    """The drawing so far, and the frame and sharpness in which the next strokes are given."""

    quads: list[Quad] = field(default_factory=list)
    surfaces: list[_Surface] = field(default_factory=list)
    world_from_local: FloatArray = field(default_factory=lambda: np.eye(4))
    texels_per_m: float = 60.0

    def at(self, x: float, y: float, z: float = 0.0, yaw_deg: float = 0.0) -> _Plan:
        """The same drawing in a frame moved to (x, y, z) and turned about the vertical."""
        cos, sin = np.cos(np.deg2rad(yaw_deg)), np.sin(np.deg2rad(yaw_deg))
        move = np.array([[cos, -sin, 0, x], [sin, cos, 0, y], [0, 0, 1, z], [0, 0, 0, 1]])
        return replace(self, world_from_local=self.world_from_local @ move)

    def around(self, bearing_deg: float, distance_m: float) -> _Plan:
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
        columns, rows = np.ceil(np.ptp(offset, axis=0) * self.texels_per_m).astype(int)
        world_from_texel = np.column_stack([axes.T / self.texels_per_m, origin])
        self.surfaces.append(_Surface(paint, self.texels_per_m, (rows, columns), world_from_texel, normal, is_lit))
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


# -------------------------------------------------------------------------------------- buildings

_FLOOR_M = 2.9
_RECESS_M = 0.28
_STONE = masonry((0.74, 0.66, 0.54), 0.30, 0.55)
_BRICK = masonry((0.76, 0.49, 0.38), 0.075, 0.22)
_TRIM = masonry((0.82, 0.76, 0.66), 0.5, 0.9)
_TILES = tiles((0.80, 0.46, 0.32))
_PANES = window_panes((0.86, 0.84, 0.78))
_CRATE = planks((0.62, 0.46, 0.28))
_GRAVEL = mottled((0.50, 0.45, 0.38), (0.76, 0.70, 0.60), 0.8)
_LEAVES = mottled((0.10, 0.17, 0.07), (0.36, 0.44, 0.20), 0.5)
_HAZE = (0.80, 0.87, 0.93)


@dataclass(frozen=True)
class _House:
    """Where a house stands, seen from the fountain; its size, roof and colours."""

    bearing_deg: float
    distance_m: float
    size_m: tuple[float, float]
    num_floors: int
    has_gables: bool
    wall: Paint
    shutter: Colour

    @property
    def eaves_m(self) -> float:
        return self.num_floors * _FLOOR_M + 0.4


_HOUSES = (
    _House(15, 13.0, (7.2, 5.4), 2, True, plaster((0.90, 0.76, 0.53)), (0.25, 0.42, 0.38)),
    _House(66, 13.5, (5.8, 5.8), 3, False, plaster((0.90, 0.66, 0.52)), (0.34, 0.40, 0.30)),
    _House(115, 12.5, (7.6, 5.0), 1, True, _BRICK, (0.46, 0.32, 0.22)),
    _House(163, 13.0, (5.6, 6.0), 2, False, plaster((0.90, 0.85, 0.74)), (0.26, 0.36, 0.50)),
    _House(209, 13.0, (6.6, 5.2), 2, True, _STONE, (0.48, 0.22, 0.17)),
    _House(333, 13.0, (5.8, 5.4), 1, False, plaster((0.88, 0.72, 0.60)), (0.30, 0.36, 0.26)),
)
_TREES = (  # bearing_deg, distance_m, height_m
    (40, 17.5, 5.2), (92, 18.5, 4.4), (139, 17.0, 5.6), (187, 18.5, 5.0), (232, 18.0, 4.2),
    (273, 18.5, 3.8), (313, 18.0, 5.2), (352, 18.6, 4.6), (45, 15.0, 4.2), (89, 12.0, 5.4),
    (308, 7.5, 3.6), (140, 7.0, 3.4), (45, 7.4, 3.8), (186, 12.5, 4.6),
)  # fmt: skip


def _add_house(plan: _Plan, house: _House) -> None:
    site = plan.around(house.bearing_deg, house.distance_m)
    half_x, half_y = house.size_m[0] / 2, house.size_m[1] / 2
    ends = ((-half_x, -half_y), (half_x, -half_y), (half_x, half_y), (-half_x, half_y))
    for side, (x, y) in enumerate(ends):
        _add_facade(site.at(x, y, 0, 90 * side), house.size_m[side % 2], house)
        site.at(x, y).block((-0.2, -0.2, 0), (0.2, 0.2, house.eaves_m - 0.05), _TRIM)
    top = site.at(0, 0, house.eaves_m)
    if house.has_gables:
        _add_gable(top, half_x, half_y, house.wall)
    else:
        _add_hip(top, half_x, half_y)
    top.block((0.4 * half_x, 0.4, -0.2), (0.4 * half_x + 0.7, 1.0, 2.8), _BRICK, _TRIM)


def _add_facade(wall: _Plan, width: float, house: _House) -> None:
    """A wall with recessed windows, shutters, a door below and a balcony above it."""
    num_columns = int((width - 0.6) / 1.9)
    centres = (np.arange(num_columns) + 0.5) * (width - 0.8) / num_columns + 0.4
    holes: list[Hole] = []
    for floor in range(house.num_floors):
        for column, x in enumerate(centres):
            z = floor * _FLOOR_M
            has_door = column == num_columns // 2 and floor < 2
            hole = (x - 0.55, z, x + 0.55, z + 2.3)
            if has_door:
                _add_porch(wall.at(x, 0, z))
            else:
                hole = (x - 0.42, z + 1.1, x + 0.42, z + 2.5)
                for start in (x - 0.84, x + 0.46):
                    leaf = (start, -0.06, z + 1.1), (start + 0.38, 0.0, z + 2.5)
                    wall.block(*leaf, planks(house.shutter), hidden="back bottom")
            _add_recess(wall, hole, planks(house.shutter) if has_door and floor == 0 else _PANES)
            holes.append(hole)
    wall.wall(width, house.eaves_m, holes, house.wall)


def _add_recess(wall: _Plan, hole: Hole, paint: Paint) -> None:
    """What is behind a hole in a wall: three sides, the window or door itself, and a sill."""
    x0, z0, x1, z1 = hole
    d = _RECESS_M
    wall.face([(x0, d, z0), (x1, d, z0), (x1, d, z1), (x0, d, z1)], paint)
    wall.face([(x0, 0, z0), (x0, d, z0), (x0, d, z1), (x0, 0, z1)], _TRIM)
    wall.face([(x1, d, z0), (x1, 0, z0), (x1, 0, z1), (x1, d, z1)], _TRIM)
    wall.face([(x0, d, z1), (x1, d, z1), (x1, 0, z1), (x0, 0, z1)], _TRIM)
    wall.block((x0 - 0.1, -0.12, z0 - 0.1), (x1 + 0.1, d, z0), _TRIM, hidden="back bottom")


def _add_porch(wall: _Plan) -> None:
    """A step before a front door, or the slab and parapet of a balcony before an upper one."""
    is_balcony = wall.world_from_local[2, 3] > 0
    deep, high = (0.9, 0.9) if is_balcony else (0.7, 0.12)
    wall.block((-1.0, -deep, -0.15), (1.0, 0.0, 0.02), _STONE, hidden="back")
    if is_balcony:
        wall.block((-1.0, -deep, 0.02), (1.0, 0.1 - deep, high), _TRIM)
        for side in (-1.0, 0.9):
            wall.block((side, 0.1 - deep, 0.02), (side + 0.1, 0.0, high), _TRIM)


def _add_gable(top: _Plan, half_x: float, half_y: float, wall: Paint) -> None:
    """Two slopes that meet in a ridge along x, over a triangle of wall at either end."""
    rise, out, thick = 0.72 * half_y, 0.45, np.array([0.0, 0.0, 0.16])
    for turn_deg in (0, 180):
        side = top.at(0, 0, 0, turn_deg)
        low, x, y = -rise * out / half_y, half_x + out, half_y + out
        slope = np.array([(-x, -y, low), (x, -y, low), (x, 0, rise), (-x, 0, rise)])
        side.solid(slope, slope + thick, _TRIM, _TILES)
        end = [(half_x, -half_y, 0), (half_x, half_y, 0), (half_x, 0, rise), (half_x, 0, rise)]
        side.face(end, wall)


def _add_hip(top: _Plan, half_x: float, half_y: float) -> None:
    """Four slopes over a cornice."""
    x, y = half_x + 0.4, half_y + 0.4
    ridge, rise = max(x - y, 0.0) + 0.3, 0.7 * y
    top.block((-x, -y, -0.15), (x, y, 0.0), _TRIM, hidden="top")
    for turn_deg in (0, 180):
        side = top.at(0, 0, 0, turn_deg)
        side.face([(-x, -y, 0), (x, -y, 0), (ridge, 0, rise), (-ridge, 0, rise)], _TILES)
        side.face([(x, -y, 0), (x, y, 0), (ridge, 0, rise), (ridge, 0, rise)], _TILES)


def _add_tower(plan: _Plan) -> None:
    """A bell tower of stone: plinth, shaft, cornices, openings near the top, a pointed roof."""
    site = plan.around(252, 12.5)
    site.block((-2.3, -2.3, 0), (2.3, 2.3, 1.1), _STONE)
    hole = (1.35, 7.2, 2.45, 9.6)
    for side, (x, y) in enumerate(((-1.9, -1.9), (1.9, -1.9), (1.9, 1.9), (-1.9, 1.9))):
        wall = site.at(x, y, 1.1, 90 * side)
        _add_recess(wall, hole, planks((0.30, 0.22, 0.16)))
        wall.wall(3.8, 10.6, [hole], masonry((0.78, 0.68, 0.52), 0.34, 0.62))
        wall.block((-0.15, -0.15, 0.0), (0.45, 0.15, 10.6), _TRIM)
    for z in (6.9, 11.6):
        site.block((-2.2, -2.2, z), (2.2, 2.2, z + 0.3), _TRIM, hidden="")
    site.at(0, 0, 11.9).lathe([(2.9, 0.0), (0.0, 3.6)], 4, _TILES)


def _add_loggia(plan: _Plan) -> None:
    """An open hall: steps, two rows of pillars, a flat roof, and some crates in its shade."""
    site = plan.around(293, 13.0)
    for step in range(3):
        out = 0.35 * (2 - step)
        low, high = (-3.0 - out, -2.2 - out, 0.16 * step), (3.0 + out, 2.2 + out, 0.16 * (step + 1))
        site.block(low, high, _STONE)
    for x in np.linspace(-2.7, 2.7, 5):
        for y in (-1.9, 1.9):
            site.at(x, y).block((-0.2, -0.2, 0.48), (0.2, 0.2, 2.9), _STONE)
            site.at(x, y).block((-0.28, -0.28, 2.9), (0.28, 0.28, 3.1), _TRIM)
    frieze = masonry((0.80, 0.70, 0.54), 0.25, 0.8)
    site.block((-3.1, -2.3, 3.1), (3.1, 2.3, 3.6), frieze, _GRAVEL, hidden="")
    for x, y in ((-2.0, -0.4), (-0.3, 0.3), (1.6, -0.2)):
        site.at(x, y, 0.48, 200 * x).block((-0.4, -0.4, 0), (0.4, 0.4, 0.75), _CRATE)


def _add_fountain(plan: _Plan) -> None:
    """Round steps, a basin with water, and a column with a bowl."""
    plan.lathe([(4.2, 0.15), (4.2, 0.33), (3.4, 0.33), (3.4, 0.51), (2.6, 0.51)], 12, _STONE)
    basin = [(2.5, 0.51), (2.6, 1.1), (2.7, 1.3), (2.3, 1.3), (2.2, 0.9)]
    plan.lathe(basin, 12, masonry((0.80, 0.74, 0.64), 0.4, 0.7))
    water = mottled((0.10, 0.22, 0.24), (0.45, 0.62, 0.62), 0.6)
    plan.lathe([(2.25, 1.05), (0.0, 1.05)], 12, water)
    bowl = [(0.6, 0.9), (0.4, 1.5), (0.4, 2.3), (1.2, 2.7), (1.25, 2.85), (0.3, 2.75), (0.3, 3.4)]
    plan.lathe([*bowl, (0.5, 3.6), (0.45, 4.1), (0.0, 4.6)], 8, _TRIM)


# ----------------------------------------------------------------------------- grounds and horizon


def _add_grounds(plan: _Plan) -> None:
    """The paved square, the yard around it, trees, and the town wall with its merlons."""
    paving = masonry((0.70, 0.62, 0.52), 0.45, 0.7)
    yard = mottled((0.36, 0.37, 0.20), (0.72, 0.65, 0.48), 3.0)
    for half, z, paint, texels_per_m in ((18.0, 0.15, paving, 42.0), (42.0, 0.0, yard, 18.0)):
        outline = [(-half, -half, z), (half, -half, z), (half, half, z), (-half, half, z)]
        replace(plan, texels_per_m=texels_per_m).face(outline, paint)
    for bearing_deg, distance_m, height_m in _TREES:
        crown = [(0.4, 0.5), (0.85, 1.3), (0.75, 0.5 * height_m), (0.0, height_m)]
        tree = plan.around(bearing_deg, distance_m)
        tree.lathe([(0.18, 0.0), (0.18, 0.5)], 6, planks((0.40, 0.30, 0.20)))
        tree.lathe(crown, 9, _LEAVES)
    town_wall = replace(plan, texels_per_m=30.0)
    town_wall.lathe([(39.0, 4.6), (38.0, 4.6), (38.0, 0.0)], 18, _STONE)
    for merlon in range(54):
        site = town_wall.around(merlon * 360 / 54 + 2.0, 38.2)
        site.block((-0.8, -0.3, 4.6), (0.8, 0.3, 5.7), _STONE)


def _add_horizon(plan: _Plan) -> None:
    """Two chains of hills and a layer of clouds: far away, and not lit by our sun."""
    rng = np.random.default_rng(7)
    near = mottled((0.42, 0.53, 0.40), (0.54, 0.62, 0.47), 25.0)
    far = mottled((0.56, 0.67, 0.73), (0.62, 0.72, 0.77), 60.0)
    hills = replace(plan, texels_per_m=1.5)
    for radius, height, paint in ((220.0, 16.0, near), (420.0, 46.0, far)):
        angle_rad = np.linspace(0.0, 2 * np.pi, 41)
        x, y = radius * np.cos(angle_rad), radius * np.sin(angle_rad)
        top = height * rng.uniform(0.55, 1.1, 41)
        top[-1] = top[0]
        for i in range(40):
            j = i + 1
            low = [(x[j], y[j], -20.0), (x[i], y[i], -20.0)]
            hills.face([*low, (x[i], y[i], top[i]), (x[j], y[j], top[j])], paint, is_lit=False)
    reach, height = 30000.0, 2000.0
    sky = [(-reach, reach, height), (reach, reach, height)]
    sky += [(reach, -reach, height), (-reach, -reach, height)]
    clouds = cloudy_sky((0.36, 0.58, 0.84), _HAZE, height)
    replace(plan, texels_per_m=0.02).face(sky, clouds, is_lit=False)


# ------------------------------------------------------------------------------------------ light

_SUN_BEARING_DEG, _SUN_ELEVATION_DEG = -62.0, 40.0
_SUN_COLOUR, _SKY_COLOUR = np.array([0.80, 0.71, 0.57]), np.array([0.70, 0.74, 0.80])
_BOUNCE_COLOUR = np.array([0.36, 0.31, 0.25])
_SHADOW_CELL_M = 0.12
_LIGHT_STEP = 6  # texels between two places where light is computed


def _light(plan: _Plan, pictures: list[FloatImage]) -> list[FloatImage]:
    """Multiply sun and sky light, with shadows, into the pictures of the lit surfaces."""
    lit = [idx for idx, surface in enumerate(plan.surfaces) if surface.is_lit]
    grids = [plan.surfaces[idx].light_grid() for idx in lit]
    points = np.concatenate([grid.reshape(-1, 3) for grid in grids])
    sizes = [grid.shape[0] * grid.shape[1] for grid in grids]
    normals = np.repeat([plan.surfaces[idx].normal for idx in lit], sizes, axis=0)
    light = _received_light(points, normals, _occluders(plan))
    shaded = list(pictures)
    for idx, grid, values in zip(lit, grids, np.split(light, np.cumsum(sizes)[:-1]), strict=True):
        coarse = values.reshape(grid.shape).transpose(2, 0, 1).astype(np.float32)
        shaded[idx] = pictures[idx] * _stretch(coarse, plan.surfaces[idx].shape)
    return shaded


def _received_light(points: FloatArray, normals: FloatArray, occluders: FloatArray) -> FloatArray:
    """Light (N, 3) at surface points (N, 3): a soft sun, the sky wherever it is seen, a bounce."""
    rng = np.random.default_rng(3)
    bearing_rad, elevation_rad = np.deg2rad([_SUN_BEARING_DEG, _SUN_ELEVATION_DEG])
    level = np.array([np.cos(bearing_rad), np.sin(bearing_rad), 0.0]) * np.cos(elevation_rad)
    sun = level + (0.0, 0.0, np.sin(elevation_rad)) + 0.012 * rng.standard_normal((8, 3))
    height = (np.arange(24) + 0.5) / 24
    turn_rad = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(24)
    flat = np.sqrt(1.0 - height**2)
    sky = np.stack([flat * np.cos(turn_rad), flat * np.sin(turn_rad), height], axis=1)
    light = np.outer(0.8 - 0.2 * normals[:, 2], _BOUNCE_COLOUR)
    for directions, colour in ((sun, _SUN_COLOUR), (sky, 2.0 * _SKY_COLOUR)):
        received = np.zeros(len(points))
        for direction in directions / np.linalg.norm(directions, axis=1, keepdims=True):
            is_reached = _is_reached(points + 0.12 * normals, direction, occluders)
            received += is_reached * np.clip(normals @ direction, 0.0, None)
        light += np.outer(received, colour / len(directions))
    return light


def _is_reached(points: FloatArray, direction: FloatArray, occluders: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether light from `direction` reaches points (N, 3): no occluder stands nearer to it."""
    side = np.cross(direction, (0.3, 0.5, 0.1))
    side /= np.linalg.norm(side)
    axes = np.stack([side, np.cross(direction, side)]) / _SHADOW_CELL_M
    num_cells = int(160.0 / _SHADOW_CELL_M)

    def cell(places: FloatArray) -> npt.NDArray[np.int32]:
        column, row = (axes @ places.T + num_cells // 2).astype(np.int32)
        return row * num_cells + column

    highest = np.full(num_cells**2, -np.inf)
    np.maximum.at(highest, cell(occluders), occluders @ direction)
    reached: npt.NDArray[np.bool_] = points @ direction >= highest[cell(points)]
    return reached


def _occluders(plan: _Plan) -> FloatArray:
    """Points (N, 3) on everything that can cast a shadow, dense enough to leave no holes."""
    points = []
    for quad in plan.quads:
        a, b, c, d = quad.corners
        sides_m = np.linalg.norm([b - a, c - d, d - a, c - b], axis=1)
        across_m, up_m = sides_m[:2].max(), sides_m[2:].max()
        if plan.surfaces[quad.texture_idx].is_lit and across_m * up_m < 900.0:
            s = np.linspace(0.0, 1.0, int(across_m / (0.7 * _SHADOW_CELL_M)) + 2)[:, None, None]
            t = np.linspace(0.0, 1.0, int(up_m / (0.7 * _SHADOW_CELL_M)) + 2)[None, :, None]
            grid = (1 - t) * ((1 - s) * a + s * b) + t * ((1 - s) * d + s * c)
            points.append(grid.reshape(-1, 3))
    return np.concatenate(points)


def _stretch(coarse: FloatImage, shape: tuple[int, int]) -> FloatImage:
    """Interpolate light (3, rows, columns), known every _LIGHT_STEP texels, at every texel."""
    for axis, length in ((1, shape[0]), (2, shape[1])):
        position = (np.arange(length) + 0.5) / _LIGHT_STEP
        start = position.astype(np.intp)
        weight = (position - start).astype(np.float32)
        steps = np.diff(coarse, axis=axis).take(start, axis)
        steps *= weight[:, None] if axis == 1 else weight
        coarse = coarse.take(start, axis)
        coarse += steps
    return coarse
