"""Laws of the texture store: plain and sloping pictures read exactly at every level."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vgpa.demo import textures


@given(size=st.tuples(st.integers(1, 70), st.integers(1, 70)), grey=st.integers(0, 255), level=st.floats(0, 9))
@settings(max_examples=40, deadline=None)
def test_a_plain_texture_reads_the_same_at_every_level(size: tuple[int, int], grey: int, level: float) -> None:
    decoy = np.full((3, 5, 5), 255 - grey, dtype=np.uint8)
    store = textures.pack_textures([decoy, np.full((3, *size), grey, dtype=np.uint8), decoy])
    texel = np.random.default_rng(0).uniform(-20, 90, (2, 50)).astype(np.float32)
    colour = textures.sample_textures(store, np.full(50, 1), texel, np.full(50, level, dtype=np.float32))
    np.testing.assert_allclose(colour, grey, atol=1e-2)


@given(level=st.integers(0, 3), slope=st.floats(0.5, 3.0))
@settings(max_examples=20, deadline=None)
def test_a_ramp_reads_exactly_at_every_level(level: int, slope: float) -> None:
    ramp = np.broadcast_to((np.arange(64) + 0.5) * slope, (3, 64, 64))
    store = textures.pack_textures([ramp.round().astype(np.uint8)])
    column = np.linspace(12.0, 52.0, 9).astype(np.float32)
    texel = np.stack([column, np.full(9, 30.0, dtype=np.float32)])
    colour = textures.sample_textures(store, np.zeros(9, dtype=int), texel, np.full(9, level, dtype=np.float32))
    np.testing.assert_allclose(colour, np.broadcast_to(slope * column, (3, 9)), atol=1.1)
