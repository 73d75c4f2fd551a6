"""The two large files of a COLMAP model, images.bin and points3D.bin, straight from arrays.

Through pycolmap every keypoint and every point becomes an object first, which takes ten times as long. What these files
hold is fixed by COLMAP's format: all numbers are little-endian, without gaps.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vgpa.scene import Keypoints, Reconstruction, Tracks

COUNT = np.dtype("<u8")
IMAGE = np.dtype([("image_id", "<u4"), ("quaternion_wxyz", "<f8", 4), ("translation", "<f8", 3), ("camera_id", "<u4")])
KEYPOINT = np.dtype([("xy_px", "<f8", 2), ("point_id", "<i8")])
POINT = np.dtype([("id", "<u8"), ("xyz", "<f8", 3), ("color", "u1", 3), ("error_px", "<f8"), ("num_views", "<u8")])
OBSERVATION = np.dtype([("image_id", "<u4"), ("keypoint_idx", "<u4")])
NO_POINT = -1


def write_images(model: Reconstruction, keypoints: Keypoints, path: Path) -> None:
    """Write images.bin: the registered images with all their keypoints and the points that these observe."""
    images, cam_from_world = model.images, model.poses.cam_from_world
    records = np.empty(len(images), dtype=IMAGE)
    records["image_id"], records["camera_id"] = images.image_id, images.camera_idx + 1
    records["quaternion_wxyz"], records["translation"] = cam_from_world.quaternion_wxyz, cam_from_world.translation
    point_of = model.point_of_keypoint(keypoints)
    point_id = np.where(point_of >= 0, point_of + 1, NO_POINT)
    registered = np.flatnonzero(model.poses.is_known).tolist()
    with path.open("wb") as file:
        file.write(_count(len(registered)))
        for k in registered:
            own = slice(keypoints.offsets[k], keypoints.offsets[k + 1])
            seen = np.empty(own.stop - own.start, dtype=KEYPOINT)
            seen["xy_px"], seen["point_id"] = keypoints.xy_px[own], point_id[own]
            name = images.names[k].encode("utf-8") + b"\0"
            file.write(records[k].tobytes() + name + _count(len(seen)))
            file.write(seen.data)


def write_points(model: Reconstruction, path: Path) -> None:
    """Write points3D.bin: point k of the model has the id k + 1."""
    tracks = model.tracks
    heads = np.empty(model.num_points, dtype=POINT)
    heads["id"] = np.arange(1, model.num_points + 1)
    heads["xyz"], heads["color"], heads["error_px"] = model.xyz, model.color, model.error_px
    heads["num_views"] = tracks.lengths
    observations = np.empty(tracks.num_observations, dtype=OBSERVATION)
    observations["image_id"] = model.images.image_id[tracks.image_idx]
    observations["keypoint_idx"] = tracks.keypoint_idx
    with path.open("wb") as file:
        file.write(_count(model.num_points))
        file.write(_interleaved(heads, observations, tracks).data)


def _interleaved(heads: NDArray[np.void], observations: NDArray[np.void], tracks: Tracks) -> NDArray[np.uint8]:
    """The bytes of each point's head, followed by those of its observations, point after point."""
    content = np.empty(heads.nbytes + observations.nbytes, dtype=np.uint8)
    start = np.arange(len(heads)) * POINT.itemsize + tracks.offsets[:-1] * OBSERVATION.itemsize
    is_head = np.zeros(len(content), dtype=np.bool_)
    is_head[start[:, None] + np.arange(POINT.itemsize)] = True
    content[is_head], content[~is_head] = heads.view(np.uint8), observations.view(np.uint8)
    return content


def _count(num: int) -> bytes:
    return np.array(num, dtype=COUNT).tobytes()
