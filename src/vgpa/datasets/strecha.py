"""Strecha's surveyed scenes (fountain-P11, entry-P10, Herz-Jesu, castle), as published with openMVG's benchmark.

NAME/images/*.jpg                         photos, without distortion
NAME/images/K.txt                         calibration matrix of all of them; each .camera file's own where absent
NAME/gt_dense_cameras/PHOTO.camera        26 numbers: K (3 x 3), three zeros, the rotation from camera to world
                                          (3 x 3), the centre, width and height
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vgpa.datasets.reference import (
    make_images,
    make_reference,
    pinhole,
    read_numbers,
    reading,
    require_cameras,
    rotation_of,
    scene_folder,
)
from vgpa.datasets.scene import DatasetScene
from vgpa.errors import InputError
from vgpa.geometry.rigid import Rigid

CAMERAS = "gt_dense_cameras"


def list_scenes(root: Path) -> list[str]:
    """Folders with survey cameras."""
    return sorted(folder.parent.name for folder in root.glob(f"*/{CAMERAS}") if any(folder.glob("*.camera")))


def load_scene(root: Path, name: str) -> DatasetScene:
    """One scene with its surveyed poses."""
    folder = scene_folder(root, name)
    paths = sorted((folder / CAMERAS).glob("*.camera"))
    if not paths:
        raise InputError(f"There are no .camera files in {folder / CAMERAS}", "Fetch the scene again")
    numbers = np.stack([read_numbers(path, "a camera of Strecha's survey", 26) for path in paths])
    shared = folder / "images" / "K.txt"
    if shared.is_file():
        numbers[:, :9] = read_numbers(shared, "a calibration matrix", 9)
    with reading(folder / CAMERAS, "cameras of Strecha's survey"):
        world_from_cam = rotation_of(numbers[:, 12:21].reshape(-1, 3, 3))
        cameras = [pinhole(row[:9].reshape(3, 3), (int(row[24]), int(row[25]))) for row in numbers]
        images = make_images([path.name.removesuffix(".camera") for path in paths], cameras)
        cam_from_world = Rigid.from_centre(np.swapaxes(world_from_cam, 1, 2), numbers[:, 21:24])
        reference = make_reference(images, cam_from_world)
    return DatasetScene(name, reference, image_dir=require_cameras(folder / "images", images.names))
