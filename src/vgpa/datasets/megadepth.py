"""MegaDepth, in the two forms it is used in.

As published, one COLMAP model per scene; the scene is named after its folder:

    NAME/sparse/manhattan/0/     COLMAP model, binary or text (also NAME/sparse/0 and NAME/sparse)
    NAME/images/                 photos, optional

As image matchers index it (D2-Net, LoFTR), one npz per scene, below the root or a folder `scene_info*`; the scene is
named after its file:

    image_paths   (n,) paths of the photos (or names); None where there is none
    intrinsics    (n, 3, 3) (or K); poses (n, 4, 4) world to camera (or T_w2c); None, zero or NaN where unknown

Published npz files keep these as Python objects; `objects` reads them without running anything. Their pairs and
overlaps are not measurements, and are left alone.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from vgpa.colmap.model import read_model
from vgpa.datasets.objects import array_names, has_arrays, read_array
from vgpa.datasets.reference import make_images, make_reference, pinhole, reading, rotation_of
from vgpa.datasets.scene import DatasetScene
from vgpa.errors import InputError
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray
from vgpa.scene import FocalSource

MODELS = ("sparse/manhattan/0", "sparse/0", "sparse")
INDICES = ("*.npz", "scene_info*/*.npz")
WHAT = "a scene of MegaDepth"


def list_scenes(root: Path) -> list[str]:
    """Folders with a COLMAP model, and npz files."""
    folders = {folder.name for folder in root.glob("*") if _find_model(folder) is not None}
    return sorted(folders | {path.stem for path in _find_indices(root)})


def load_scene(root: Path, name: str) -> DatasetScene:
    """One scene with the poses of its COLMAP model."""
    model = _find_model(root / name)
    if model is not None:
        return _load_model(root / name, model)
    paths = [path for path in _find_indices(root) if path.stem == name]
    if not paths:
        raise InputError(
            f"There is no scene {name!r} in {root}", f"Give a folder with {name}/sparse, {name}.npz or scene_info"
        )
    return _load_index(root, paths[0])


def _find_model(folder: Path) -> Path | None:
    files = (folder / model / f"images.{suffix}" for model in MODELS for suffix in ("bin", "txt"))
    return next((file.parent for file in files if file.is_file()), None)


def _find_indices(root: Path) -> list[Path]:
    paths = [path for pattern in INDICES for path in sorted(root.glob(pattern))]
    return [path for path in paths if has_arrays(path, "poses") or has_arrays(path, "T_w2c")]


def _load_model(folder: Path, model: Path) -> DatasetScene:
    reference, _ = read_model(model)
    cameras = tuple(replace(camera, focal_source=FocalSource.PRIOR) for camera in reference.images.cameras)
    reference = replace(reference, images=reference.images.with_cameras(cameras))
    photos = folder / "images"
    return DatasetScene(folder.name, reference, image_dir=photos if photos.is_dir() else None)


def _load_index(root: Path, path: Path) -> DatasetScene:
    with reading(path, WHAT):
        photos, calibrations, poses = (
            _first(path, *keys) for keys in (("image_paths", "names"), ("intrinsics", "K"), ("poses", "T_w2c"))
        )
        if not len(photos) == len(calibrations) == len(poses):
            raise ValueError(f"it has {len(photos)} names, {len(calibrations)} intrinsics and {len(poses)} poses")
        present = [k for k, photo in enumerate(photos) if photo is not None and calibrations[k] is not None]
        files = [PurePosixPath(str(photos[k])) for k in present]
        images = make_images([file.name for file in files], [pinhole(calibrations[k], None) for k in present])
        world_to_cam = np.stack([_matrix(poses[k]) for k in present])
        is_known = np.abs(world_to_cam).max(axis=(1, 2)) > 0
        world_to_cam[~is_known] = np.eye(4)
        cam_from_world = Rigid.from_matrix(rotation_of(world_to_cam[:, :3, :3]), world_to_cam[:, :3, 3])
        reference = make_reference(images, cam_from_world, is_known)
    folders = (base / files[0].parent for base in (root, *root.resolve().parents[:2]))
    image_dir = next((folder for folder in folders if folder.is_dir()), None)
    return DatasetScene(path.stem, reference, image_dir=image_dir)


def _first(path: Path, *keys: str) -> Any:
    """The first of the arrays that the file has."""
    names = array_names(path)
    return read_array(path, next((key for key in keys if key in names), keys[0]))


def _matrix(pose: Any) -> FloatArray:
    """A pose (4, 4); zeros where it is unknown."""
    matrix = np.zeros((4, 4)) if pose is None else np.array(pose, dtype=np.float64)
    if matrix.shape != (4, 4):
        raise ValueError(f"a pose has shape {matrix.shape}")
    return matrix if np.isfinite(matrix).all() else np.zeros((4, 4))
