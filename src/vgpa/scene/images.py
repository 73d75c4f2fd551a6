"""What was photographed with what: images, their cameras and their keypoints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from vgpa.scene.arrays import check_indices, check_offsets, checked


class FocalSource(StrEnum):
    """Where a camera's focal length came from before bundle adjustment, most trusted first."""

    USER = "user"
    EXIF = "exif"
    PRIOR = "prior"
    """A database of unknown history marks it as known."""
    VOTED = "voted"
    """The fundamental matrices of its pairs agree on it."""
    GUESS = "guess"
    """1.2 times the longer image side."""

    @property
    def is_known(self) -> bool:
        """Whether somebody said it, as against what was voted or guessed."""
        return self not in (FocalSource.VOTED, FocalSource.GUESS)


@dataclass(frozen=True, eq=False)
class Camera:
    """Intrinsics of one physical camera, in COLMAP's models and parameter order.

    Attributes:
        model: COLMAP model name, such as "SIMPLE_RADIAL".
        width_px, height_px: image size.
        params: (num_params,) COLMAP's parameters.
        focal_source: where the focal length came from.
    """

    model: str
    width_px: int
    height_px: int
    params: NDArray[np.float64]
    focal_source: FocalSource = FocalSource.GUESS

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", checked(self.params, np.float64, (None,), "camera parameters"))
        if self.width_px <= 0 or self.height_px <= 0:
            raise ValueError(f"camera size must be positive, got {self.width_px} x {self.height_px}")


@dataclass(frozen=True, eq=False)
class ImageSet:
    """The images of a problem and the cameras that took them.

    Attributes:
        names: (num_images) POSIX paths relative to the image folder, each once.
        camera_idx: (num_images,) index into `cameras`.
        cameras: the physical cameras.
        image_id: (num_images,) COLMAP's ids, each once.
    """

    names: tuple[str, ...]
    camera_idx: NDArray[np.int64]
    cameras: tuple[Camera, ...]
    image_id: NDArray[np.int64]

    def __post_init__(self) -> None:
        num = len(self.names)
        object.__setattr__(self, "camera_idx", checked(self.camera_idx, np.int64, (num,), "camera_idx"))
        object.__setattr__(self, "image_id", checked(self.image_id, np.int64, (num,), "image_id"))
        check_indices(self.camera_idx, len(self.cameras), "camera_idx")
        if len(set(self.names)) != num or len(np.unique(self.image_id)) != num:
            raise ValueError("image names and ids must be unique")

    def __len__(self) -> int:
        return len(self.names)

    def camera_of(self, image_idx: int) -> Camera:
        """The camera that took one image."""
        return self.cameras[self.camera_idx[image_idx]]

    def with_cameras(self, cameras: tuple[Camera, ...]) -> ImageSet:
        """The same images with other intrinsics."""
        return replace(self, cameras=cameras)


@dataclass(frozen=True, eq=False)
class Keypoints:
    """Keypoints of all images in one array (CSR by image).

    Attributes:
        offsets: (num_images + 1,) keypoints of image i are offsets[i]:offsets[i + 1].
        xy_px: (num_keypoints, 2) pixels; (0.5, 0.5) is the centre of the first pixel.
    """

    offsets: NDArray[np.int64]
    xy_px: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", checked(self.offsets, np.int64, (None,), "keypoint offsets"))
        object.__setattr__(self, "xy_px", checked(self.xy_px, np.float64, (None, 2), "keypoints"))
        check_offsets(self.offsets, len(self.xy_px), "keypoint offsets")

    def of(self, image_idx: int) -> NDArray[np.float64]:
        """(n, 2) keypoints of one image."""
        return self.xy_px[self.offsets[image_idx] : self.offsets[image_idx + 1]]

    def num_of(self) -> NDArray[np.int64]:
        """(num_images,) number of keypoints of each image."""
        return np.diff(self.offsets)
