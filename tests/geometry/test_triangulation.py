"""Triangulation: exact on exact rays, NaN-free masks, angles that mean what they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import normalize
from vgpa.geometry.triangulation import ray_spread_rad, triangulate_dlt


def seen_points(num_points: int, views_per_point: list[int]) -> tuple[np.ndarray, np.ndarray, Rigid, np.ndarray]:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(num_points, 3))
    offsets = np.concatenate([[0], np.cumsum(views_per_point)])
    cams = Rigid.from_matrix(
        Rotation.random(offsets[-1], random_state=1).as_matrix(), rng.normal(size=(offsets[-1], 3)) * 3
    )
    rays = normalize(cams.apply(np.repeat(points, views_per_point, axis=0)))
    return points, rays, cams, offsets


def test_exact_rays_give_exact_points_whatever_the_track_length() -> None:
    points, rays, cams, offsets = seen_points(6, [2, 3, 2, 10, 4, 50])
    np.testing.assert_allclose(triangulate_dlt(rays, cams.matrix, np.arange(len(rays)), offsets), points, atol=1e-8)


def test_tracks_may_share_cameras() -> None:
    points = np.random.default_rng(0).normal(size=(5, 3))
    cams = Rigid.from_matrix(Rotation.random(4, random_state=1).as_matrix(), np.eye(4, 3) * 3)
    camera_idx = np.array([0, 1, 2, 3, 0, 2, 1, 3, 0, 3])
    rays = normalize(cams.apply_each(camera_idx, np.repeat(points, 2, axis=0)))
    found = triangulate_dlt(rays, cams.matrix, camera_idx, np.arange(0, 11, 2))
    np.testing.assert_allclose(found, points, atol=1e-8)


def test_triangulation_follows_a_change_of_world() -> None:
    points, rays, cams, offsets = seen_points(4, [3, 3, 3, 3])
    new_from_old = Rigid.from_matrix(Rotation.random(random_state=5).as_matrix(), np.array([1.0, -2, 3]))
    moved = cams @ Rigid(
        np.broadcast_to(new_from_old.inverse().quaternion_wxyz, (len(cams), 4)),
        np.broadcast_to(new_from_old.inverse().translation, (len(cams), 3)),
    )
    found = triangulate_dlt(rays, moved.matrix, np.arange(len(rays)), offsets)
    np.testing.assert_allclose(found, new_from_old.apply(points), atol=1e-8)


def test_parallel_rays_give_no_finite_point_nearby() -> None:
    cams = Rigid.from_centre(np.stack([np.eye(3)] * 2), np.array([[0.0, 0, 0], [1, 0, 0]]))
    rays = np.array([[0.0, 0, 1], [0, 0, 1]])
    point = triangulate_dlt(rays, cams.matrix, np.arange(2), np.array([0, 2]))
    assert not np.isfinite(point).all() or np.linalg.norm(point) > 1e6


def test_no_tracks_give_no_points() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    assert triangulate_dlt(np.zeros((0, 3)), np.zeros((0, 3, 4)), nothing, np.array([0])).shape == (0, 3)


@pytest.mark.parametrize("angle_deg", [0.1, 1.0, 30.0, 120.0])
def test_spread_of_two_views_is_the_angle_between_their_rays(angle_deg: float) -> None:
    half = np.radians(angle_deg) / 2
    centres = np.array([[np.sin(half), 0, np.cos(half)], [-np.sin(half), 0, np.cos(half)]])
    spread = ray_spread_rad(np.zeros((1, 3)), centres, np.array([0, 2]))
    np.testing.assert_allclose(np.degrees(spread), angle_deg)


def test_spread_of_a_point_at_infinity_is_zero() -> None:
    assert ray_spread_rad(np.array([[np.nan, 0, 0]]), np.eye(3)[:2], np.array([0, 2])) == 0
