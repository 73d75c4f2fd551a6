"""Laws of the paints: every seed its own picture, with detail; exact interpolation between knots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgpa.demo import paints

PAINTS = {
    "plaster": paints.plaster((0.8, 0.7, 0.6)),
    "masonry": paints.masonry((0.8, 0.7, 0.6), 0.2, 0.4),
    "tiles": paints.tiles((0.8, 0.5, 0.4)),
    "planks": paints.planks((0.5, 0.4, 0.3)),
    "window_panes": paints.window_panes((0.8, 0.8, 0.8)),
    "cloudy_sky": paints.cloudy_sky((0.3, 0.5, 0.8), (0.8, 0.9, 0.9), 1.0),
    "mottled": paints.mottled((0.2, 0.3, 0.2), (0.5, 0.6, 0.4), 0.5),
}


@pytest.mark.parametrize("name", PAINTS)
def test_a_paint_repeats_by_seed_and_never_repeats_itself(name: str) -> None:
    first, same, other = (PAINTS[name](np.random.default_rng(seed), (96, 128), 60.0) for seed in (1, 1, 2))
    assert first.shape == (3, 96, 128)
    np.testing.assert_array_equal(first, same)
    grey, other_grey = first.mean(axis=0), other.mean(axis=0)
    assert grey.std() > 0.02, "too flat for features"
    assert np.corrcoef(grey.ravel(), other_grey.ravel())[0, 1] < 0.9


@given(
    slopes=st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3)),
    size=st.tuples(st.integers(2, 6), st.integers(2, 6)),
)
@settings(max_examples=40, deadline=None)
def test_straight_interpolation_is_exact_for_a_twisted_plane(
    slopes: tuple[float, float, float], size: tuple[int, int]
) -> None:
    def height(row: paints.FloatArray, column: paints.FloatArray) -> paints.FloatArray:
        return slopes[0] * row + slopes[1] * column + slopes[2] * row * column

    rows, columns = (np.linspace(0.0, n - 1.001, 11) for n in size)
    knots = height(*np.indices(size)).astype(np.float32)
    between = paints.interpolate(np.stack([knots, -knots]), rows, columns, is_smooth=False)
    expected = height(rows[:, None], columns)
    np.testing.assert_allclose(between, np.stack([expected, -expected]), atol=1e-4)


def test_smooth_interpolation_meets_its_knots_and_stays_between_them() -> None:
    knots = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)
    on_knots = paints.interpolate(knots, np.arange(4.0), np.arange(6.0), is_smooth=True)
    np.testing.assert_allclose(on_knots, knots[:4, :6], atol=1e-6)
    between = paints.interpolate(knots, np.linspace(0, 3.99, 40), np.linspace(0, 5.99, 60), is_smooth=True)
    assert knots.min() <= between.min()
    assert between.max() <= knots.max()
