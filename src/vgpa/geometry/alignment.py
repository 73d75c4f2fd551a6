"""Similarities between two sets of cameras: the gauge that no reconstruction can know.

Two protocols (METHOD section 8). `align_cameras` is the paper's: rotation from orientations (chordal mean),
then the scale and shift that minimise the sum of unsquared centre distances, which a few gross outliers do not
move. `align_points` is Umeyama's least squares, reweighted to be robust; where it is known which way is up, only
the turn about the vertical is fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, nearest_rotation, normalize

MAX_ITERATIONS = 200


@dataclass(frozen=True, eq=False)
class Similarity:
    """b_from_a: x_b = scale * rotation @ x_a + translation. Immutable.

    Attributes:
        scale: positive factor.
        rotation: (3, 3).
        translation: (3,).
    """

    scale: float
    rotation: FloatArray
    translation: FloatArray

    def apply(self, points: FloatArray) -> FloatArray:
        """(..., 3) points of frame a -> frame b."""
        return np.asarray(self.scale * points @ self.rotation.T + self.translation)

    def apply_to_cameras(self, cam_from_a: Rigid) -> Rigid:
        """The same cameras, with cam_from_b: orientations turn, centres move, camera frames keep unit scale."""
        return Rigid.from_centre(cam_from_a.rotation @ self.rotation.T, self.apply(cam_from_a.centre))

    def inverse(self) -> Similarity:
        """a_from_b."""
        back = self.rotation.T
        return Similarity(1 / self.scale, back, -back @ self.translation / self.scale)


def align_cameras(cam_from_a: Rigid, cam_from_b: Rigid) -> Similarity:
    """b_from_a of the same cameras in two worlds, by the paper's protocol."""
    rotation = nearest_rotation(np.einsum("nji,njk->ik", cam_from_b.rotation, cam_from_a.rotation))
    scale, translation = _fit_scale_and_shift(cam_from_a.centre @ rotation.T, cam_from_b.centre)
    return Similarity(scale, rotation, translation)


def align_points(points_a: FloatArray, points_b: FloatArray, up_a: FloatArray | None = None) -> Similarity:
    """b_from_a of corresponding points (n, 3), minimising unsquared distances (reweighted Umeyama).

    With `up_a`, a unit vector (3,), the rotation takes it to b's z axis exactly.
    """
    weights = np.ones(len(points_a))
    floor = 1e-9 * _size(points_b)
    for _ in range(MAX_ITERATIONS):
        similarity = _umeyama(points_a, points_b, weights, up_a)
        distance = np.linalg.norm(similarity.apply(points_a) - points_b, axis=-1)
        updated = 1 / np.maximum(distance, floor)
        if np.allclose(updated, weights, rtol=1e-9):
            break
        weights = updated
    return similarity


def scene_size(centres: FloatArray) -> float:
    """Twice the median distance of the centres (n, 3) from their median: a diameter that outliers do not move."""
    return 2 * float(np.median(np.linalg.norm(centres - np.median(centres, axis=0), axis=-1)))


def _fit_scale_and_shift(source: FloatArray, target: FloatArray) -> tuple[float, FloatArray]:
    """min over s, t of sum_i |s x_i + t - y_i| (convex) by iteratively reweighted least squares."""
    weights = np.ones(len(source))
    floor = 1e-9 * _size(target)
    scale, shift = 1.0, np.zeros(3)
    for _ in range(MAX_ITERATIONS):
        share = weights / weights.sum()
        mean_x, mean_y = share @ source, share @ target
        dx, dy = source - mean_x, target - mean_y
        spread = float(share @ np.sum(dx * dx, axis=-1))
        new_scale = float(share @ np.sum(dx * dy, axis=-1)) / spread if spread > 0 else 1.0
        new_shift = mean_y - new_scale * mean_x
        done = abs(new_scale - scale) <= 1e-12 * abs(new_scale) and np.allclose(new_shift, shift, rtol=0, atol=floor)
        scale, shift = new_scale, new_shift
        if done:
            break
        weights = 1 / np.maximum(np.linalg.norm(scale * source + shift - target, axis=-1), floor)
    return scale, shift


def _umeyama(points_a: FloatArray, points_b: FloatArray, weights: FloatArray, up_a: FloatArray | None) -> Similarity:
    """Weighted least-squares similarity b_from_a (Umeyama 1991), upright where `up_a` is given."""
    share = weights / weights.sum()
    mean_a, mean_b = share @ points_a, share @ points_b
    da, db = points_a - mean_a, points_b - mean_b
    covariance = (db * share[:, None]).T @ da
    rotation = nearest_rotation(covariance) if up_a is None else _nearest_upright_rotation(covariance, up_a)
    spread = float(share @ np.sum(da * da, axis=-1))
    scale = float(np.sum(rotation * covariance)) / spread if spread > 0 else 1.0
    return Similarity(scale, rotation, mean_b - scale * rotation @ mean_a)


def _nearest_upright_rotation(covariance: FloatArray, up_a: FloatArray) -> FloatArray:
    """The rotation that takes `up_a` to z and maximises trace(R^T covariance): upright, then turned about z."""
    right = normalize(np.cross(up_a, np.eye(3)[np.argmin(np.abs(up_a))]))
    upright_from_a = np.stack([right, np.cross(up_a, right), up_a])
    turn = covariance @ upright_from_a.T
    angle = np.arctan2(turn[1, 0] - turn[0, 1], turn[0, 0] + turn[1, 1])
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]]) @ upright_from_a


def _size(points: FloatArray) -> float:
    """A length that sets the numerical floor: never zero."""
    return max(float(np.abs(points - points.mean(axis=0)).max()), 1e-300)
