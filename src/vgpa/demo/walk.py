"""The walk of the photographer: once around the quarter, a photo every few steps.

The cameras form a closed loop and look in at the fountain; no two steps, heights or aims are quite
the same. Cameras follow COLMAP: x_cam = rotation @ x_world + translation, looking along +z with y
down. World coordinates are metres with z up and the fountain at the origin. Touches no files.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class DemoCameras:
    """N pinhole cameras, principal point in the middle: rotation (N, 3, 3), translation (N, 3)."""

    width: int
    height: int
    focal_px: float
    rotation: FloatArray
    translation: FloatArray

    @property
    def pixel_from_cam(self) -> FloatArray:
        """Calibration matrix (3, 3)."""
        focal = self.focal_px
        return np.array([[focal, 0, self.width / 2], [0, focal, self.height / 2], [0, 0, 1.0]])


def loop_cameras(num_views: int, seed: int) -> DemoCameras:
    """A walk once around the quarter, looking in: no two steps, heights or aims quite the same."""
    rng = np.random.default_rng([seed, num_views])
    step_rad = 2 * np.pi / num_views
    angle_rad = step_rad * (np.arange(num_views) + rng.uniform(-0.12, 0.12, num_views))
    distance_m = 30.0 + 1.4 * np.sin(2 * angle_rad) + rng.uniform(-0.5, 0.5, num_views)
    height_m = 8.8 + 1.0 * np.sin(3 * angle_rad + 1.0) + rng.uniform(-0.3, 0.3, num_views)
    x, y = distance_m * np.cos(angle_rad), distance_m * np.sin(angle_rad)
    centre = np.stack([x, y, height_m], axis=1)
    aim = np.array([0.0, 0.0, 3.4]) + rng.uniform(-1, 1, (num_views, 3)) * (2.2, 2.2, 0.5)
    roll_rad = np.deg2rad(rng.uniform(-1.5, 1.5, num_views))
    rotation = np.stack([_look(*view) for view in zip(centre, aim, roll_rad, strict=True)])
    translation = -np.einsum("nij,nj->ni", rotation, centre)
    return DemoCameras(1200, 800, 1080.0, rotation, translation)


def _look(centre: FloatArray, aim: FloatArray, roll_rad: float) -> FloatArray:
    """Rotation cam_from_world (3, 3) of a camera at `centre` that looks at `aim`."""
    forward = (aim - centre) / np.linalg.norm(aim - centre)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    level = np.stack([right, np.cross(forward, right), forward])
    cos, sin = np.cos(roll_rad), np.sin(roll_rad)
    return np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]]) @ level
