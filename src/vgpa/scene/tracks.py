"""Tracks: the keypoints that show the same scene point, in CSR form."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vgpa.scene.arrays import check_indices, check_offsets, checked, run_indices
from vgpa.scene.images import Keypoints


@dataclass(frozen=True, eq=False)
class Tracks:
    """Runs of observations, one run per track. Immutable.

    Attributes:
        offsets: (num_tracks + 1,) observations of track k are offsets[k]:offsets[k + 1].
        image_idx: (num_obs,) image of each observation.
        keypoint_idx: (num_obs,) keypoint of each observation, numbered within its image.
    """

    offsets: NDArray[np.int64]
    image_idx: NDArray[np.int64]
    keypoint_idx: NDArray[np.int64]

    def __post_init__(self) -> None:
        image_idx = checked(self.image_idx, np.int64, (None,), "image_idx")
        object.__setattr__(self, "image_idx", image_idx)
        keypoint_idx = checked(self.keypoint_idx, np.int64, (len(image_idx),), "keypoint_idx")
        object.__setattr__(self, "keypoint_idx", keypoint_idx)
        object.__setattr__(self, "offsets", checked(self.offsets, np.int64, (None,), "track offsets"))
        check_offsets(self.offsets, len(image_idx), "track offsets")
        check_indices(image_idx, np.iinfo(np.int64).max, "image_idx")
        check_indices(keypoint_idx, np.iinfo(np.int64).max, "keypoint_idx")

    @classmethod
    def empty(cls) -> Tracks:
        """No tracks at all."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(np.zeros(1, dtype=np.int64), nothing, nothing)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def num_observations(self) -> int:
        """Number of observations of all tracks."""
        return len(self.image_idx)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(num_tracks,) number of observations of each track."""
        return np.diff(self.offsets)

    @property
    def track_idx(self) -> NDArray[np.int64]:
        """(num_obs,) track of each observation."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def select(self, keep: NDArray[np.bool_]) -> Tracks:
        """Only the tracks of the mask (num_tracks,)."""
        if keep.all():
            return self
        runs = np.flatnonzero(keep)
        items = run_indices(self.offsets, runs)
        offsets = np.concatenate([[0], np.cumsum(self.lengths[runs])])
        return Tracks(offsets, self.image_idx[items], self.keypoint_idx[items])

    def num_shared(self, num_images: int) -> NDArray[np.int64]:
        """(num_images, num_images) tracks that each pair of images shares; 0 on the diagonal.

        Every observation is paired with the next one of its track, then with the one after that, and so on.
        """
        num = np.zeros(num_images**2, dtype=np.int64)
        end, first, step = self.offsets[1:][self.track_idx], np.arange(self.num_observations), 1
        while len(first := first[first + step < end[first]]):
            pair = self.image_idx[first] * num_images + self.image_idx[first + step]
            num += np.bincount(pair, minlength=num_images**2)
            step += 1
        square = num.reshape(num_images, num_images)
        square = square + square.T
        np.fill_diagonal(square, 0)  # a track may observe two keypoints of one image
        return square

    def of_observed(self, keypoints: Keypoints) -> tuple[Tracks, Keypoints]:
        """The same tracks and only the keypoints that they observe, numbered anew in their order."""
        by_image = np.lexsort((self.keypoint_idx, self.image_idx))
        image_idx = self.image_idx[by_image]
        num_of = np.bincount(image_idx, minlength=len(keypoints.offsets) - 1)
        offsets = np.concatenate([[0], np.cumsum(num_of)])
        keypoint_idx = np.empty(self.num_observations, dtype=np.int64)
        keypoint_idx[by_image] = np.arange(self.num_observations) - offsets[image_idx]
        observed = keypoints.offsets[image_idx] + self.keypoint_idx[by_image]
        return replace(self, keypoint_idx=keypoint_idx), Keypoints(offsets, keypoints.xy_px[observed])

    def select_observations(self, keep: NDArray[np.bool_]) -> Tracks:
        """Only the observations of the mask (num_obs,); tracks stay, and may become short or empty."""
        if keep.all():
            return self
        lengths = np.bincount(self.track_idx[keep], minlength=len(self))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return Tracks(offsets, self.image_idx[keep], self.keypoint_idx[keep])
