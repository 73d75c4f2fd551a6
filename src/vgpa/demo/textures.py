"""Paint for the demo world: procedural materials, and the store the renderer reads them from.

A *paint* is a recipe: given a random generator, a size and a density it returns one picture of
plaster, brick, tile or grass. Every surface of the world is painted by its own generator, so no two
surfaces look alike and a feature seen on one of them is found nowhere else. The finished pictures
go into a `TextureStore`, which keeps each one with its smaller copies (a mip pyramid), so that the
renderer can read any of them at the right sharpness.

Pictures are (3, rows, columns): red, green and blue in 0..1. Row 0 is the *lower* edge of a wall.
Arrays in, arrays out: no files, and no randomness but the generator handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatImage = npt.NDArray[np.float32]
Colour = tuple[float, float, float]
Shape = tuple[int, int]
Paint = Callable[[np.random.Generator, Shape, float], FloatImage]
"""(generator, (rows, columns), texels per metre) -> picture (3, rows, columns)."""

NUM_LEVELS = 6


@dataclass(frozen=True)
class TextureStore:
    """All textures and their mip levels in one flat array, ready for vectorised reading.

    Level k halves the size of level k - 1. `texels` (3, M) are the red, green and blue values;
    `first` (T, L) is where a level starts; `rows` and `columns` (T, L) are its sizes.
    """

    texels: npt.NDArray[np.uint8]
    first: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]


def pack_textures(pictures: Sequence[npt.NDArray[np.uint8]]) -> TextureStore:
    """Build the mip pyramids of `pictures`, each (3, rows, columns) in 0..255, and store them."""
    chunks: list[npt.NDArray[np.uint8]] = []
    tables = np.zeros((3, len(pictures), NUM_LEVELS), dtype=np.int32)
    position = 0
    for picture_idx, picture in enumerate(pictures):
        for level_idx, level in enumerate(_pyramid(picture)):
            tables[:, picture_idx, level_idx] = position, level.shape[1], level.shape[2]
            chunks.append(level.reshape(3, -1))
            position += chunks[-1].shape[1]
    return TextureStore(np.concatenate(chunks, axis=1), tables[0], tables[1], tables[2])


def sample_textures(
    store: TextureStore,
    texture_idx: npt.NDArray[np.integer],
    texel: npt.NDArray[np.floating],
    level: FloatImage,
) -> FloatImage:
    """Trilinear reading: (N,) textures at `texel` (2, N), as (column, row), and mip `level` (N,).

    The centre of the first texel is (0.5, 0.5); beyond the border its colour goes on. Returns
    colours (3, N) in 0..255.
    """
    level = np.clip(level, 0.0, NUM_LEVELS - 1.001)
    sharper = level.astype(np.int32)
    colour = _bilinear(store, texture_idx, texel, sharper)
    softer = _bilinear(store, texture_idx, texel, sharper + 1)
    softer -= colour
    softer *= level - sharper
    colour += softer
    return colour


# ---------------------------------------------------------------------------------------- paints


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
        warmth = _rgb((0.03, 0.0, -0.03)) * blocks.tone
        return _rgb(colour) * (tint + warmth)

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
        slope = height_m / np.hypot(axes[0][:, None], axes[1][None] + 1.0)
        haze = np.exp(-slope / 0.22)
        blue = _rgb(zenith) * (1.0 - haze) + _rgb(horizon) * haze
        cloud = np.clip(0.45 * _fractal(rng, shape, 0.9 * height_m * texels_per_m), 0.0, 0.8)
        return blue + cloud * (1.0 - 0.8 * haze) * (_rgb((1, 0.98, 0.95)) - blue)

    return paint


# ------------------------------------------------------------------------------- building blocks


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
    for course in range(row_course[-1] + 1):
        in_course = slice(*np.searchsorted(row_course, [course, course + 1]))
        column_block, column_gap, _ = _divide(rng, shape[1], block[1])
        tone[in_course] = rng.uniform(-1.6, 1.6, column_block[-1] + 1)[column_block]
        gap[in_course] = np.minimum(row_gap[in_course, None], column_gap)
    return _Courses(tone, gap, np.broadcast_to(rise[:, None], shape))


def _divide(rng: np.random.Generator, length: int, mean: float) -> tuple[npt.NDArray[np.intp], FloatImage, FloatImage]:
    """Cut `length` texels into irregular parts: part of each texel, gap to its ends, fraction."""
    parts = mean * rng.uniform(0.72, 1.28, int(length / mean / 0.72) + 3)
    ends = np.cumsum(parts) - rng.uniform(0.0, parts[0])
    position = np.arange(length) + 0.5
    part_idx = np.searchsorted(ends, position)
    after = ends[part_idx] - position
    before = parts[part_idx] - after
    gap = np.minimum(before, after).astype(np.float32)
    return part_idx - part_idx[0], gap, (before / parts[part_idx]).astype(np.float32)


def _noise(rng: np.random.Generator, shape: Shape, cell: tuple[float, float]) -> FloatImage:
    """Smooth noise of about unit strength whose bumps are `cell` = (rows, columns) texels apart."""
    cell = (max(cell[0], 1.0), max(cell[1], 1.0))
    knots = [int(n / c) + 3 for n, c in zip(shape, cell, strict=True)]
    values = np.float32(1.4) * rng.standard_normal(knots, dtype=np.float32)
    for axis in (0, 1):
        position = np.arange(shape[axis]) / cell[axis] + rng.uniform()
        knot = position.astype(np.intp)
        weight = (position - knot).astype(np.float32)
        weight = weight * weight * (3.0 - 2.0 * weight)
        weight = weight[:, None] if axis == 0 else weight[None]
        steps = np.diff(values, axis=axis).take(knot, axis)
        steps *= weight
        values = values.take(knot, axis)
        values += steps
    return values


def _fractal(rng: np.random.Generator, shape: Shape, cell: float) -> FloatImage:
    """Four octaves of noise, the coarsest `cell` texels wide; about unit strength."""
    total = np.zeros(shape, dtype=np.float32)
    for octave in range(4):
        size = cell / 2**octave
        if size >= 1.5 or octave == 0:
            total += np.float32(0.6**octave) * _noise(rng, shape, (size, size))
    return np.float32(0.82) * total


def _specks(rng: np.random.Generator, shape: Shape) -> FloatImage:
    """Scattered light and dark spots of several sizes: what a feature detector likes best."""
    total = np.zeros(shape, dtype=np.float32)
    for cell in (2.5, 5.0, 11.0):
        bumps = _noise(rng, shape, (cell, cell))
        total += np.float32(0.25) * bumps * bumps * bumps
    return np.clip(total, -2.5, 2.5)


# ---------------------------------------------------------------------------- pyramid and reading


def _pyramid(picture: npt.NDArray[np.uint8]) -> list[npt.NDArray[np.uint8]]:
    """Levels 0..NUM_LEVELS - 1 of a picture; where a size is odd, the border is repeated."""
    levels = []
    exact = picture.astype(np.float32)
    for _ in range(NUM_LEVELS):
        for axis in (1, 2):
            if exact.shape[axis] % 2:  # even, so that it can be halved and interpolated
                exact = np.concatenate([exact, exact.take([-1], axis)], axis=axis)
        levels.append((exact + 0.5).astype(np.uint8))
        exact = exact[:, 0::2] + exact[:, 1::2]
        exact = 0.25 * (exact[..., 0::2] + exact[..., 1::2])
    return levels


def _bilinear(
    store: TextureStore,
    texture_idx: npt.NDArray[np.integer],
    texel: npt.NDArray[np.floating],
    level: npt.NDArray[np.int32],
) -> FloatImage:
    """Bilinear reading (3, N) of one integer mip level per sample."""
    entry = texture_idx * NUM_LEVELS + level
    columns = store.columns.take(entry)
    shrink = np.exp2(-level.astype(np.float32))
    x = np.clip(texel[0] * shrink - 0.5, 0.0, columns - np.float32(1.001))
    y = np.clip(texel[1] * shrink - 0.5, 0.0, store.rows.take(entry) - np.float32(1.001))
    column, row = x.astype(np.int32), y.astype(np.int32)
    right, above = (x - column).astype(np.float32), (y - row).astype(np.float32)
    both = right * above
    corner = store.first.take(entry) + row * columns + column
    colour = store.texels.take(corner, axis=1) * (1.0 - right - above + both)
    colour += store.texels.take(corner + 1, axis=1) * (right - both)
    corner += columns
    colour += store.texels.take(corner, axis=1) * (above - both)
    colour += store.texels.take(corner + 1, axis=1) * both
    return colour
