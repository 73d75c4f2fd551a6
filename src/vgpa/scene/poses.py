"""Camera poses of a set of images, of which some may be unknown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vgpa.geometry.rigid import Rigid
from vgpa.scene.arrays import checked


@dataclass(frozen=True, eq=False)
class Poses:
    """cam_from_world of every image that has one. Immutable.

    Attributes:
        cam_from_world: (num_images) motions; the identity where unknown.
        is_known: (num_images,) True where the pose is known.
    """

    cam_from_world: Rigid
    is_known: NDArray[np.bool_]

    def __post_init__(self) -> None:
        num = len(self.cam_from_world)
        object.__setattr__(self, "is_known", checked(self.is_known, np.bool_, (num,), "is_known"))

    @classmethod
    def of_all(cls, cam_from_world: Rigid) -> Poses:
        """Every image has a pose."""
        return cls(cam_from_world, np.ones(len(cam_from_world), dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.is_known)

    def scatter(self, image_idx: NDArray[np.int64], num_images: int) -> Poses:
        """These poses as those of the given images in a larger set; all others unknown."""
        everywhere = Rigid.identity(num_images)
        quaternion, translation = everywhere.quaternion_wxyz.copy(), everywhere.translation.copy()
        known = np.zeros(num_images, dtype=np.bool_)
        quaternion[image_idx] = self.cam_from_world.quaternion_wxyz
        translation[image_idx] = self.cam_from_world.translation
        known[image_idx] = self.is_known
        return Poses(Rigid(quaternion, translation), known)

    def keep(self, mask: NDArray[np.bool_]) -> Poses:
        """The same poses, with those outside the mask (num_images,) forgotten."""
        known = self.is_known & mask
        identity = Rigid.identity()
        return Poses(
            Rigid(
                np.where(known[:, None], self.cam_from_world.quaternion_wxyz, identity.quaternion_wxyz),
                np.where(known[:, None], self.cam_from_world.translation, identity.translation),
            ),
            known,
        )
