"""The pose of one image from its matches to 3D points, by pycolmap's RANSAC and refinement."""

from __future__ import annotations

import numpy as np
import pycolmap

from vgpa.colmap.cameras import to_pycolmap
from vgpa.colmap.silence import silenced
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, normalize, wxyz_from_xyzw
from vgpa.scene import Camera


def resect(camera: Camera, xy_px: FloatArray, xyz: FloatArray, max_error_px: float) -> tuple[Rigid, int] | None:
    """cam_from_world of a camera that sees points (n, 3) at pixels (n, 2), and how many agree; None if none do."""
    options = pycolmap.AbsolutePoseEstimationOptions()
    options.ransac.max_error = max_error_px
    options.ransac.random_seed = 0
    with silenced():
        answer = pycolmap.estimate_and_refine_absolute_pose(xy_px, xyz, to_pycolmap(camera, 1), options)
    if answer is None:
        return None
    pose = answer["cam_from_world"]
    cam_from_world = Rigid(normalize(wxyz_from_xyzw(np.array(pose.rotation.quat))), np.array(pose.translation))
    return cam_from_world, int(answer["num_inliers"])
