"""Verified pairs as a database has them, and the relative motion of each: stored, or recovered from its matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pycolmap
from numpy.typing import NDArray

from vgpa.colmap.cameras import to_pycolmap
from vgpa.colmap.silence import silenced
from vgpa.compute.beside import beside
from vgpa.geometry.rotation import FloatArray, wxyz_from_xyzw
from vgpa.scene import ImageSet, Keypoints

MAX_WITNESSES = 300
"""So many of a pair's matches tell which of the poses that a matrix allows has the points in front of the cameras."""
MIN_NUM_TO_SHARE = 200
"""Motions to recover from which on two cores share them."""


@dataclass(frozen=True, eq=False)
class Pair:
    """One row of two_view_geometries, with image indices in place of ids."""

    pair_id: int
    i: int
    j: int
    config: int
    matches: NDArray[np.int64]
    matrices: dict[str, FloatArray | None]
    quaternion_wxyz: FloatArray | None
    translation: FloatArray | None


def relative_motions(pairs: list[Pair], images: ImageSet, keypoints: Keypoints, num_cores: int) -> FloatArray:
    """(num_pairs, 7) quaternion (wxyz) and translation of cam_j_from_cam_i; zero translation without a baseline.

    What cannot be told is not finite.
    """
    cameras = [to_pycolmap(camera, k + 1) for k, camera in enumerate(images.cameras)]
    camera_of = [cameras[k] for k in images.camera_idx.tolist()]

    def all_of(some: list[Pair]) -> FloatArray:
        return np.array([_relative_motion(pair, camera_of, keypoints) for pair in some]).reshape(-1, 7)

    num_unknown = sum(_stored_motion(pair) is None for pair in pairs)
    half = len(pairs) // 2
    with beside(lambda: all_of(pairs[half:]), num_cores if num_unknown >= MIN_NUM_TO_SHARE else 1) as second:
        return np.concatenate([all_of(pairs[:half]), second()])


def _stored_motion(pair: Pair) -> FloatArray | None:
    """(7,) quaternion and translation of a pair, if the database has them."""
    if pair.quaternion_wxyz is None or pair.translation is None or not np.linalg.norm(pair.quaternion_wxyz) > 0.5:
        return None
    return np.concatenate([pair.quaternion_wxyz, pair.translation])


def _relative_motion(pair: Pair, camera_of: list[pycolmap.Camera], keypoints: Keypoints) -> FloatArray:
    stored = _stored_motion(pair)
    motion = _recover_motion(pair, camera_of, keypoints) if stored is None else stored
    is_panoramic = pair.config == int(pycolmap.TwoViewGeometryConfiguration.PANORAMIC)
    if is_panoramic and np.isfinite(motion).all():
        motion[4:] = 0.0
    return motion


def _recover_motion(pair: Pair, camera_of: list[pycolmap.Camera], keypoints: Keypoints) -> FloatArray:
    """(7,) the pose that the stored E, F or H and the inlier matches imply, by positive depth; else not finite."""
    spread = pair.matches[:: -(-len(pair.matches) // MAX_WITNESSES)]
    geometry = pycolmap.TwoViewGeometry()
    geometry.config = pair.config
    geometry.inlier_matches = np.repeat(np.arange(len(spread), dtype=np.uint32)[:, None], 2, axis=1)
    for name, matrix in pair.matrices.items():
        if matrix is not None:
            setattr(geometry, name, matrix)
    with silenced():
        found = pycolmap.estimate_two_view_geometry_pose(
            camera_of[pair.i],
            keypoints.of(pair.i)[spread[:, 0]],
            camera_of[pair.j],
            keypoints.of(pair.j)[spread[:, 1]],
            geometry,
        )
    if not found or geometry.cam2_from_cam1 is None:
        return np.full(7, np.nan)
    cam_j_from_cam_i = geometry.cam2_from_cam1
    return np.concatenate([wxyz_from_xyzw(cam_j_from_cam_i.rotation.quat), cam_j_from_cam_i.translation])
