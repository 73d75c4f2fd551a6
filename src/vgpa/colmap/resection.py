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

FOCAL = np.geomspace(0.5, 8.0, 6)
"""Focal lengths to try one after the other, in longer image sides."""
CLEAR_PART = 0.8
"""Part of the matches from which on nothing else is tried."""
MIN_GAIN, MIN_GAIN_OVER_KNOWN = 1.05, 1.2
"""A focal length found with the pose must explain this many times the matches that the given one does, which may be a
guess or known."""


@dataclass(frozen=True, eq=False)
class Resection:
    """A pose, the camera it holds for, and how many matches agree."""

    cam_from_world: Rigid
    camera: Camera
    num_inliers: int


@dataclass(frozen=True, eq=False)
class Sight:
    """What one image sees: points (n, 3) at pixels (n, 2), through a camera.

    Attributes:
        is_focal_free: nothing else tells the focal length; another one is taken if it explains clearly more.
    """

    camera: Camera
    xy_px: FloatArray
    xyz: FloatArray
    is_focal_free: bool = False


def resect(sights: list[Sight], max_error_px: float, num_threads: int = 1) -> list[Resection | None]:
    """The pose of each image; None where there is none."""
    from concurrent.futures import ThreadPoolExecutor  # slow to import, and most models have no lost images

    with silenced(), ThreadPoolExecutor(num_threads) as pool:
        return list(pool.map(lambda sight: _resect_one(sight, max_error_px), sights))


def _resect_one(sight: Sight, max_error_px: float) -> Resection | None:
    camera, xy_px, xyz = sight.camera, sight.xy_px, sight.xyz
    given = _resect(camera, xy_px, xyz, max_error_px)
    if not sight.is_focal_free:
        return given
    found = _believable(_resect(camera, xy_px, xyz, max_error_px, estimates_focal=True, refines_focal=True))
    is_clear = max(_num_inliers(given), _num_inliers(found)) >= CLEAR_PART * len(xyz)
    if not is_clear:
        # Points at one distance hardly tell a focal length, and an estimate from four of them is then a game of chance.
        side_px = max(camera.width_px, camera.height_px)
        tried = (with_focal(camera, side_px * focal) for focal in FOCAL)
        row = (_believable(_resect(lens, xy_px, xyz, max_error_px, refines_focal=True)) for lens in tried)
        found = max((found, *row), key=_num_inliers)
    min_gain = MIN_GAIN_OVER_KNOWN if camera.focal_source.is_known else MIN_GAIN
    return found if _num_inliers(found) >= max(min_gain * _num_inliers(given), 1) else given


def _num_inliers(answer: Resection | None) -> int:
    return 0 if answer is None else answer.num_inliers


def _believable(answer: Resection | None) -> Resection | None:
    return answer if answer is not None and has_believable_focal(answer.camera) else None


def _resect(
    camera: Camera,
    xy_px: FloatArray,
    xyz: FloatArray,
    max_error_px: float,
    estimates_focal: bool = False,
    refines_focal: bool = False,
) -> Resection | None:
    options = pycolmap.AbsolutePoseEstimationOptions()
    options.ransac.max_error = max_error_px
    options.ransac.random_seed = 0
    options.estimate_focal_length = estimates_focal
    refinement = pycolmap.AbsolutePoseRefinementOptions()
    refinement.refine_focal_length = refines_focal
    seeing = to_pycolmap(camera, 1)
    answer = pycolmap.estimate_and_refine_absolute_pose(xy_px, xyz, seeing, options, refinement)
    if answer is None:
        return None
    pose = answer["cam_from_world"]
    cam_from_world = Rigid(normalize(wxyz_from_xyzw(np.array(pose.rotation.quat))), np.array(pose.translation))
    seen_with = with_focal(camera, seeing.mean_focal_length()) if refines_focal else camera
    return Resection(cam_from_world, seen_with, int(answer["num_inliers"]))
