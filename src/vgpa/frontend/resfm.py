"""Scenes of RESfM: an npz with point tracks and calibrations, read into a `Problem`.

    M          (2 num_images, num_tracks) rows x, y of each image in pixels; 0, 0 where a track is not seen
    Ns         (num_images, 3, 3) inverse calibration matrices
    namesList  (num_images,) names; published files keep them as Python objects, and then the images are numbered

There are no relative poses in it: they are estimated anew from the tracks that two images share (METHOD section 1).
Python objects (pickle) are never loaded, since loading one can run any code, and the arrays' sizes are checked before
they are read.
"""

from __future__ import annotations

import lzma
import math
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu

from vgpa import config as presets
from vgpa.colmap.database import read_problem
from vgpa.colmap.extraction import verify_matches
from vgpa.colmap.store import StoreImage, sync_store
from vgpa.colmap.tables import write_keypoints, write_matches
from vgpa.config import Config
from vgpa.errors import InputError
from vgpa.scene import Camera, FocalSource, Keypoints, Problem

MAX_NUM_BYTES = 2**33
"""Bytes of one array beyond which a file is broken or hostile: 2^30 numbers are 1,000 images of 500,000 tracks."""
MAX_COORDINATE_PX = 2.0**20
ROUNDING_PX = 1e-6
"""What inverting a calibration twice may add to an image's size."""
MAX_SKEW = 1e-3
"""Skew over focal length that is rounding; more cannot be told to a pinhole camera."""
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
BROKEN = (
    *(OSError, ValueError, RuntimeError, EOFError, MemoryError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, tokenize.TokenError),
)
"""What reading a damaged archive can raise."""


@dataclass(frozen=True, eq=False)
class TrackFile:
    """A file's contents: names and cameras of the images, what they see, and which track each keypoint shows."""

    names: tuple[str, ...]
    cameras: tuple[Camera, ...]
    camera_idx: NDArray[np.int64]
    keypoints: Keypoints
    track_idx: NDArray[np.int64]


def read_resfm(path: Path, config: Config | None = None) -> Problem:
    """Images in the file's order, their observations as keypoints, and the verified pairs that share enough tracks."""
    scene = read_tracks(path)
    # Numbers with leading zeros keep the order of the images, which a database sorts by name.
    plain = replace(scene, names=_numbered(len(scene.names)))
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "tracks.db"
        write_tracks(database, plain, config or presets.default())
        problem = read_problem(database, are_lenses_known=True)
    return replace(problem, images=replace(problem.images, names=scene.names))


def read_tracks(path: Path) -> TrackFile:
    """What the file holds, without relative poses."""
    if not path.is_file():
        raise InputError(f"There are no tracks at {path}", "Give the path of a scene.npz of RESfM")
    try:
        with zipfile.ZipFile(path) as archive:
            return _read_scene(archive)
    except BROKEN as error:
        raise InputError(
            f"{path} cannot be read as tracks of RESfM ({error})",
            "Check that the file is complete and holds M (2 x images, tracks) and Ns (images, 3, 3) as plain numbers",
        ) from error


def write_tracks(database: Path, scene: TrackFile, config: Config) -> None:
    """Write a database of the images and of the verified pairs that share enough tracks."""
    names = scene.names
    images = [StoreImage(name, "", str(k), scene.cameras[k]) for name, k in zip(names, scene.camera_idx, strict=True)]
    sync_store(database, images, settings={})
    write_keypoints(database, ((name, scene.keypoints.of(k)) for k, name in enumerate(names)))
    shared = _shared_tracks(scene, config.graph.min_num_inliers)
    write_matches(database, ((names[i], names[j], keypoint_idx) for i, j, keypoint_idx in shared))
    verify_matches(database, config.matching, config.seed, config.num_threads)


