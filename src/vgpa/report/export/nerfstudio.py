"""nerfstudio's transforms.json, and the points that belong to it.

nerfstudio's cameras are OpenGL's (x right, y up, looking along -z), and its files hold world_from_cam. Its pixels are
counted as COLMAP's are. The saved world is COLMAP's turned so that z, not -y, is up; `applied_transform` says how.
The points in sparse_pc.ply are in the saved world.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from vgpa.errors import InputError
from vgpa.geometry.rotation import FloatArray
from vgpa.report.export.photos import FOLDER
from vgpa.report.ply import write_ply
from vgpa.scene import Camera, Reconstruction

PARAMETERS = {
    "SIMPLE_PINHOLE": ("PINHOLE", "f cx cy"),
    "PINHOLE": ("PINHOLE", "fl_x fl_y cx cy"),
    "SIMPLE_RADIAL": ("OPENCV", "f cx cy k1"),
    "RADIAL": ("OPENCV", "f cx cy k1 k2"),
    "OPENCV": ("OPENCV", "fl_x fl_y cx cy k1 k2 p1 p2"),
    "SIMPLE_RADIAL_FISHEYE": ("OPENCV_FISHEYE", "f cx cy k1"),
    "RADIAL_FISHEYE": ("OPENCV_FISHEYE", "f cx cy k1 k2"),
    "OPENCV_FISHEYE": ("OPENCV_FISHEYE", "fl_x fl_y cx cy k1 k2 k3 k4"),
}
"""nerfstudio's name of each COLMAP model it knows, and of the parameters in COLMAP's order; f is fl_x and fl_y."""
OPENCV_FROM_OPENGL = np.diag([1.0, -1.0, -1.0])
Z_UP_FROM_COLMAP = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])


def write_nerfstudio(model: Reconstruction, is_z_up: bool, folder: Path) -> list[Path]:
    """Write transforms.json and sparse_pc.ply; the files that were written.

    Args:
        model: its photos are expected in `folder/images`.
        is_z_up: the model's z axis is up already (east-north-up), and its world is saved as it is.
    """
    saved_from_world = np.eye(3) if is_z_up else Z_UP_FROM_COLMAP
    files = [folder / "transforms.json", folder / "sparse_pc.ply"]
    files[0].write_text(json.dumps(transforms(model, saved_from_world, files[1].name), indent=2), encoding="utf-8")
    write_ply(model.xyz @ saved_from_world.T, model.color, files[1])
    return files


def transforms(model: Reconstruction, saved_from_world: FloatArray, ply_name: str) -> dict[str, Any]:
    """What transforms.json holds, the world turned by a rotation (3, 3)."""
    images = model.images
    known = np.flatnonzero(model.poses.is_known).tolist()
    used = np.unique(images.camera_idx[known]).tolist()
    kind = common_kind(images.cameras[k] for k in used)
    cameras = {k: _intrinsics(images.cameras[k]) for k in used}
    is_shared = len(cameras) == 1
    world_from_cam = model.poses.cam_from_world.inverse()
    saved_from_cam = np.tile(np.eye(4), (len(images), 1, 1))
    saved_from_cam[:, :3, :3] = saved_from_world @ world_from_cam.rotation @ OPENCV_FROM_OPENGL
    saved_from_cam[:, :3, 3] = world_from_cam.translation @ saved_from_world.T
    frames = [
        {
            "file_path": f"{FOLDER}/{images.names[k]}",
            **({} if is_shared else cameras[int(images.camera_idx[k])]),
            "transform_matrix": saved_from_cam[k].tolist(),
        }
        for k in known
    ]
    return {
        "camera_model": kind,
        **(next(iter(cameras.values())) if is_shared else {}),
        "applied_transform": np.column_stack([saved_from_world, np.zeros(3)]).tolist(),
        "ply_file_path": ply_name,
        "frames": frames,
    }


def common_kind(cameras: Iterable[Camera]) -> str:
    """nerfstudio's one camera model for all of these; an error for the user where it has none."""
    kinds = set()
    for camera in cameras:
        if camera.model not in PARAMETERS:
            raise InputError(f"nerfstudio has no camera model {camera.model}", "Straighten the photos with --undistort")
        kinds.add(PARAMETERS[camera.model][0])
    if len(kinds) > 1 and "OPENCV_FISHEYE" in kinds:
        raise InputError("nerfstudio cannot mix fisheye and other lenses in one model", "Straighten with --undistort")
    # OPENCV without distortion is PINHOLE, so it stands for a mixture of both.
    return max(kinds, key=("PINHOLE", "OPENCV", "OPENCV_FISHEYE").index)


def _intrinsics(camera: Camera) -> dict[str, Any]:
    """A camera in nerfstudio's names: w, h, fl_x, fl_y, cx, cy and its distortion."""
    fields = dict(zip(PARAMETERS[camera.model][1].split(), camera.params.tolist(), strict=True))
    focal = fields.pop("f", None)
    both = {} if focal is None else {"fl_x": focal, "fl_y": focal}
    return {"w": camera.width_px, "h": camera.height_px, **both, **fields}
