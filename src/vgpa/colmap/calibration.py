"""Focal lengths of shared cameras that nobody knows anything about, from the fundamental matrices of their pairs.

A camera of several images whose focal length is a guess is voted on by pairs of its own images, and by pairs with
cameras whose focal length is known or has been voted before; two unknowns in one pair would trade one error for
another. A vote is accepted only if it passes checks of its own: enough pairs, a peak well above the guess, and random
halves of the pairs that agree with each other. A camera that does not pass keeps its guess. Cameras of one image have
no pairs of their own for that (`lens_beliefs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vgpa.colmap.cameras import mean_focal_px, principal_point, with_focal
from vgpa.geometry.focal import focal_votes
from vgpa.geometry.rotation import FloatArray
from vgpa.scene import FocalSource, ImageSet

CANDIDATES = np.geomspace(0.3, 8.0, 200)
"""Focal lengths tried, in longer image sides: fields of view from 118 to 7 degrees."""
MIN_NUM_PAIRS = 12
MIN_GAIN = 1.3
"""Votes at the peak over votes at the guess."""
MIN_SUPPORT = 0.15
"""Mean vote at the peak."""
NUM_HALVES = 8
MAX_DISAGREEMENT = 0.06
"""Log ratio within which three quarters of the random halves must agree with the whole."""


@dataclass(frozen=True, eq=False)
class EpipolarPairs:
    """Pairs of images with a fundamental matrix.

    Attributes:
        camera_idx: (2, num_pairs) cameras of image i and image j.
        F: (num_pairs, 3, 3) fundamental matrices, x_j^T F x_i = 0 in pixels.
        num_inliers: (num_pairs,) matches behind each.
    """

    camera_idx: NDArray[np.int64]
    F: FloatArray
    num_inliers: NDArray[np.int64]


def calibrate_guesses(images: ImageSet, pairs: EpipolarPairs) -> ImageSet:
    """The images with voted focal lengths in place of guessed ones, where the votes pass their checks."""
    is_trusted = np.array([camera.focal_source is not FocalSource.GUESS for camera in images.cameras])
    is_shared = np.bincount(images.camera_idx, minlength=len(images.cameras)) > 1
    while True:
        votes = {k: _vote(int(k), images, pairs, is_trusted) for k in np.flatnonzero(~is_trusted & is_shared)}
        accepted = {k: focal_px for k, focal_px in votes.items() if focal_px is not None}
        if not accepted:
            return images
        cameras = list(images.cameras)
        for k, focal_px in accepted.items():
            cameras[k] = replace(with_focal(cameras[k], focal_px), focal_source=FocalSource.VOTED)
            is_trusted[k] = True
        images = images.with_cameras(tuple(cameras))


def _vote(camera: int, images: ImageSet, pairs: EpipolarPairs, is_trusted: NDArray[np.bool_]) -> float | None:
    """The focal length that a camera's pairs agree on, or None."""
    is_own = pairs.camera_idx == camera
    own = np.flatnonzero(is_own.any(axis=0) & (is_own | is_trusted[pairs.camera_idx]).all(axis=0))
    if len(own) < MIN_NUM_PAIRS:
        return None
    is_i, is_j = is_own[:, own]
    centred = _centre(pairs.F[own], pairs.camera_idx[:, own], images, (is_i, is_j))
    side = max(images.cameras[camera].width_px, images.cameras[camera].height_px)
    candidates = side * CANDIDATES
    # Many inliers make a fundamental matrix sharper, but not in proportion.
    weight = np.sqrt(pairs.num_inliers[own])
    votes = focal_votes(centred, is_i, is_j, candidates) * weight
    support = votes.sum(axis=1) / weight.sum()
    peak = candidates[support.argmax()]
    at_guess = np.interp(mean_focal_px(images.cameras[camera]), candidates, support)
    is_clear = support.max() >= max(MIN_SUPPORT, MIN_GAIN * at_guess)
    return float(peak) if is_clear and _halves_agree(votes, candidates, peak) else None


def _halves_agree(votes: FloatArray, candidates: FloatArray, peak: float) -> bool:
    """Whether most random halves of the pairs have their own peak near the peak of all."""
    rng = np.random.default_rng(0)
    halves = [rng.permutation(votes.shape[1])[: votes.shape[1] // 2] for _ in range(NUM_HALVES)]
    peaks = np.array([candidates[votes[:, half].sum(axis=1).argmax()] for half in halves])
    return bool(np.quantile(np.abs(np.log(peaks / peak)), 0.75) <= MAX_DISAGREEMENT)


def _centre(
    F: FloatArray,
    camera_idx: NDArray[np.int64],
    images: ImageSet,
    is_own: Sequence[NDArray[np.bool_]],
) -> FloatArray:
    """K0_j^T F K0_i, with the focal length of the other camera (1 for the camera that is voted on)."""
    used, place = np.unique(camera_idx, return_inverse=True)
    centre = np.array([principal_point(images.cameras[k]) for k in used])
    focal = np.array([mean_focal_px(images.cameras[k]) for k in used])
    calibration = []
    for camera, own in zip(place.reshape(camera_idx.shape), is_own, strict=True):
        matrix = np.tile(np.eye(3), (len(camera), 1, 1))
        matrix[:, :2, 2] = centre[camera]
        matrix[:, 0, 0] = matrix[:, 1, 1] = np.where(own, 1.0, focal[camera])
        calibration.append(matrix)
    return np.swapaxes(calibration[1], -1, -2) @ F @ calibration[0]
