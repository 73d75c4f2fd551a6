"""The texture store of the demo world: every picture with its smaller copies, ready for reading.

A picture that is seen from afar must be read softly, or fine detail turns into moire. The store
keeps each picture as a mip pyramid, whose level k is half the size of level k - 1, and reads any
of them at any sharpness in between. Pictures are (3, rows, columns) in 0..255; row 0 is the
*lower* edge of a wall. Arrays in, arrays out: no files, no randomness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

FloatImage = npt.NDArray[np.float32]

Pixel = TypeVar("Pixel", np.uint8, np.float32)

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


def _pyramid(picture: npt.NDArray[np.uint8]) -> list[npt.NDArray[np.uint8]]:
    """Levels 0..NUM_LEVELS - 1 of a picture; where a size is odd, the border is repeated."""
    levels = [_evened(picture)]
    exact = levels[0].astype(np.float32)
    while len(levels) < NUM_LEVELS:
        exact = exact[:, 0::2] + exact[:, 1::2]
        exact = _evened(np.float32(0.25) * (exact[..., 0::2] + exact[..., 1::2]))
        levels.append((exact + 0.5).astype(np.uint8))
    return levels


def _evened(picture: npt.NDArray[Pixel]) -> npt.NDArray[Pixel]:
    """The picture, its sizes made even, so that it can be halved and interpolated."""
    for axis in (1, 2):
        if picture.shape[axis] % 2:
            picture = np.concatenate([picture, picture.take([-1], axis)], axis=axis)
    return picture


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
