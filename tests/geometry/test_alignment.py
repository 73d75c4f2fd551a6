"""Alignment recovers a known similarity, also when a fifth of the cameras is grossly wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from vgpa.geometry.alignment import Similarity, align_cameras, align_points, scene_size
from vgpa.geometry.rigid import Rigid


def make_cameras(num: int = 30) -> Rigid:
    rng = np.random.default_rng(0)
    return Rigid.from_centre(Rotation.random(num, random_state=1).as_matrix(), rng.normal(size=(num, 3)))


KNOWN = Similarity(2.5, Rotation.random(random_state=2).as_matrix(), np.array([10.0, -3, 4]))


def assert_same(a: Similarity, b: Similarity, tolerance: float) -> None:
    assert a.scale == pytest.approx(b.scale, rel=tolerance)
    np.testing.assert_allclose(a.rotation, b.rotation, atol=tolerance)
    np.testing.assert_allclose(a.translation, b.translation, atol=10 * tolerance)


def test_inverse_undoes() -> None:
    points = np.random.default_rng(3).normal(size=(5, 3))
    np.testing.assert_allclose(KNOWN.inverse().apply(KNOWN.apply(points)), points)


def test_cameras_keep_seeing_the_same_points() -> None:
    cams = make_cameras()
    point = np.array([0.3, -0.2, 0.5])
    before = cams.apply(np.broadcast_to(point, (30, 3)))
    after = KNOWN.apply_to_cameras(cams).apply(np.broadcast_to(KNOWN.apply(point), (30, 3)))
    np.testing.assert_allclose(after, KNOWN.scale * before, atol=1e-12)


def test_exact_similarity_is_recovered() -> None:
    cams = make_cameras()
    assert_same(align_cameras(cams, KNOWN.apply_to_cameras(cams)), KNOWN, 1e-9)
    assert_same(align_points(cams.centre, KNOWN.apply(cams.centre)), KNOWN, 1e-9)


def test_gross_outliers_do_not_move_the_alignment() -> None:
    cams = make_cameras()
    moved = KNOWN.apply_to_cameras(cams)
    centre = moved.centre.copy()
    centre[:6] += np.random.default_rng(4).normal(size=(6, 3)) * 100
    assert_same(align_cameras(cams, Rigid.from_centre(moved.rotation, centre)), KNOWN, 1e-6)
    assert_same(align_points(cams.centre, centre), KNOWN, 1e-6)


def test_a_known_up_is_kept_exactly_and_the_rest_is_recovered() -> None:
    cams = make_cameras()
    up = KNOWN.rotation.T @ [0.0, 0, 1]
    assert_same(align_points(cams.centre, KNOWN.apply(cams.centre), up), KNOWN, 1e-9)
    noisy = KNOWN.apply(cams.centre) + np.random.default_rng(6).normal(size=(30, 3))
    np.testing.assert_allclose(align_points(cams.centre, noisy, up).rotation @ up, [0, 0, 1], atol=1e-12)


def test_a_line_of_points_and_up_fix_the_rotation() -> None:
    line = np.linspace(0, 1, 10)[:, None] * [1.0, 2, 0]
    turn = Similarity(2.0, Rotation.from_euler("z", 40, degrees=True).as_matrix(), np.array([1.0, 2, 3]))
    assert_same(align_points(line, turn.apply(line), np.array([0.0, 0, 1])), turn, 1e-9)


def test_size_ignores_a_camera_that_ran_away() -> None:
    centres = np.random.default_rng(5).normal(size=(50, 3))
    size = scene_size(centres)
    centres[0] = 1e6
    assert scene_size(centres) == pytest.approx(size, rel=0.2)
