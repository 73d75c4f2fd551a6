"""Healthy originals that hostile files are made from: small, complete, and accepted by every reader."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import h5py
import numpy as np
import pycolmap
from PIL import ExifTags, Image

from vgpa.colmap.silence import silenced
from vgpa.demo import DemoCameras, World, loop_cameras, make_world, write_photos

SIZE_PX = (480, 320)
"""Of photos of the demo's world."""
NUM_IMAGES = 4
NUM_POINTS = 60


def make_picture(size: tuple[int, int] = (96, 72), seed: int = 0) -> Image.Image:
    """A picture with corners everywhere: blurred noise in colour."""
    noise = np.random.default_rng(seed).integers(0, 256, (size[1] // 8, size[0] // 8, 3)).astype(np.uint8)
    return Image.fromarray(noise).resize(size, Image.Resampling.BICUBIC)


def make_photo(picture: Image.Image) -> bytes:
    """The picture as a JPEG with the EXIF of a camera: maker, focal length, position."""
    exif = Image.Exif()
    exif[ExifTags.Base.Make] = "Maker"
    exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.FocalLengthIn35mmFilm] = 28
    exif.get_ifd(ExifTags.IFD.GPSInfo).update({1: "N", 2: (48.0, 5.0, 1.0), 3: "E", 4: (11.0, 5.0, 1.0), 6: 500.0})
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", exif=exif, quality=90)
    return buffer.getvalue()


def make_walk(
    folder: Path, view_idx: Sequence[int], seed: int = 0, num_views: int = 32, size_px: tuple[int, int] = SIZE_PX
) -> DemoCameras:
    """Small photos of the demo's world, taken at the given places of a walk around it; the seed changes its looks."""
    cameras = scaled(loop_cameras(num_views, seed=0), view_idx, size_px)
    write_photos(world(seed), cameras, folder)
    return cameras


@lru_cache(maxsize=2)
def world(seed: int) -> World:
    """The demo's world with the looks of a seed, built once."""
    return make_world(seed)


def scaled(cameras: DemoCameras, view_idx: Sequence[int], size_px: tuple[int, int] = SIZE_PX) -> DemoCameras:
    """Some of the cameras, with small pictures."""
    width, height = size_px
    chosen = list(view_idx)
    focal_px = cameras.focal_px * width / cameras.width
    return DemoCameras(width, height, focal_px, cameras.rotation[chosen], cameras.translation[chosen])


def make_database(path: Path, model: Path | None = None, num_images: int = NUM_IMAGES) -> None:
    """A COLMAP database of a made-up scene, with relative poses, and its true model."""
    options = pycolmap.SyntheticDatasetOptions()
    options.num_rigs = options.num_cameras_per_rig = 1
    options.num_frames_per_rig, options.num_points3D = num_images, NUM_POINTS
    options.two_view_geometry_has_relative_pose = True
    with silenced():
        pycolmap.set_random_seed(0)
        database = pycolmap.Database.open(path)
        reconstruction = pycolmap.synthesize_dataset(options, database)
        database.close()
        if model is not None:
            model.mkdir(parents=True)
            reconstruction.write(model)


def make_tracks() -> dict[str, np.ndarray]:
    """The arrays of a RESfM scene: three calibrated images of points in front of them."""
    rng = np.random.default_rng(0)
    xyz = rng.uniform(-1, 1, (NUM_POINTS, 3)) + np.array([0.0, 0, 5])
    calibration = np.array([[500.0, 0, 320], [0, 500, 240], [0, 0, 1]])
    rows = []
    for shift in (0.0, 0.5, 1.0):
        image = (xyz - (shift, 0, 0)) @ calibration.T
        rows.extend((image[:, :2] / image[:, 2:]).T)
    return {
        "M": np.array(rows),
        "Ns": np.tile(np.linalg.inv(calibration), (3, 1, 1)),
        "namesList": np.array(["a.jpg", "b.jpg", "c.jpg"]),
    }


def make_hloc_files(folder: Path, names: Sequence[str], size_px: tuple[int, int]) -> tuple[Path, Path]:
    """hloc's features and matches of the named photos: twenty keypoints each, all matched in order."""
    rng = np.random.default_rng(0)
    features, matches = folder / "features.h5", folder / "matches.h5"
    with h5py.File(features, "w") as file:
        for name in names:
            file[f"{name}/keypoints"] = (rng.random((20, 2)) * size_px).astype(np.float32)
            file[f"{name}/image_size"] = np.array(size_px)
    with h5py.File(matches, "w") as file:
        for k, first in enumerate(names):
            for second in names[k + 1 :]:
                file[f"{first}/{second}/matches0"] = np.arange(20, dtype=np.int16)
    return features, matches


def make_weights(folder: Path) -> Path:
    """A weights file of a very small network of the paper's kind."""
    from vgpa.network.posenet import PoseNet, PoseNetConfig
    from vgpa.network.weights import save_weights

    save_weights(PoseNet(PoseNetConfig(width=4, num_layers=1)), folder / "weights.safetensors")
    return folder / "weights.safetensors"
