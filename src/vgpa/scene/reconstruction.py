"""The answer: posed images, points and what each point was seen in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from vgpa.scene.arrays import check_indices, checked
from vgpa.scene.images import ImageSet, Keypoints
from vgpa.scene.poses import Poses
from vgpa.scene.tracks import Tracks


class ImageState(StrEnum):
    """What became of an image; everything but `REGISTERED` is a reason why it is missing."""

    REGISTERED = "registered"
    UNREADABLE = "unreadable"
    NO_FEATURES = "no_features"
    NO_MATCHES = "no_matches"
    NOT_IN_COMPONENT = "not_in_component"
    FAILED_AVERAGING = "failed_averaging"
    DROPPED_IN_BA = "dropped_in_ba"
    NOT_PLACED = "not_placed"
    """It could not be added to a given model: its matches reach too few points, or do not agree on a pose."""
    SUSPICIOUS = "suspicious"
    """It had a pose, but one that was clearly wrong."""


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """A sparse model. Immutable.

    Attributes:
        images: the images with their (refined) cameras.
        poses: cam_from_world of every registered image.
        xyz: (num_points, 3) points in the world.
        tracks: (num_points) observations of each point, all in registered images.
        error_px: (num_points,) mean reprojection error of each point.
        color: (num_points, 3) uint8 red, green, blue.
    """

    images: ImageSet
    poses: Poses
    xyz: NDArray[np.float64]
    tracks: Tracks
    error_px: NDArray[np.float64]
    color: NDArray[np.uint8]

    def __post_init__(self) -> None:
        num = len(self.tracks)
        object.__setattr__(self, "xyz", checked(self.xyz, np.float64, (num, 3), "points"))
        object.__setattr__(self, "error_px", checked(self.error_px, np.float64, (num,), "error_px"))
        object.__setattr__(self, "color", checked(self.color, np.uint8, (num, 3), "color"))
        if len(self.poses) != len(self.images):
            raise ValueError("there must be one pose (known or not) per image")
        check_indices(self.tracks.image_idx, len(self.images), "observed image")
        if not self.poses.is_known[self.tracks.image_idx].all():
            raise ValueError("a point is observed in an image that is not registered")

    @property
    def num_registered(self) -> int:
        """Number of images with a pose."""
        return int(self.poses.is_known.sum())

    @property
    def num_points(self) -> int:
        """Number of 3D points."""
        return len(self.xyz)

    def select_points(self, keep: NDArray[np.bool_]) -> Reconstruction:
        """The same model with only the points of the mask (num_points,)."""
        return replace(
            self,
            xyz=self.xyz[keep],
            tracks=self.tracks.select(keep),
            error_px=self.error_px[keep],
            color=self.color[keep],
        )

    def point_of_keypoint(self, keypoints: Keypoints) -> NDArray[np.int64]:
        """(num_keypoints,) the point that each keypoint of all images observes, or -1."""
        point_of = np.full(len(keypoints.xy_px), -1, dtype=np.int64)
        point_of[keypoints.offsets[self.tracks.image_idx] + self.tracks.keypoint_idx] = self.tracks.track_idx
        return point_of
