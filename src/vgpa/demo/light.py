"""Sun, sky and shadows of the demo world, computed once and painted into its pictures.

Light is computed at places a few texels apart on every lit surface: a sun that is not quite a
point, so that shadows have soft edges; the sky, wherever it is seen; and a little light that
bounces off everything. Whether something stands in the way is asked of a *shadow map*, one for
each direction the light comes from: a grid across that direction which keeps, in each cell, how
far towards the light the nearest thing reaches. Arrays in, arrays out: no files.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vgpa.demo.paints import FloatImage, interpolate
from vgpa.demo.plan import Plan, Surface

FloatArray = npt.NDArray[np.float64]

SUN_BEARING_DEG, SUN_ELEVATION_DEG = -62.0, 40.0
SUN_COLOUR, SKY_COLOUR = np.array([0.80, 0.71, 0.57]), np.array([0.70, 0.74, 0.80])
BOUNCE_COLOUR = np.array([0.36, 0.31, 0.25])
_SHADOW_CELL_M, _SHADOW_MAP_M = 0.12, 160.0
_LIFT_M = 0.12  # off the surface, or it would shade itself
_MAX_OCCLUDER_M2 = 900.0  # larger quads are grounds, which cast no shadow
_LIGHT_STEP = 6  # texels between two places where light is computed


def light_pictures(plan: Plan, pictures: list[FloatImage]) -> list[FloatImage]:
    """Multiply sun and sky light, with shadows, into the pictures of the lit surfaces."""
    lit = [idx for idx, surface in enumerate(plan.surfaces) if surface.is_lit]
    grids = [_light_grid(plan.surfaces[idx]) for idx in lit]
    ends = np.cumsum([grid[0].size for grid in grids])
    points = np.concatenate([grid.reshape(3, -1) for grid in grids], axis=1)
    normals = np.stack([plan.surfaces[idx].normal for idx in lit])
    light = _received_light(points, normals, ends, _occluders(plan))
    shaded = list(pictures)
    for idx, grid, values in zip(lit, grids, np.split(light, ends[:-1], axis=1), strict=True):
        rows, columns = ((np.arange(n) + 0.5) / _LIGHT_STEP for n in plan.surfaces[idx].shape)
        shaded[idx] = pictures[idx] * interpolate(values.reshape(grid.shape), rows, columns, is_smooth=False)
    return shaded


def _light_grid(surface: Surface) -> FloatImage:
    """World points (3, rows, columns) on the surface, every _LIGHT_STEP texels, and lifted off it a little."""
    rows, columns = (_LIGHT_STEP * np.arange(n // _LIGHT_STEP + 2) for n in surface.shape)
    across, up, origin = surface.world_from_texel.T[:, :, None, None]
    lifted = origin + _LIFT_M * surface.normal[:, None, None]
    return (lifted + rows[:, None] * up + columns * across).astype(np.float32)


def _received_light(
    points: FloatImage, normals: FloatArray, ends: npt.NDArray[np.intp], occluders: FloatImage
) -> FloatImage:
    """Light (3, N) at points (3, N): a soft sun, the sky wherever it is seen, a bounce.

    Surface k has normal k of (S, 3), and its points end before ends[k].
    """
    num_points = np.diff(ends, prepend=0)
    light = np.outer(BOUNCE_COLOUR, np.repeat(0.8 - 0.2 * normals[:, 2], num_points)).astype(np.float32)
    for directions, colour in ((_sun_directions(), SUN_COLOUR), (_sky_directions(), 2.0 * SKY_COLOUR)):
        received = np.zeros(points.shape[1], dtype=np.float32)
        for direction in directions:
            facing = (normals @ direction).clip(0.0, None).astype(np.float32)
            received += np.repeat(facing, num_points) * _is_reached(points, direction, occluders)
        light += np.outer(colour / len(directions), received).astype(np.float32)
    return light


def _sun_directions() -> FloatArray:
    """Towards 8 places on a sun wider than the real one: unit vectors (8, 3)."""
    bearing_rad, elevation_rad = np.deg2rad([SUN_BEARING_DEG, SUN_ELEVATION_DEG])
    level = np.cos(elevation_rad)
    middle = np.array([level * np.cos(bearing_rad), level * np.sin(bearing_rad), np.sin(elevation_rad)])
    sun = middle + 0.012 * np.random.default_rng(3).standard_normal((8, 3))
    return sun / np.linalg.norm(sun, axis=1, keepdims=True)


def _sky_directions() -> FloatArray:
    """Evenly over the sky, on a spiral of golden angles: unit vectors (24, 3)."""
    height = (np.arange(24) + 0.5) / 24
    turn_rad = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(24)
    flat = np.sqrt(1.0 - height**2)
    return np.stack([flat * np.cos(turn_rad), flat * np.sin(turn_rad), height], axis=1)


def _is_reached(points: FloatImage, direction: FloatArray, occluders: FloatImage) -> npt.NDArray[np.bool_]:
    """Whether light from `direction` reaches points (3, N): no occluder (3, M) stands nearer to it."""
    side = np.cross(direction, (0.3, 0.5, 0.1))
    side /= np.linalg.norm(side)
    axes = np.stack([side, np.cross(direction, side)]) / _SHADOW_CELL_M
    map_from_world = np.vstack([axes, direction]).astype(np.float32)
    num_cells = int(_SHADOW_MAP_M / _SHADOW_CELL_M)

    def cell_and_reach(places: FloatImage) -> tuple[npt.NDArray[np.int32], FloatImage]:
        on_map = map_from_world @ places
        column, row = (on_map[:2] + np.float32(num_cells // 2)).astype(np.int32)
        row *= num_cells
        row += column
        return row, on_map[2]

    highest = np.full(num_cells**2, -np.inf, dtype=np.float32)
    np.maximum.at(highest, *cell_and_reach(occluders))
    cell, reach = cell_and_reach(points)
    return reach >= highest.take(cell)


def _occluders(plan: Plan) -> FloatImage:
    """Points (3, M) on everything that can cast a shadow, dense enough to leave no holes."""
    points = []
    for quad in plan.quads:
        a, b, c, d = quad.corners
        sides_m = np.linalg.norm([b - a, c - d, d - a, c - b], axis=1)
        across_m, up_m = sides_m[:2].max(), sides_m[2:].max()
        if plan.surfaces[quad.texture_idx].is_lit and across_m * up_m < _MAX_OCCLUDER_M2:
            s = np.linspace(0.0, 1.0, int(across_m / (0.7 * _SHADOW_CELL_M)) + 2)[:, None]
            t = np.linspace(0.0, 1.0, int(up_m / (0.7 * _SHADOW_CELL_M)) + 2)
            corner = np.stack([a, b - a, d - a, a - b + c - d])[..., None, None]
            grid = corner[0] + s * corner[1] + t * corner[2] + s * t * corner[3]
            points.append(grid.reshape(3, -1).astype(np.float32))
    return np.concatenate(points, axis=1)
