"""RESfM's scenes: point tracks, calibrations and true cameras in one npz per scene.

    NAME.npz    M, Ns and namesList as `vgpa.frontend.resfm` reads them, and
                Ps_gt (n, 3, 4): K [R | t] of the reference; NaN or zero where unknown

Published files keep namesList as Python objects; `objects` reads them without running anything.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vgpa.datasets.objects import array_names, has_arrays, read_array
from vgpa.datasets.reference import make_images, make_reference, reading, rotation_of
from vgpa.datasets.scene import DatasetScene
from vgpa.errors import InputError
from vgpa.frontend.resfm import TrackFile, read_tracks
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import BoolArray, IntArray
from vgpa.scene import Keypoints, Tracks

WHAT = "a scene of RESfM"


def list_scenes(root: Path) -> list[str]:
    """Files npz with tracks; damaged ones too, so that they are not passed over in silence."""
    return sorted(path.stem for path in root.glob("*.npz") if has_arrays(path, "M", "Ns"))


def load_scene(root: Path, name: str) -> DatasetScene:
    """One scene with its tracks and true cameras."""
    path = root / f"{name}.npz"
    if not path.is_file():
        raise InputError(f"There is no scene {name!r} in {root}", "Give the folder that holds the scenes' npz files")
    with reading(path, WHAT):
        stored = read_tracks(path)
        cameras = [stored.cameras[k] for k in stored.camera_idx]
        images = make_images(_read_names(path, stored), cameras)
        cam_from_world, is_known = _read_poses(path, len(images))
        reference = make_reference(images, cam_from_world, is_known)
    return DatasetScene(name, reference, keypoints=stored.keypoints, tracks=_tracks(stored.keypoints, stored.track_idx))


def _read_names(path: Path, stored: TrackFile) -> tuple[str, ...]:
    """The names that the file keeps, as objects or as plain text, or numbers where it keeps none."""
    if "namesList" not in array_names(path):
        return stored.names
    names = read_array(path, "namesList")
    return tuple(str(name) for name in names) if isinstance(names, list) else stored.names


def _read_poses(path: Path, num_images: int) -> tuple[Rigid, BoolArray]:
    """cam_from_world of projections K [R | t], and where they are known."""
    if "Ps_gt" not in array_names(path):
        return Rigid.identity(num_images), np.zeros(num_images, dtype=np.bool_)
    projection = np.array(read_array(path, "Ps_gt"), dtype=np.float64)
    inverse_calibration = np.array(read_array(path, "Ns"), dtype=np.float64)
    if projection.shape != (num_images, 3, 4):
        raise ValueError(f"Ps_gt has shape {projection.shape} for {num_images} images")
    is_known = np.isfinite(projection).all(axis=(1, 2)) & (np.abs(projection).max(axis=(1, 2)) > 0)
    pose = inverse_calibration @ np.where(is_known[:, None, None], projection, 0.0)
    pose[~is_known] = np.eye(3, 4)
    # A projection is known up to a factor, which may be negative.
    pose = pose / np.cbrt(np.linalg.det(pose[:, :, :3]))[:, None, None]
    return Rigid.from_matrix(rotation_of(pose[:, :, :3]), pose[:, :, 3]), is_known


def _tracks(keypoints: Keypoints, track_idx: IntArray) -> Tracks:
    """Tracks of at least two observations; `track_idx` (num_keypoints,) is each keypoint's."""
    image_idx = np.repeat(np.arange(len(keypoints.offsets) - 1), keypoints.num_of())
    order = np.argsort(track_idx, kind="stable")
    offsets = np.searchsorted(track_idx[order], np.arange(track_idx.max(initial=-1) + 2))
    keypoint_idx = np.arange(len(track_idx)) - keypoints.offsets[image_idx]
    tracks = Tracks(offsets, image_idx[order], keypoint_idx[order])
    return tracks.select(tracks.lengths >= 2)
