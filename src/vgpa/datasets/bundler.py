"""Cameras of Bundler's reconstructions (bundle.out), in our frames.

Bundler's cameras look along -z, with y up: x_cam = R x + t, and a point is seen at f r(p) p with p = -(x, y) / z, y up
from the image's centre. Half a turn about x (`FLIP`) gives our frame, z forward and y down. Its lens, r(p) = 1 +
k1 |p|^2 + k2 |p|^4, is COLMAP's RADIAL.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vgpa.datasets.reference import reading, rotation_of
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import BoolArray, FloatArray

FLIP = np.diag([1.0, -1.0, -1.0])
"""Our camera frame from Bundler's, and back."""


@dataclass(frozen=True, eq=False)
class BundlerCameras:
    """The cameras of a bundle file.

    Attributes:
        lens: (num_cameras, 3) focal length in pixels, k1, k2.
        cam_from_world: (num_cameras) poses in our frame; the identity where there is none.
        is_known: (num_cameras,) False where Bundler has not placed a camera (focal length 0).
    """

    lens: FloatArray
    cam_from_world: Rigid
    is_known: BoolArray

    def __len__(self) -> int:
        return len(self.lens)


def read_cameras(path: Path) -> BundlerCameras:
    """The cameras of a bundle file; its points are not read."""
    with reading(path, "Bundler's reconstruction"), path.open(encoding="utf-8") as stream:
        if not stream.readline().startswith("# Bundle file"):
            raise ValueError("it does not begin with '# Bundle file'")
        num_cameras = int(stream.readline().split()[0])
        lines = [line for line, _ in zip(stream, range(5 * num_cameras), strict=False)]
        numbers = np.array(" ".join(lines).split(), dtype=np.float64)
        if len(numbers) != 15 * num_cameras:
            raise ValueError(f"it ends before its {num_cameras} cameras do")
        rows = numbers.reshape(num_cameras, 15)
        is_known = rows[:, 0] > 0
        rotation = np.where(is_known[:, None, None], rows[:, 3:12].reshape(-1, 3, 3), FLIP)
        translation = np.where(is_known[:, None], rows[:, 12:], 0.0)
        cam_from_world = Rigid.from_matrix(FLIP @ rotation_of(rotation), translation @ FLIP)
    return BundlerCameras(rows[:, :3], cam_from_world, is_known)
