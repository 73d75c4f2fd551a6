"""BlendedMVS: photos rendered from textured meshes, with the cameras they were rendered by.

NAME/blended_images/00000000.jpg     photos (the *_masked.jpg beside them are left alone)
NAME/cams/00000000_cam.txt           "extrinsic", world to camera (4 x 4); "intrinsic", calibration (3 x 3); depths
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vgpa.datasets.reference import (
    make_images,
    make_reference,
    photo_size,
    pinhole,
    reading,
    require_cameras,
    rotation_of,
    scene_folder,
)
from vgpa.datasets.scene import DatasetScene
from vgpa.errors import InputError
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray

SUFFIX = "_cam.txt"


def list_scenes(root: Path) -> list[str]:
    """Folders with cameras."""
    return sorted(folder.parent.name for folder in root.glob("*/cams") if any(folder.glob(f"*{SUFFIX}")))


def load_scene(root: Path, name: str) -> DatasetScene:
    """One scene with the poses it was rendered from."""
    folder = scene_folder(root, name)
    paths = sorted((folder / "cams").glob(f"*{SUFFIX}"))
    if not paths:
        raise InputError(f"There are no *{SUFFIX} files in {folder / 'cams'}", "Fetch the scene again")
    photos = folder / "blended_images"
    names = [path.name.removesuffix(SUFFIX) + ".jpg" for path in paths]
    matrices = [_read_camera(path) for path in paths]
    with reading(folder / "cams", "cameras of BlendedMVS"):
        cameras = [pinhole(k, photo_size(photos / name)) for (_, k), name in zip(matrices, names, strict=True)]
        world_to_cam = np.stack([matrix for matrix, _ in matrices])
        cam_from_world = Rigid.from_matrix(rotation_of(world_to_cam[:, :3, :3]), world_to_cam[:, :3, 3])
        reference = make_reference(make_images(names, cameras), cam_from_world)
    return DatasetScene(name, reference, image_dir=require_cameras(photos, names))


def _read_camera(path: Path) -> tuple[FloatArray, FloatArray]:
    """World to camera (4, 4) and calibration (3, 3)."""
    with reading(path, "a camera of BlendedMVS"):
        words = path.read_text(encoding="utf-8").split()
        start, middle = words.index("extrinsic"), words.index("intrinsic")
        world_to_cam = np.array(words[start + 1 : start + 17], dtype=np.float64).reshape(4, 4)
        calibration = np.array(words[middle + 1 : middle + 10], dtype=np.float64).reshape(3, 3)
    return world_to_cam, calibration
