"""The demo world: a small old quarter around a fountain, drawn, painted and lit.

Everything is made of flat quads, and every flat surface carries its own texture. `quarter` says
what stands where, `paints` how each surface looks, `light` how bright it is; here they come
together as a `World`, which is all that the renderer needs.

World coordinates are metres with z up and the fountain at the origin. Touches no files.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vgpa.demo.light import light_pictures
from vgpa.demo.paints import Colour
from vgpa.demo.plan import Plan, Quad
from vgpa.demo.quarter import HAZE, draw_quarter
from vgpa.demo.textures import TextureStore, pack_textures

FloatArray = npt.NDArray[np.float64]


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


def make_world(seed: int) -> World:
    """Draw, paint and light the quarter. The seed changes every texture, not the layout."""
    return paint_world(draw_quarter(), seed)


def paint_world(plan: Plan, seed: int) -> World:
    """Paint and light whatever is drawn on a plan; surface k is painted by generator (seed, k)."""
    pictures = [
        surface.paint(np.random.default_rng([seed, idx]), surface.shape, surface.texels_per_m)
        for idx, surface in enumerate(plan.surfaces)
    ]
    lit = light_pictures(plan, pictures)
    textures = pack_textures([np.clip(255 * p, 0, 255).astype(np.uint8) for p in lit])
    texel_from_world = np.stack([surface.texel_from_world for surface in plan.surfaces])
    background = (255 * HAZE[0], 255 * HAZE[1], 255 * HAZE[2])
    return World(tuple(plan.quads), texel_from_world, textures, background, seed)
