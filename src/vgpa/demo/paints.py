"""Paint for the demo world: procedural plaster, brick, tile, wood, glass, grass and sky.

A *paint* is a recipe: given a random generator, a size and a density it returns one picture. Every
surface of the world is painted by its own generator, so no two surfaces look alike and a feature
seen on one of them is found nowhere else.

Pictures are (3, rows, columns): red, green and blue in 0..1. Row 0 is the *lower* edge of a wall.
Arrays in, arrays out: no files, and no randomness but the generator handed in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
FloatImage = npt.NDArray[np.float32]
Colour = tuple[float, float, float]
Shape = tuple[int, int]
Paint = Callable[[np.random.Generator, Shape, float], FloatImage]
"""(generator, (rows, columns), texels per metre) -> picture (3, rows, columns)."""


def plaster(colour: Colour) -> Paint:
    """Old lime plaster: clouds of tint, rain streaks, specks, and bare brick where it fell off."""

    def paint(rng: np.random.Generator, shape: Shape, texels_per_m: float) -> FloatImage:
        streaks = _noise(rng, shape, (0.9 * texels_per_m, 0.08 * texels_per_m))
        tint = 1.06 + 0.07 * _fractal(rng, shape, 0.8 * texels_per_m) + 0.05 * streaks
        tint += 0.05 * _fractal(rng, shape, 0.08 * texels_per_m) + 0.06 * _specks(rng, shape)
        height_m = np.arange(shape[0], dtype=np.float32)[:, None] / texels_per_m
        tint -= 0.18 * np.exp(-height_m / 0.5) * (1.2 + _fractal(rng, shape, 0.3 * texels_per_m))
        picture = tint * _rgb(colour)
        bare = _fractal(rng, shape, 1.1 * texels_per_m) - 1.35
        picture *= 1.0 - 0.35 * np.exp(-np.square(bare / 0.06))
        wall = masonry((0.62, 0.36, 0.26), 0.075, 0.22)(rng, shape, texels_per_m)
        return np.where(bare > 0.0, wall, picture)

    return paint


def masonry(colour: Colour, course_m: float, block_m: float) -> Paint:
    """Bricks or cut stones in courses, every block with its own width and tone."""

    def paint(rng: np.random.Generator, shape: Shape, texels_per_m: float) -> FloatImage:
        blocks = _courses(rng, shape, (course_m * texels_per_m, block_m * texels_per_m))
        tint = 1.06 + 0.12 * blocks.tone + 0.05 * _fractal(rng, shape, 0.6 * texels_per_m)
        tint += 0.05 * _fractal(rng, shape, 0.07 * texels_per_m) + 0.05 * _specks(rng, shape)
        joint = np.clip(blocks.gap / max(0.012 * texels_per_m, 0.7), 0.0, 1.0)
        tint *= 0.68 + 0.32 * joint
        picture = _rgb((0.03, 0.0, -0.03)) * blocks.tone
        picture += tint
        picture *= _rgb(colour)
        return picture

    return paint


def tiles(colour: Colour) -> Paint:
    """Roof tiles: each course shades the one below it, and some tiles are newer than others."""

    def paint(rng: np.random.Generator, shape: Shape, texels_per_m: float) -> FloatImage:
        blocks = _courses(rng, shape, (0.30 * texels_per_m, 0.20 * texels_per_m))
        barrel = np.clip(blocks.gap / (0.05 * texels_per_m), 0.0, 1.0)
        tint = 0.62 + 0.25 * (1.0 - blocks.rise) + 0.18 * barrel + 0.17 * blocks.tone
        tint += 0.07 * _fractal(rng, shape, 0.1 * texels_per_m)
        moss = np.clip(_fractal(rng, shape, 0.7 * texels_per_m) - 0.7, 0.0, 0.5)
        return _rgb(colour) * tint * (1.0 - moss * _rgb((0.9, 0.4, 0.7)))

    return paint


def planks(colour: Colour) -> Paint:
    """Upright boards with grain: doors and shutters."""

    def paint(rng: np.random.Generator, shape: Shape, texels_per_m: float) -> FloatImage:
        boards = _courses(rng, shape[::-1], (0.11 * texels_per_m, 3.0 * texels_per_m))
        grain = _noise(rng, shape, (0.35 * texels_per_m, 0.03 * texels_per_m))
        tint = 1.0 + 0.12 * boards.tone.T + 0.12 * grain + 0.08 * _specks(rng, shape)
        tint *= 0.6 + 0.4 * np.clip(boards.gap.T / 1.5, 0.0, 1.0)
        return tint * _rgb(colour)

    return paint


def window_panes(frame: Colour) -> Paint:
    """A painted frame around dark glass; what each pane reflects differs."""

    def paint(rng: np.random.Generator, shape: Shape, texels_per_m: float) -> FloatImage:
        rows, columns = (np.arange(n) / n for n in shape)
        reflection = _fractal(rng, shape, 0.35 * texels_per_m) + 1.6 * rows[:, None] - 0.4
        glass = _rgb((0.20, 0.25, 0.30)) * (1.0 + 0.45 * reflection)
        pane_m = np.minimum(rows % (1 / 3), -rows % (1 / 3))[:, None] * shape[0] / texels_per_m
        half_m = np.minimum(columns % 0.5, -columns % 0.5)[None] * shape[1] / texels_per_m
        bars = np.minimum(pane_m, half_m) < 0.035
        wood = _rgb(frame) * (1.0 + 0.08 * _specks(rng, shape))
        return np.where(bars, wood, glass).astype(np.float32)

    return paint


def mottled(dark: Colour, light: Colour, patch_m: float) -> Paint:
    """Grass, gravel, leaves, water, far woods: two colours mixed at every scale."""

    def paint(rng: np.random.Generator, shape: Shape, texels_per_m: float) -> FloatImage:
        mix = 0.5 + 0.22 * _fractal(rng, shape, patch_m * texels_per_m)
        mix += 0.16 * _fractal(rng, shape, max(0.1 * patch_m * texels_per_m, 2.5))
        mix += 0.10 * _specks(rng, shape)
        first, second = _rgb(dark), _rgb(light)
        return first + np.clip(mix, 0.0, 1.3) * (second - first)

    return paint


def cloudy_sky(zenith: Colour, horizon: Colour, height_m: float) -> Paint:
    """A cloud layer seen from below its middle, fading into haze with distance."""

    def paint(rng: np.random.Generator, shape: Shape, texels_per_m: float) -> FloatImage:
        axes = [(np.arange(n, dtype=np.float32) - n / 2) / texels_per_m for n in shape]
        slope = height_m / (np.hypot(axes[0][:, None], axes[1]) + 1.0)
        haze = np.exp(-slope / 0.22)
        blue = _rgb(zenith) * (1.0 - haze) + _rgb(horizon) * haze
        cloud = np.clip(0.45 * _fractal(rng, shape, 0.9 * height_m * texels_per_m), 0.0, 0.8)
        return blue + cloud * (1.0 - 0.8 * haze) * (_rgb((1, 0.98, 0.95)) - blue)

    return paint


# ------------------------------------------------------------------------------- building blocks


def interpolate(values: FloatImage, rows: FloatArray, columns: FloatArray, is_smooth: bool) -> FloatImage:
    """Values (..., R, C) between their knots: at positions rows (M,) x columns (N,) -> (..., M, N).

    Straight lines join the knots, or, if smooth, curves that are level at every knot.
    """
    for axis, position in ((-1, columns), (-2, rows)):  # in this order, the long copies are of whole rows
        start = position.astype(np.intp)
        weight = (position - start).astype(np.float32)
        if is_smooth:
            weight *= weight * (3.0 - 2.0 * weight)
        steps = (values[..., 1:] - values[..., :-1]) if axis == -1 else (values[..., 1:, :] - values[..., :-1, :])
        steps = steps.take(start, axis)
        steps *= weight if axis == -1 else weight[:, None]
        values = values.take(start, axis)
        values += steps
    return values


def _rgb(colour: Colour) -> FloatImage:
    """A colour as (3, 1, 1), to be multiplied with a picture."""
    return np.array(colour, dtype=np.float32)[:, None, None]


class _Courses(NamedTuple):
    tone: FloatImage  # per block, of about unit strength
    gap: FloatImage  # texels to the nearest joint
    rise: FloatImage  # 0 at the lower edge of a course, 1 at its upper edge


def _courses(rng: np.random.Generator, shape: Shape, block: tuple[float, float]) -> _Courses:
    """Courses of blocks about `block` = (height, length) texels in size, none quite the same."""
    row_course, row_gap, rise = _divide(rng, shape[0], block[0])
    tone = np.empty(shape, dtype=np.float32)
    gap = np.empty(shape, dtype=np.float32)
    starts = np.searchsorted(row_course, np.arange(row_course[-1] + 2))
    for course in range(row_course[-1] + 1):
        in_course = slice(starts[course], starts[course + 1])
        column_block, column_gap, _ = _divide(rng, shape[1], block[1])
        tone[in_course] = rng.uniform(-1.6, 1.6, column_block[-1] + 1)[column_block]
        gap[in_course] = np.minimum(row_gap[in_course, None], column_gap)
    return _Courses(tone, gap, np.broadcast_to(rise[:, None], shape))


def _divide(rng: np.random.Generator, length: int, mean: float) -> tuple[npt.NDArray[np.intp], FloatImage, FloatImage]:
    """Cut `length` texels into irregular parts: part of each texel, gap to its ends, fraction."""
    parts = mean * rng.uniform(0.72, 1.28, int(length / mean / 0.72) + 3)
    ends = parts.cumsum() - rng.uniform(0.0, parts[0])
    position = np.arange(length) + 0.5
    part_idx = ends.searchsorted(position)
    after = ends[part_idx] - position
    before = parts[part_idx] - after
    gap = np.minimum(before, after).astype(np.float32)
    return part_idx - part_idx[0], gap, (before / parts[part_idx]).astype(np.float32)


def _noise(rng: np.random.Generator, shape: Shape, cell: tuple[float, float], strength: float = 1.0) -> FloatImage:
    """Smooth noise of about this strength whose bumps are `cell` = (rows, columns) texels apart."""
    cell = (max(cell[0], 1.0), max(cell[1], 1.0))
    knots = [int(n / c) + 3 for n, c in zip(shape, cell, strict=True)]
    values = rng.standard_normal(knots, dtype=np.float32)
    values *= np.float32(1.4 * strength)
    rows, columns = (np.arange(n) / c + rng.uniform() for n, c in zip(shape, cell, strict=True))
    return interpolate(values, rows, columns, is_smooth=True)


def _fractal(rng: np.random.Generator, shape: Shape, cell: float) -> FloatImage:
    """Four octaves of noise, the coarsest `cell` texels wide; about unit strength."""
    total = _noise(rng, shape, (cell, cell), 0.82)
    for octave in range(1, 4):
        size = cell / 2**octave
        if size >= 1.5:
            total += _noise(rng, shape, (size, size), 0.82 * 0.6**octave)
    return total


def _specks(rng: np.random.Generator, shape: Shape) -> FloatImage:
    """Scattered light and dark spots of several sizes: what a feature detector likes best."""
    total = np.zeros(shape, dtype=np.float32)
    for cell in (2.5, 5.0, 11.0):
        bumps = _noise(rng, shape, (cell, cell), 0.63)
        cubes = bumps * bumps
        cubes *= bumps
        total += cubes
    return np.clip(total, -2.5, 2.5, out=total)
