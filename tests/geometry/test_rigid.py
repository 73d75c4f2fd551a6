"""Laws of rigid motions: names cancel, inverses undo, centres are where the camera sees nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from vgpa.geometry.rigid import Rigid, relative


def random_rigid(seed: int, num: int = 5) -> Rigid:
    rng = np.random.default_rng(seed)
    return Rigid.from_matrix(Rotation.random(num, random_state=seed).as_matrix(), rng.normal(size=(num, 3)))


def assert_same(a: Rigid, b: Rigid) -> None:
    np.testing.assert_allclose(a.matrix, b.matrix, atol=1e-13)


def test_composition_is_associative() -> None:
    a, b, c = (random_rigid(seed) for seed in (1, 2, 3))
    assert_same((a @ b) @ c, a @ (b @ c))


def test_inverse_undoes_from_both_sides() -> None:
    b_from_a = random_rigid(4)
    assert_same(b_from_a @ b_from_a.inverse(), Rigid.identity(5))
    assert_same(b_from_a.inverse() @ b_from_a, Rigid.identity(5))


def test_product_applies_right_to_left() -> None:
    c_from_b, b_from_a = random_rigid(5), random_rigid(6)
    points = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose((c_from_b @ b_from_a).apply(points), c_from_b.apply(b_from_a.apply(points)))


def test_centre_maps_to_the_origin_and_back() -> None:
    cam_from_world = random_rigid(7)
    np.testing.assert_allclose(cam_from_world.apply(cam_from_world.centre), 0, atol=1e-14)
    assert_same(Rigid.from_centre(cam_from_world.rotation, cam_from_world.centre), cam_from_world)


def test_relative_motion_follows_the_papers_equation() -> None:
    cam_i, cam_j = random_rigid(8), random_rigid(9)
    motion = relative(cam_i, cam_j)
    np.testing.assert_allclose(motion.rotation, cam_j.rotation @ np.swapaxes(cam_i.rotation, 1, 2), atol=1e-14)
    expected = np.einsum("nij,nj->ni", cam_j.rotation, cam_i.centre - cam_j.centre)
    np.testing.assert_allclose(motion.translation, expected, atol=1e-13)


@pytest.mark.parametrize(
    ("quaternion", "translation", "message"),
    [
        (np.ones((2, 4)), np.zeros((2, 3)), "unit"),
        (np.eye(4)[:2], np.zeros((3, 3)), "same batch"),
        (np.eye(4)[:2], np.full((2, 3), np.nan), "finite"),
    ],
)
def test_bad_motions_are_refused(quaternion: np.ndarray, translation: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Rigid(quaternion, translation)


def test_each_point_moves_by_the_motion_of_its_index() -> None:
    b_from_a, index = random_rigid(8), np.array([3, 0, 0, 4, 1, 3])
    points = np.random.default_rng(1).normal(size=(6, 3))
    np.testing.assert_allclose(b_from_a.apply_each(index, points), b_from_a[index].apply(points))
