"""How a model is drawn does not depend on its units or orientation, and every point is in one step of the slider."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.made_up import model, ring_of_cameras
from vgpa.geometry.alignment import Similarity
from vgpa.geometry.rotation import exp_map
from vgpa.scene import Poses
from vgpa.viewer.points import NUM_STEPS, group_by_error
from vgpa.viewer.world import ERROR_COLORS, SIZE, error_colors, mean_errors_px, view_world

vectors = st.lists(st.floats(-3, 3), min_size=3, max_size=3).map(np.array)


@given(vectors, vectors, st.floats(0.01, 100))
def test_units_and_orientation_of_the_world_do_not_show(turn: np.ndarray, shift: np.ndarray, scale: float) -> None:
    here = model(ring_of_cameras(12)[:5], 60)  # a full circle looks nowhere in particular
    there_from_here = Similarity(scale, exp_map(turn), shift)
    cameras = there_from_here.apply_to_cameras(here.poses.cam_from_world)
    there = replace(here, xyz=there_from_here.apply(here.xyz), poses=Poses.of_all(cameras))
    drawn_here = view_world(here).view_from_world.apply(here.xyz)
    drawn_there = view_world(there).view_from_world.apply(there.xyz)
    assert drawn_there == pytest.approx(drawn_here, abs=1e-6)


def test_the_scene_has_its_size_and_lies_around_the_origin() -> None:
    made_up = model(ring_of_cameras(12), 200)
    centre = view_world(made_up).view_from_world.apply(made_up.poses.cam_from_world.centre)
    assert np.abs(centre).max() < SIZE / 2
    assert np.ptp(centre, axis=0).max() > SIZE / 2


@given(st.lists(st.floats(0, 1e4), max_size=80))
def test_every_point_is_in_one_step_and_within_its_error(numbers: list[float]) -> None:
    error_px = np.array(numbers)
    step, members = group_by_error(error_px)
    assert len(members) == NUM_STEPS
    assert sorted(np.concatenate(members).tolist()) == list(range(len(error_px)))
    for k, rows in enumerate(members[:-1]):
        assert (error_px[rows] <= (k + 1) * step * (1 + 1e-9)).all()


def test_colours_of_errors_run_from_end_to_end_of_the_scale() -> None:
    colors = error_colors(np.array([0.0, 2.0, 50.0, np.nan]), 2.0)
    assert colors.tolist() == [ERROR_COLORS[0].tolist(), *[ERROR_COLORS[-1].tolist()] * 2, [150] * 3]


def test_mean_errors_count_every_observation() -> None:
    made_up = model(ring_of_cameras(4), 3)
    seen = [made_up.error_px[made_up.tracks.track_idx[made_up.tracks.image_idx == k]].mean() for k in range(4)]
    assert mean_errors_px(made_up) == pytest.approx(seen)
    assert np.isnan(mean_errors_px(model(ring_of_cameras(2), 0))).all()
