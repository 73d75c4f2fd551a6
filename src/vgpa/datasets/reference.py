"""From what a dataset's files say of their images to a reference: names, cameras and poses, each checked.

`reading` turns whatever goes wrong in between into one sentence that names the file.
"""

from __future__ import annotations

import lzma
import math
import sqlite3
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np
from PIL import Image

from vgpa.colmap.cameras import guess_camera
from vgpa.errors import InputError
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import BoolArray, FloatArray, nearest_rotation
from vgpa.scene import Camera, FocalSource, ImageSet, Poses, Reconstruction, Tracks

BROKEN = (
    *(OSError, ValueError, LookupError, ArithmeticError, RuntimeError, EOFError, MemoryError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, sqlite3.Error, struct.error, tokenize.TokenError),
)
"""What reading a damaged file can raise."""
MAX_SHEAR = 1e-2
"""Largest entry by which R R^T may differ from the identity: files round, but a larger one is no rotation."""
MAX_COORDINATE_PX = 2.0**20
MAX_DISTANCE = 1e12
"""Units of the reference beyond which no camera stands."""


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Around the reading of one file: errors become an `InputError` that names it."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"There is no {what} at {path}", "Check the layout of the dataset's folder") from error
    except BROKEN as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{path} cannot be read as {what} ({reason})", "Check that the file is complete, or fetch the scene again"
        ) from error


def scene_folder(root: Path, name: str) -> Path:
    """The folder of a scene, which must exist."""
    if not (root / name).is_dir():
        raise InputError(f"There is no scene {name!r} in {root}", "Give the folder that holds the scenes' folders")
    return root / name


def read_numbers(path: Path, what: str, num: int) -> FloatArray:
    """The numbers of a small text file, of which there must be `num`."""
    with reading(path, what):
        numbers = np.array(path.read_text(encoding="utf-8").split(), dtype=np.float64)
        if len(numbers) != num:
            raise ValueError(f"it holds {len(numbers)} numbers, not {num}")
    return numbers


def rotation_of(matrix: FloatArray) -> FloatArray:
    """The rotations that (..., 3, 3) matrices of rounded numbers stand for; raises where they are no rotations."""
    if not (np.abs(matrix) <= 1 + MAX_SHEAR).all():
        raise ValueError("a matrix is not a rotation")
    shear = np.abs(matrix @ np.swapaxes(matrix, -1, -2) - np.eye(3))
    if (shear > MAX_SHEAR).any() or not (np.linalg.det(matrix) > 0).all():
        raise ValueError("a matrix is not a rotation")
    return nearest_rotation(matrix)


def pinhole(calibration: FloatArray, size_px: tuple[int, int] | None) -> Camera:
    """The camera of a calibration matrix (3, 3); an image of unknown size spans twice its principal point."""
    calibration = np.asarray(calibration, dtype=np.float64)
    if calibration.shape != (3, 3) or not (np.abs(calibration) <= MAX_COORDINATE_PX).all():
        raise ValueError("a calibration is not a finite 3 x 3 matrix")
    (fx, _, cx), (_, fy, cy) = calibration[:2]
    if fx <= 0 or fy <= 0 or abs(calibration[0, 1]) > 1e-3 * fx or not np.allclose(calibration[2], [0, 0, 1]):
        raise ValueError("a calibration has no positive focal lengths, or skew")
    width, height = size_px or (max(1, math.ceil(2 * cx)), max(1, math.ceil(2 * cy)))
    return Camera("PINHOLE", width, height, np.array([fx, fy, cx, cy]), FocalSource.PRIOR)


def unknown_camera(size_px: tuple[int, int] | None) -> Camera:
    """A camera that the dataset says nothing about; 1 x 1 pixels where not even the size is known."""
    return guess_camera(size_px or (1, 1), "SIMPLE_PINHOLE")


def photo_size(path: Path) -> tuple[int, int] | None:
    """Width and height of a photo, None where it is not there."""
    if not path.is_file():
        return None
    with reading(path, "a photo"), Image.open(path) as photo:
        return photo.size


def require_cameras(photos: Path, names: Sequence[str]) -> Path | None:
    """The folder of the photos, None where there is none; raises where one of them is not among the names."""
    if not photos.is_dir():
        return None
    suffixes = {PurePosixPath(name).suffix for name in names}
    found = {path.name for path in photos.iterdir() if path.suffix in suffixes and not path.stem.endswith("_masked")}
    lost = sorted(found.difference(names))
    if lost:
        raise InputError(
            f"{len(lost)} photos in {photos} have no camera, the first is {lost[0]!r}", "Fetch the scene again"
        )
    return photos


def make_images(names: Sequence[str], cameras: Sequence[Camera]) -> ImageSet:
    """Images in the given order, numbered from 1; those whose cameras are equal share one."""
    for name in names:
        # Windows paths know both slashes, and so an anchor or a parent in either writing.
        path = PureWindowsPath(name)
        if not name or not name.isprintable() or path.anchor or ".." in path.parts:
            raise ValueError(f"{name!r} is not the name of a photo below a folder")
    keys = [(c.model, c.width_px, c.height_px, c.params.tobytes(), c.focal_source) for c in cameras]
    first = {key: k for k, key in reversed(list(enumerate(keys)))}
    used, camera_idx = np.unique([first[key] for key in keys], return_inverse=True)
    return ImageSet(tuple(names), camera_idx, tuple(cameras[k] for k in used), np.arange(1, len(names) + 1))


def make_reference(images: ImageSet, cam_from_world: Rigid, is_known: BoolArray | None = None) -> Reconstruction:
    """A model without points; poses outside the mask (num_images,) are unknown."""
    if np.abs(cam_from_world.translation).max(initial=0) > MAX_DISTANCE:
        raise ValueError("a camera is out of this world")
    poses = Poses.of_all(cam_from_world)
    return Reconstruction(
        images,
        poses if is_known is None else poses.keep(is_known),
        np.zeros((0, 3)),
        Tracks.empty(),
        np.zeros(0),
        np.zeros((0, 3), dtype=np.uint8),
    )
