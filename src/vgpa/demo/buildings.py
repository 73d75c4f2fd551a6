"""The buildings of the demo world: houses, a bell tower, an open hall and a fountain.

Each function draws one building on a plan, in the local frame of its site, out of flat painted
faces. The depth that a reconstruction lives on comes from what stands out of a wall or behind it:
recessed windows, shutters, sills, balconies, cornices, pillars and roofs that overhang.
Where the buildings stand is told in `quarter`. Metres, z up; draws only on the plan handed in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vgpa.demo.paints import Colour, Paint, masonry, mottled, planks, tiles, window_panes
from vgpa.demo.plan import Hole, Plan

_FLOOR_M = 2.9
_RECESS_M = 0.28
STONE = masonry((0.74, 0.66, 0.54), 0.30, 0.55)
BRICK = masonry((0.76, 0.49, 0.38), 0.075, 0.22)
_TRIM = masonry((0.82, 0.76, 0.66), 0.5, 0.9)
_TILES = tiles((0.80, 0.46, 0.32))
_PANES = window_panes((0.86, 0.84, 0.78))
_CRATE = planks((0.62, 0.46, 0.28))
_GRAVEL = mottled((0.50, 0.45, 0.38), (0.76, 0.70, 0.60), 0.8)


@dataclass(frozen=True)
class House:
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


def add_house(plan: Plan, house: House) -> None:
    """Four facades between stone corners, a roof of either kind, and a chimney."""
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
    top.block((0.4 * half_x, 0.4, -0.2), (0.4 * half_x + 0.7, 1.0, 2.8), BRICK, _TRIM)


def add_tower(plan: Plan) -> None:
    """A bell tower of stone: plinth, shaft, cornices, openings near the top, a pointed roof."""
    site = plan.around(252, 12.5)
    site.block((-2.3, -2.3, 0), (2.3, 2.3, 1.1), STONE)
    hole = (1.35, 7.2, 2.45, 9.6)
    for side, (x, y) in enumerate(((-1.9, -1.9), (1.9, -1.9), (1.9, 1.9), (-1.9, 1.9))):
        wall = site.at(x, y, 1.1, 90 * side)
        _add_recess(wall, hole, planks((0.30, 0.22, 0.16)))
        wall.wall(3.8, 10.6, [hole], masonry((0.78, 0.68, 0.52), 0.34, 0.62))
        wall.block((-0.15, -0.15, 0.0), (0.45, 0.15, 10.6), _TRIM)
    for z in (6.9, 11.6):
        site.block((-2.2, -2.2, z), (2.2, 2.2, z + 0.3), _TRIM, hidden="")
    site.at(0, 0, 11.9).lathe([(2.9, 0.0), (0.0, 3.6)], 4, _TILES)


def add_loggia(plan: Plan) -> None:
    """An open hall: steps, two rows of pillars, a flat roof, and some crates in its shade."""
    site = plan.around(293, 13.0)
    for step in range(3):
        out = 0.35 * (2 - step)
        low, high = (-3.0 - out, -2.2 - out, 0.16 * step), (3.0 + out, 2.2 + out, 0.16 * (step + 1))
        site.block(low, high, STONE)
    for x in np.linspace(-2.7, 2.7, 5):
        for y in (-1.9, 1.9):
            site.at(x, y).block((-0.2, -0.2, 0.48), (0.2, 0.2, 2.9), STONE)
            site.at(x, y).block((-0.28, -0.28, 2.9), (0.28, 0.28, 3.1), _TRIM)
    frieze = masonry((0.80, 0.70, 0.54), 0.25, 0.8)
    site.block((-3.1, -2.3, 3.1), (3.1, 2.3, 3.6), frieze, _GRAVEL, hidden="")
    for x, y in ((-2.0, -0.4), (-0.3, 0.3), (1.6, -0.2)):
        site.at(x, y, 0.48, 200 * x).block((-0.4, -0.4, 0), (0.4, 0.4, 0.75), _CRATE)


def add_fountain(plan: Plan) -> None:
    """Round steps, a basin with water, and a column with a bowl."""
    plan.lathe([(4.2, 0.15), (4.2, 0.33), (3.4, 0.33), (3.4, 0.51), (2.6, 0.51)], 12, STONE)
    basin = [(2.5, 0.51), (2.6, 1.1), (2.7, 1.3), (2.3, 1.3), (2.2, 0.9)]
    plan.lathe(basin, 12, masonry((0.80, 0.74, 0.64), 0.4, 0.7))
    water = mottled((0.10, 0.22, 0.24), (0.45, 0.62, 0.62), 0.6)
    plan.lathe([(2.25, 1.05), (0.0, 1.05)], 12, water)
    bowl = [(0.6, 0.9), (0.4, 1.5), (0.4, 2.3), (1.2, 2.7), (1.25, 2.85), (0.3, 2.75), (0.3, 3.4)]
    plan.lathe([*bowl, (0.5, 3.6), (0.45, 4.1), (0.0, 4.6)], 8, _TRIM)


# --------------------------------------------------------------------------------- parts of a house


def _add_facade(wall: Plan, width: float, house: House) -> None:
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


def _add_recess(wall: Plan, hole: Hole, paint: Paint) -> None:
    """What is behind a hole in a wall: three sides, the window or door itself, and a sill."""
    x0, z0, x1, z1 = hole
    d = _RECESS_M
    wall.face([(x0, d, z0), (x1, d, z0), (x1, d, z1), (x0, d, z1)], paint)
    wall.face([(x0, 0, z0), (x0, d, z0), (x0, d, z1), (x0, 0, z1)], _TRIM)
    wall.face([(x1, d, z0), (x1, 0, z0), (x1, 0, z1), (x1, d, z1)], _TRIM)
    wall.face([(x0, d, z1), (x1, d, z1), (x1, 0, z1), (x0, 0, z1)], _TRIM)
    wall.block((x0 - 0.1, -0.12, z0 - 0.1), (x1 + 0.1, d, z0), _TRIM, hidden="back bottom")


def _add_porch(wall: Plan) -> None:
    """A step before a front door, or the slab and parapet of a balcony before an upper one."""
    is_balcony = wall.world_from_local[2, 3] > 0
    deep, high = (0.9, 0.9) if is_balcony else (0.7, 0.12)
    wall.block((-1.0, -deep, -0.15), (1.0, 0.0, 0.02), STONE, hidden="back")
    if is_balcony:
        wall.block((-1.0, -deep, 0.02), (1.0, 0.1 - deep, high), _TRIM)
        for side in (-1.0, 0.9):
            wall.block((side, 0.1 - deep, 0.02), (side + 0.1, 0.0, high), _TRIM)


def _add_gable(top: Plan, half_x: float, half_y: float, wall: Paint) -> None:
    """Two slopes that meet in a ridge along x, over a triangle of wall at either end."""
    rise, out, thick = 0.72 * half_y, 0.45, np.array([0.0, 0.0, 0.16])
    for turn_deg in (0, 180):
        side = top.at(0, 0, 0, turn_deg)
        low, x, y = -rise * out / half_y, half_x + out, half_y + out
        slope = np.array([(-x, -y, low), (x, -y, low), (x, 0, rise), (-x, 0, rise)])
        side.solid(slope, slope + thick, _TRIM, _TILES)
        end = [(half_x, -half_y, 0), (half_x, half_y, 0), (half_x, 0, rise), (half_x, 0, rise)]
        side.face(end, wall)


def _add_hip(top: Plan, half_x: float, half_y: float) -> None:
    """Four slopes over a cornice."""
    x, y = half_x + 0.4, half_y + 0.4
    ridge, rise = max(x - y, 0.0) + 0.3, 0.7 * y
    top.block((-x, -y, -0.15), (x, y, 0.0), _TRIM, hidden="top")
    for turn_deg in (0, 180):
        side = top.at(0, 0, 0, turn_deg)
        side.face([(-x, -y, 0), (x, -y, 0), (ridge, 0, rise), (-ridge, 0, rise)], _TILES)
        side.face([(x, -y, 0), (x, y, 0), (ridge, 0, rise), (ridge, 0, rise)], _TILES)