def _shared_tracks(scene: TrackFile, min_num: int) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Images i < j that share at least `min_num` tracks, and their keypoints (n, 2) on those."""
    offsets, track_idx = scene.keypoints.offsets, scene.track_idx
    num_tracks = int(track_idx.max(initial=-1)) + 1
    seen = csr_array(
        (np.ones(len(track_idx), dtype=np.int32), track_idx, offsets), shape=(len(offsets) - 1, num_tracks)
    )
    num_shared = triu(seen @ seen.T, k=1).tocsr()
    keypoint_of = np.full(num_tracks, -1)
    for i in range(len(offsets) - 1):
        keypoint_of[:] = -1
        keypoint_of[track_idx[offsets[i] : offsets[i + 1]]] = np.arange(offsets[i + 1] - offsets[i])
        row = slice(num_shared.indptr[i], num_shared.indptr[i + 1])
        for j in np.sort(num_shared.indices[row][num_shared.data[row] >= min_num]):
            first = keypoint_of[track_idx[offsets[j] : offsets[j + 1]]]
            second = np.flatnonzero(first >= 0)
            yield i, int(j), np.stack([first[second], second], axis=-1)


def _read_scene(archive: zipfile.ZipFile) -> TrackFile:
    inverse_calibration = _read_numbers(archive, "Ns", (None, 3, 3))
    num_images = len(inverse_calibration)
    if num_images < 2:
        raise ValueError(f"Ns holds {num_images} images, and it takes two")
    measured = _read_numbers(archive, "M", (2 * num_images, None))
    if measured.size and max(float(measured.max()), -float(measured.min())) > MAX_COORDINATE_PX:
        raise ValueError("M holds numbers that cannot be pixels")
    x, y = measured[0::2], measured[1::2]
    is_seen = (x != 0) | (y != 0)
    xy_px = np.stack([x[is_seen], y[is_seen]], axis=-1).astype(np.float64)
    image_idx, track_idx = np.nonzero(is_seen)
    offsets = np.concatenate([[0], np.cumsum(is_seen.sum(axis=1))])
    params = _pinhole_params(inverse_calibration.astype(np.float64))
    cameras, camera_idx = _make_cameras(params, xy_px, image_idx)
    names = _read_names(archive, num_images)
    return TrackFile(names, cameras, camera_idx, Keypoints(offsets, xy_px), track_idx)


def _make_cameras(
    params: NDArray[np.float64], xy_px: NDArray[np.float64], image_idx: NDArray[np.int64]
) -> tuple[tuple[Camera, ...], NDArray[np.int64]]:
    """One camera for each set of parameters (num_images, 4) that differs, and which each image has.

    A file says nothing of image sizes: an image spans twice its principal point, and all that was observed in it.
    """
    distinct, camera_idx = np.unique(params, axis=0, return_inverse=True)
    camera_idx = camera_idx.ravel()
    extent = np.maximum(2 * distinct[:, 2:] - ROUNDING_PX, 1.0)
    np.maximum.at(extent, camera_idx[image_idx], xy_px)
    cameras = tuple(
        Camera("PINHOLE", math.ceil(width), math.ceil(height), own, FocalSource.PRIOR)
        for own, (width, height) in zip(distinct, extent, strict=True)
    )
    return cameras, camera_idx


def _pinhole_params(inverse_calibration: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, 4) focal lengths and principal points of inverse calibration matrices (n, 3, 3)."""
    with np.errstate(all="ignore"):
        k = np.linalg.inv(inverse_calibration)
        k = k / k[:, 2:, 2:]
        fx, fy = k[:, 0, 0], k[:, 1, 1]
        is_sane = (np.abs(k) <= MAX_COORDINATE_PX).all(axis=(1, 2)) & (fx > 0) & (fy > 0)
        has_skew = np.abs(k[:, [0, 1], [1, 0]]).max(axis=1) > MAX_SKEW * fx
        is_projective = np.abs(k[:, 2, :2]).max(axis=1) * MAX_COORDINATE_PX > 1
    wrong = np.flatnonzero(~is_sane | has_skew | is_projective)
    if len(wrong):
        raise ValueError(f"Ns of image {wrong[0]} is not the inverse of a calibration matrix without skew")
    return np.stack([fx, fy, k[:, 0, 2], k[:, 1, 2]], axis=-1)


def _read_names(archive: zipfile.ZipFile, num_images: int) -> tuple[str, ...]:
    """The images' names, or numbers where the file keeps none that can be read safely."""
    if "namesList.npy" not in archive.namelist():
        return _numbered(num_images)
    shape, dtype = _read_header(archive, "namesList")
    if dtype.kind not in "US":
        return _numbered(num_images)
    if math.prod(shape) != num_images:
        raise ValueError(f"namesList has shape {shape} for {num_images} images")
    stored = _read_array(archive, "namesList").ravel()
    names = tuple(str(name) for name in (np.char.decode(stored, "utf-8") if dtype.kind == "S" else stored))
    for name in names:
        # Windows paths know both slashes, and so an anchor or a parent in either writing.
        path = PureWindowsPath(name)
        if not name or not name.isprintable() or path.anchor or ".." in path.parts:
            raise ValueError(f"namesList holds {name!r}, which is not a name below a folder")
    if len(set(names)) != num_images:
        raise ValueError("namesList holds a name twice")
    return names


def _numbered(num_images: int) -> tuple[str, ...]:
    num_digits = max(4, len(str(num_images - 1)))
    return tuple(f"camera_{k:0{num_digits}d}" for k in range(num_images))


def _read_numbers(archive: zipfile.ZipFile, key: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """A finite array of numbers whose shape matches; None in `shape` stands for any length."""
    found, dtype = _read_header(archive, key)
    if dtype.hasobject:
        raise ValueError(f"{key} is stored as Python objects, which are not loaded")
    if dtype.kind not in "fiu":
        raise ValueError(f"{key} holds {dtype}, not numbers")
    if len(found) != len(shape) or any(b is not None and a != b for a, b in zip(found, shape, strict=True)):
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise ValueError(f"{key} should have shape ({wanted}), but has {found}")
    array = _read_array(archive, key)
    if not np.isfinite(array).all():
        raise ValueError(f"{key} holds numbers that are not finite")
    return array


def _read_header(archive: zipfile.ZipFile, key: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array, which is not read; raises where they are absurd or not those of the data."""
    if f"{key}.npy" not in archive.namelist():
        raise ValueError(f"there is no array {key!r}")
    with archive.open(f"{key}.npy") as member:
        version = np.lib.format.read_magic(member)
        if version not in HEADERS:
            raise ValueError(f"{key} is stored in an unknown version {version}")
        shape, _, dtype = HEADERS[version](member)
        num_bytes = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or num_bytes > MAX_NUM_BYTES:
            raise ValueError(f"{key} claims an absurd shape {shape}")
        stored = archive.getinfo(f"{key}.npy").file_size - member.tell()
    if not dtype.hasobject and stored != num_bytes:
        raise ValueError(f"{key} should take {num_bytes} bytes, but has {stored}")
    return shape, dtype


def _read_array(archive: zipfile.ZipFile, key: str) -> NDArray[Any]:
    with archive.open(f"{key}.npy") as member:
        return np.lib.format.read_array(member, allow_pickle=False)
