"""Straightened photos: each as a plain pinhole camera would have taken it, with the model to match.

COLMAP chooses the pinhole camera (as large as the lens allows without blank pixels) and warps the photos.
"""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pycolmap
from numpy.typing import NDArray
from PIL import Image

from vgpa.colmap.cameras import from_pycolmap, project, to_pycolmap, unproject
from vgpa.colmap.silence import silenced
from vgpa.errors import InputError, OutputError
from vgpa.scene import Camera, ImageSet, Keypoints, Reconstruction

MIN_OBSERVATIONS = 2
PINHOLES = ("SIMPLE_PINHOLE", "PINHOLE")
"""Cameras whose photos are straight already, and copied."""
QUALITY = 95
"""Of JPEG files."""


def undistort_model(model: Reconstruction, keypoints: Keypoints) -> tuple[Reconstruction, Keypoints]:
    """The same poses and points with PINHOLE cameras, and the keypoints where those see them.

    A keypoint that the lens model cannot straighten goes to the image corner and is observed no more.
    """
    images = model.images.with_cameras(tuple(_pinhole(camera) for camera in model.images.cameras))
    image_idx = np.repeat(np.arange(len(images)), keypoints.num_of())
    xy_px = project(images, image_idx, unproject(model.images, image_idx, keypoints.xy_px))
    is_good = np.asarray(np.isfinite(xy_px).all(axis=-1))
    xy_px[~is_good] = 0
    observed = keypoints.offsets[model.tracks.image_idx] + model.tracks.keypoint_idx
    tracks = model.tracks.select_observations(is_good[observed])
    straight = replace(model, images=images, tracks=tracks).select_points(tracks.lengths >= MIN_OBSERVATIONS)
    return straight, replace(keypoints, xy_px=xy_px)


def undistort_photos(images: ImageSet, source: Path, target: Path) -> None:
    """Write the straightened photos of `source` below `target`, under the same names.

    Raises an error for the user where a photo cannot be read, has another size than its camera, or cannot be
    written.
    """

    def write(image_idx: int) -> None:
        name, camera = images.names[image_idx], images.camera_of(image_idx)
        straight = _straighten(source / name, camera)
        try:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            if camera.model in PINHOLES:
                shutil.copyfile(source / name, target / name)
            else:
                Image.fromarray(straight).save(target / name, quality=QUALITY)
        except (OSError, ValueError) as error:
            what = f"The photo {target / name} cannot be written ({error})"
            raise OutputError(what, "Give another folder with -o") from error

    with silenced(), ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(write, range(len(images))))


def _straighten(path: Path, camera: Camera) -> NDArray[np.uint8]:
    """(height, width, 3) the photo as its pinhole camera sees it."""
    photo = _read(path)
    if photo is None or (photo.width, photo.height) != (camera.width_px, camera.height_px):
        fault = "cannot be read" if photo is None else f"has {photo.width} x {photo.height} pixels"
        raise InputError(
            f"The photo {path} {fault}, but its camera takes {camera.width_px} x {camera.height_px}",
            "Give with --images the folder that the model was made from",
        )
    options = pycolmap.UndistortCameraOptions()
    return np.asarray(pycolmap.undistort_image(options, photo, to_pycolmap(camera, 1))[0].to_array())


def _read(path: Path) -> pycolmap.Bitmap | None:
    photo = pycolmap.Bitmap.read(path, as_rgb=True)
    if photo is not None:
        return photo
    try:  # pycolmap does not know every format (WebP)
        with Image.open(path) as image:
            return pycolmap.Bitmap.from_array(np.asarray(image.convert("RGB")))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def _pinhole(camera: Camera) -> Camera:
    straight = from_pycolmap(pycolmap.undistort_camera(pycolmap.UndistortCameraOptions(), to_pycolmap(camera, 1)))
    return replace(straight, focal_source=camera.focal_source)
