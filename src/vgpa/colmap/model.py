"""COLMAP models: our `Reconstruction` to pycolmap's and back, and to and from disk."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pycolmap

from vgpa.colmap.cameras import from_pycolmap, to_pycolmap
from vgpa.colmap.large_files import write_images, write_points
from vgpa.colmap.model_files import check_binary_files
from vgpa.colmap.silence import silenced
from vgpa.errors import AGAIN, InputError, OutputError
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import normalize, wxyz_from_xyzw, xyzw_from_wxyz
from vgpa.scene import ImageSet, Keypoints, Poses, Reconstruction, Tracks

PARTIAL = ".partial"
"""Folder in a model's folder that holds a new model until it is complete."""


def write_model(reconstruction: Reconstruction, keypoints: Keypoints, folder: Path, is_text: bool = False) -> None:
    """Write the registered images, their keypoints and the points as a COLMAP model, binary or text.

    What was in the folder before stays until the new model is complete on disk.
    """
    partial = folder / PARTIAL
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        if is_text:
            _write_text(reconstruction, keypoints, partial)
        else:
            _write_binary(reconstruction, keypoints, partial)
    except (OSError, ValueError) as error:
        shutil.rmtree(partial)
        raise OutputError(
            f"The model cannot be written to {folder} ({error})", f"Make room on the disk, {AGAIN}"
        ) from error
    # A folder without its cameras cannot be read: nobody takes a mixture of two models for one.
    files = sorted(partial.iterdir(), key=lambda path: path.stem == "cameras")
    (folder / files[-1].name).unlink(missing_ok=True)
    for path in files:
        path.replace(folder / path.name)
    partial.rmdir()


def _write_text(reconstruction: Reconstruction, keypoints: Keypoints, folder: Path) -> None:
    model = model_to_pycolmap(reconstruction, keypoints)
    for point_id, error_px in zip(sorted(model.points3D), reconstruction.error_px.tolist(), strict=True):
        model.points3D[point_id].error = error_px
    with silenced():
        model.write_text(folder)


def _write_binary(reconstruction: Reconstruction, keypoints: Keypoints, folder: Path) -> None:
    """pycolmap writes the small files, of cameras and rigs; of images and points it knows nothing but the poses."""
    bare = reconstruction.select_points(np.zeros(reconstruction.num_points, dtype=np.bool_))
    without_keypoints = Keypoints(np.zeros(len(keypoints.offsets), dtype=np.int64), np.zeros((0, 2)))
    with silenced():
        model_to_pycolmap(bare, without_keypoints).write(folder)
    # pycolmap writes on when the disk is full, and says nothing.
    check_binary_files(folder)
    write_images(reconstruction, keypoints, folder / "images.bin")
    write_points(reconstruction, folder / "points3D.bin")


def read_model(folder: Path) -> tuple[Reconstruction, Keypoints]:
    """Read a COLMAP model, binary or text. Only registered images come back."""
    if not folder.is_dir():
        raise InputError(f"There is no model folder at {folder}", "Give a folder with cameras, images and points3D")
    try:
        check_binary_files(folder)
        with silenced():
            model = pycolmap.Reconstruction(folder)
        return model_from_pycolmap(model)
    except (ValueError, RuntimeError, IndexError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{folder} cannot be read as a COLMAP model ({reason})",
            "Check that it holds complete cameras, images and points3D files, .bin or .txt",
        ) from error


def model_to_pycolmap(reconstruction: Reconstruction, keypoints: Keypoints) -> pycolmap.Reconstruction:
    """pycolmap's model with the registered images; camera ids are 1, 2, ..., image ids stay."""
    images, poses = reconstruction.images, reconstruction.poses
    model = pycolmap.Reconstruction()
    registered = np.flatnonzero(poses.is_known).tolist()
    for camera_idx in np.unique(images.camera_idx[registered]):
        camera = to_pycolmap(images.cameras[camera_idx], int(camera_idx) + 1)
        model.add_camera_with_trivial_rig(camera)
    quaternion_xyzw = xyzw_from_wxyz(poses.cam_from_world.quaternion_wxyz)
    translation = poses.cam_from_world.translation
    for k in registered:
        image = pycolmap.Image(
            name=images.names[k],
            keypoints=keypoints.of(k),
            camera_id=int(images.camera_idx[k]) + 1,
            image_id=int(images.image_id[k]),
        )
        rotation = pycolmap.Rotation3d(quaternion_xyzw[k])
        model.add_image_with_trivial_frame(image, pycolmap.Rigid3d(rotation, translation[k]))
    _add_points(model, reconstruction)
    return model


def _add_points(model: pycolmap.Reconstruction, reconstruction: Reconstruction) -> None:
    tracks = reconstruction.tracks
    image_id = reconstruction.images.image_id[tracks.image_idx].tolist()
    keypoint_idx = tracks.keypoint_idx.tolist()
    runs = pairwise(tracks.offsets.tolist())
    # Half a million observations pass here in a large model, so nothing is looked up twice.
    for xyz, color, (start, end) in zip(reconstruction.xyz, reconstruction.color, runs, strict=True):
        track = pycolmap.Track()
        add_element = track.add_element
        for k in range(start, end):
            add_element(image_id[k], keypoint_idx[k])
        model.add_point3D(xyz, track, color)


def model_from_pycolmap(model: pycolmap.Reconstruction) -> tuple[Reconstruction, Keypoints]:
    """Our model with the registered images of pycolmap's, ordered by image id, and their keypoints."""
    registered = sorted(model.reg_image_ids())
    camera_ids = sorted(model.cameras)
    camera_idx = {camera_id: k for k, camera_id in enumerate(camera_ids)}
    images = [model.images[image_id] for image_id in registered]
    image_set = ImageSet(
        tuple(image.name for image in images),
        np.array([camera_idx[image.camera_id] for image in images], dtype=np.int64),
        tuple(from_pycolmap(model.cameras[camera_id]) for camera_id in camera_ids),
        np.array(registered, dtype=np.int64),
    )
    poses = [image.cam_from_world() for image in images]
    xyzw = np.array([pose.rotation.quat for pose in poses]).reshape(-1, 4)
    translation = np.array([pose.translation for pose in poses]).reshape(-1, 3)
    cam_from_world = Rigid(normalize(wxyz_from_xyzw(xyzw)), translation)
    parts = [np.array([point.xy for point in image.points2D]).reshape(-1, 2) for image in images]
    keypoints = Keypoints(
        np.concatenate([[0], np.cumsum([len(part) for part in parts])]),
        np.concatenate(parts) if parts else np.zeros((0, 2)),
    )
    return _with_points(model, image_set, Poses.of_all(cam_from_world)), keypoints


def _with_points(model: pycolmap.Reconstruction, images: ImageSet, poses: Poses) -> Reconstruction:
    index = {int(image_id): k for k, image_id in enumerate(images.image_id)}
    points = [model.points3D[point_id] for point_id in sorted(model.points3D)]
    elements = [(index[e.image_id], e.point2D_idx) for point in points for e in point.track.elements]
    observed = np.array(elements, dtype=np.int64).reshape(-1, 2)
    lengths = [point.track.length() for point in points]
    tracks = Tracks(np.concatenate([[0], np.cumsum(lengths)]), observed[:, 0], observed[:, 1])
    return Reconstruction(
        images,
        poses,
        np.array([point.xyz for point in points]).reshape(-1, 3),
        tracks,
        # COLMAP writes -1 where it never computed an error.
        np.array([max(point.error, 0.0) for point in points]),
        np.array([point.color for point in points], dtype=np.uint8).reshape(-1, 3),
    )
