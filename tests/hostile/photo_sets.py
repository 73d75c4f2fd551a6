"""Folders of healthy photos that no method can (or should easily) reconstruct, and some that only look like that."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.spatial.transform import Rotation

from tests.hostile.originals import SIZE_PX, make_walk, scaled, world
from vgpa.demo import DemoCameras, loop_cameras, write_photos

NUM_PHOTOS = 6
SMALL_PX = (270, 180)
TrueCameras = dict[str, tuple[np.ndarray, np.ndarray]]
"""Rotation and translation, world to camera, by the photo's name; empty where no model is possible."""


@dataclass(frozen=True)
class PhotoSet:
    """A folder of photos and what must come of it.

    Attributes:
        name: what is odd about it.
        make: writes the photos into a folder.
        num_models: models that the folder holds; none where cameras cannot be told from the photos.
    """

    name: str
    make: Callable[[Path], TrueCameras]
    num_models: int


def _walk(folder: Path, view_idx: range, seed: int = 0, num_views: int = 32) -> TrueCameras:
    cameras = make_walk(folder, view_idx, seed, num_views)
    return _by_name(folder, cameras)


def _by_name(folder: Path, cameras: DemoCameras) -> TrueCameras:
    names = sorted(path.name for path in folder.iterdir())
    return dict(zip(names, zip(cameras.rotation, cameras.translation, strict=True), strict=True))


def _duplicates(folder: Path) -> TrueCameras:
    make_walk(folder, range(1), size_px=SMALL_PX)
    (original,) = folder.iterdir()
    for k in range(NUM_PHOTOS):
        shutil.copyfile(original, folder / f"copy_{k}.jpg")
    return {}


def _turned(folder: Path) -> TrueCameras:
    """One photo, turned and mirrored in all eight ways."""
    make_walk(folder, range(1), size_px=SMALL_PX)
    (original,) = folder.iterdir()
    with Image.open(original) as image:
        for way in Image.Transpose:
            image.transpose(way).save(folder / f"{way.name}.jpg", quality=95)
    return {}


def _pure_rotation(folder: Path) -> TrueCameras:
    """A camera on a tripod: it turns, and never moves."""
    loop = scaled(loop_cameras(32, seed=0), [0], SMALL_PX)
    turn = Rotation.from_euler("y", 6 * np.arange(NUM_PHOTOS)[:, None], degrees=True).as_matrix()
    rotation = turn @ loop.rotation[0]
    centre = -loop.rotation[0].T @ loop.translation[0]
    cameras = DemoCameras(loop.width, loop.height, loop.focal_px, rotation, -rotation @ centre)
    write_photos(world(0), cameras, folder)
    return {}


def _textureless(folder: Path) -> TrueCameras:
    folder.mkdir(parents=True)
    ramp = np.linspace(0, 255, SIZE_PX[0])[None, :] * np.ones((SIZE_PX[1], 1))
    for k in range(NUM_PHOTOS):
        Image.fromarray(np.roll(ramp, 40 * k, axis=1).astype(np.uint8) // 2 + 60).save(folder / f"wall_{k}.png")
    return {}


def _flat(level: int) -> Callable[[Path], TrueCameras]:
    def make(folder: Path) -> TrueCameras:
        folder.mkdir(parents=True)
        for k in range(NUM_PHOTOS):
            Image.new("L", SIZE_PX, level).save(folder / f"flat_{k}.jpg")
        return {}

    return make


def _noise(folder: Path) -> TrueCameras:
    folder.mkdir(parents=True)
    for k in range(NUM_PHOTOS):
        pixels = np.random.default_rng(k).integers(0, 256, (120, 180, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"noise_{k}.png")
    return {}


def _two_scenes(folder: Path) -> TrueCameras:
    """Two places that have nothing in common, in one folder."""
    first = _walk(folder / "first", range(NUM_PHOTOS))
    second = _walk(folder / "second", range(16, 16 + NUM_PHOTOS), seed=7)
    return {
        f"{place}/{name}": pose
        for place, poses in (("first", first), ("second", second))
        for name, pose in poses.items()
    }


def _video(folder: Path) -> TrueCameras:
    """Frames that overlap by 95% and more: a walk in steps of a hand's breadth."""
    return _walk(folder, range(0, 48, 4), num_views=640)


PHOTO_SETS = (
    PhotoSet("one photo six times", _duplicates, 0),
    PhotoSet("one photo turned and mirrored", _turned, 0),
    PhotoSet("pure rotation", _pure_rotation, 0),
    PhotoSet("walls without texture", _textureless, 0),
    PhotoSet("black photos", _flat(0), 0),
    PhotoSet("white photos", _flat(255), 0),
    PhotoSet("noise", _noise, 0),
    PhotoSet("two scenes in one folder", _two_scenes, 2),
    PhotoSet("video with 95% overlap", _video, 1),
)
