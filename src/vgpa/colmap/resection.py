"""The pose of one image from its matches to 3D points, by pycolmap's RANSAC and refinement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pycolmap

from vgpa.colmap.cameras import has_believable_focal, to_pycolmap, with_focal
from vgpa.colmap.silence import silenced
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, normalize, wxyz_from_xyzw
from vgpa.scene import Camera

MIN_GAIN = 1.05
"""A focal length found with the pose must explain this many times the matches that the given one does."""


@dataclass(frozen=True, eq=False)
class Resection:
    """A pose, the camera it holds for, and how many matches agree."""

    cam_from_world: Rigid
    camera: Camera
    num_inliers: int


def resect(
    camera: Camera, xy_px: FloatArray, xyz: FloatArray, max_error_px: float, is_focal_free: bool = False
) -> Resection | None:
    """The pose of a camera that sees points (n, 3) at pixels (n, 2); None if there is none.

    Args:
        is_focal_free: nothing else tells the focal length; another one is taken if it explains clearly more.
    """
    given = _resect(camera, xy_px, xyz, max_error_px, False)
    found = _resect(camera, xy_px, xyz, max_error_px, True) if is_focal_free else None
    if found is None or not has_believable_focal(found.camera):
        return given
    return found if given is None or found.num_inliers >= MIN_GAIN * given.num_inliers else given


def _resect(
    camera: Camera, xy_px: FloatArray, xyz: FloatArray, max_error_px: float, is_focal_free: bool
) -> Resection | None:
    options = pycolmap.AbsolutePoseEstimationOptions()
    options.ransac.max_error = max_error_px
    options.ransac.random_seed = 0
    options.estimate_focal_length = is_focal_free
    refinement = pycolmap.AbsolutePoseRefinementOptions()
    refinement.refine_focal_length = is_focal_free
    seeing = to_pycolmap(camera, 1)
    with silenced():
        answer = pycolmap.estimate_and_refine_absolute_pose(xy_px, xyz, seeing, options, refinement)
    if answer is None:
        return None
    pose = answer["cam_from_world"]
    cam_from_world = Rigid(normalize(wxyz_from_xyzw(np.array(pose.rotation.quat))), np.array(pose.translation))
    seen_with = with_focal(camera, seeing.mean_focal_length()) if is_focal_free else camera
    return Resection(cam_from_world, seen_with, int(answer["num_inliers"]))
