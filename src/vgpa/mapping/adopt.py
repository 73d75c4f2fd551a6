"""A finished model from anywhere, seen as a model of a database's images.

COLMAP models and databases name their images; a model of some of a database's images can be worked on with the
database's matches if its keypoints are the database's. The model's intrinsics replace those of the database, also for
the missing images of the same cameras.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vgpa.errors import InputError
from vgpa.geometry.rotation import IntArray
from vgpa.scene import ImageSet, Keypoints, Problem, Reconstruction

MAX_KEYPOINT_SHIFT_PX = 1.0
"""Keypoints of a model and a database that are further apart are not the same ones."""


def adopt_model(problem: Problem, model: Reconstruction, keypoints: Keypoints) -> tuple[Problem, Reconstruction]:
    """The problem with the model's cameras, and the model on the problem's images.

    Args:
        keypoints: those of the model's images.
    """
    image_idx = _find_images(problem.images, model.images)
    _check_keypoints(problem, image_idx, model, keypoints)
    images = _with_cameras_of(problem.images, image_idx, model.images)
    tracks = replace(model.tracks, image_idx=image_idx[model.tracks.image_idx])
    poses = model.poses.scatter(image_idx, len(images))
    return replace(problem, images=images), replace(model, images=images, poses=poses, tracks=tracks)


def _find_images(ours: ImageSet, theirs: ImageSet) -> IntArray:
    """(num_images of the model,) the database's index of each of the model's images, by name."""
    index = {name: k for k, name in enumerate(ours.names)}
    absent = [name for name in theirs.names if name not in index]
    if absent or not theirs.names:
        raise InputError(
            f"The model has {len(theirs)} images, of which {len(absent)} are not in the database"
            + (f", such as {absent[0]!r}" if absent else ""),
            "Give the database that the model was made from; images are found by their names",
        )
    return np.array([index[name] for name in theirs.names], dtype=np.int64)


def _check_keypoints(problem: Problem, image_idx: IntArray, model: Reconstruction, keypoints: Keypoints) -> None:
    """Raise unless every observation of the model lies on the keypoint of that number in the database."""
    image, number = model.tracks.image_idx, model.tracks.keypoint_idx
    ours, theirs = problem.keypoints, keypoints.xy_px[keypoints.offsets[image] + number]
    exists = number < ours.num_of()[image_idx[image]]
    shift_px = np.full(len(number), np.inf)
    found = ours.offsets[image_idx[image[exists]]] + number[exists]
    shift_px[exists] = np.linalg.norm(ours.xy_px[found] - theirs[exists], axis=-1)
    if (shift_px > MAX_KEYPOINT_SHIFT_PX).any():
        name = model.images.names[image[np.argmax(shift_px)]]
        raise InputError(
            f"The keypoints of {name!r} differ between the model and the database",
            "Give the database that the model was made from",
        )


def _with_cameras_of(ours: ImageSet, image_idx: IntArray, theirs: ImageSet) -> ImageSet:
    """Our images with the cameras of theirs, which are ours[image_idx].

    An image that they lack gets the camera that most of their images have which share a camera with it in ours; if
    there are none, it keeps its own.
    """
    num_theirs = len(theirs.cameras)
    votes = np.zeros((len(ours.cameras), num_theirs), dtype=np.int64)
    np.add.at(votes, (ours.camera_idx[image_idx], theirs.camera_idx), 1)
    successor = np.where(votes.any(axis=1), votes.argmax(axis=1), num_theirs + np.arange(len(ours.cameras)))
    camera_idx = successor[ours.camera_idx]
    camera_idx[image_idx] = theirs.camera_idx
    used, camera_idx = np.unique(camera_idx, return_inverse=True)
    everything = (*theirs.cameras, *ours.cameras)
    return replace(ours, camera_idx=camera_idx, cameras=tuple(everything[k] for k in used))
