"""Focal lengths of cameras that took one photo each: what all pairs together say, beside guesses and EXIF.

One fundamental matrix of two unknown cameras leaves a curve of possible focal lengths. But a photo has many pairs, and
every neighbour has others: where the curves cross, beliefs meet. A guess is a weak opinion. EXIF's focal length is a
strong one, but it may be plain wrong, most often for every photo of a collection alike, because all were cropped or
scaled by the same hands. So EXIF is believed whole where most of a collection's agree with the pairs, and otherwise is
one opinion among others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vgpa.colmap.calibration import EpipolarPairs
from vgpa.colmap.cameras import GUESSED_FOCAL, is_plain, mean_focal_px, principal_point, with_focal
from vgpa.geometry.beliefs import propagate_beliefs
from vgpa.geometry.components import label_components
from vgpa.geometry.focal import pair_votes
from vgpa.geometry.rotation import BoolArray, FloatArray, IntArray
from vgpa.scene import FocalSource, ImageSet

FOCAL = np.geomspace(0.3, 20.0, 48)
"""Focal lengths that are believed in, in longer image sides: fields of view from 118 to 3 degrees."""
GUESS_SPREAD = 2.0
"""Spread of the logarithm of a guessed focal length."""
KNOWN_SPREAD, KNOWN_DOUBT, NO_DOUBT = 0.1, 0.1, 1e-30
"""Spread of the logarithm of a known focal length, and how likely any other one still is beside it."""
CHANCE = 0.05
"""How well focal lengths agree, in a pair whose fundamental matrix is wrong."""
TYPICAL_INLIERS, WEIGHT_RANGE = 100.0, (0.3, 2.0)
"""Matches of a pair that counts once, and how much any pair counts: more with more matches, though less and less so."""
MAX_PAIRS_PER_CAMERA, MAX_NUM_PAIRS = 20, 20_000
"""A camera's strongest pairs say enough; large collections get fewer of each."""
PAIRS_AT_ONCE = 1000
MIN_NUM_TO_DOUBT = 5
"""Known focal lengths that must be found wrong before others are doubted."""
SAME = 0.1
"""Focal lengths whose logarithms differ by less are the same."""
SURE_SPREAD, MIN_SURE_PART, MIN_NUM_SURE = 0.2, 0.25, 3
"""Spread of the logarithm of a belief that is sure, and the part and number of those that must be among photos that
hang together: where so many are sure the others are better than guesses, and elsewhere (photos that were all taken
sideways) none is."""


@dataclass(frozen=True, eq=False)
class _Cameras:
    """What is known of every camera before the pairs are asked: (num_cameras,) each.

    Attributes:
        side_px: longer side of its images.
        focal: focal length, in longer sides.
        is_guess: whether nobody knows it.
        is_fixed: whether it is beyond doubt.
        is_open: whether the pairs may say what it is. A lens that somebody has calibrated with its distortion is not
            put to the test by matrices that know of none.
        is_within: whether it is one of those that can be believed in.
    """

    side_px: FloatArray
    focal: FloatArray
    is_guess: BoolArray
    is_fixed: BoolArray
    is_open: BoolArray
    is_within: BoolArray


def believe_lenses(images: ImageSet, pairs: EpipolarPairs) -> ImageSet:
    """The images with the focal lengths that are believed in for cameras of one image."""
    cameras = _look_at(images)
    # A shared camera is asked elsewhere, by its own pairs; what is known of it helps the others.
    is_usable = (cameras.is_within & (cameras.is_open | ~cameras.is_guess))[pairs.camera_idx].all(axis=0)
    is_useful = cameras.is_open[pairs.camera_idx].any(axis=0) & (pairs.camera_idx[0] != pairs.camera_idx[1])
    chosen = np.flatnonzero(is_usable & is_useful)
    chosen = chosen[_strongest(pairs.camera_idx[:, chosen], pairs.num_inliers[chosen])]
    if len(chosen) == 0:
        return images
    edges = pairs.camera_idx[:, chosen]
    agreement = _agreement(images, edges, pairs.F[chosen], pairs.num_inliers[chosen])
    is_asked = cameras.is_open & np.isin(np.arange(len(images.cameras)), edges)
    is_told = is_asked & ~cameras.is_guess
    if not _is_told_wrong(edges, agreement, cameras, is_told):
        is_asked &= ~is_told
        cameras = replace(cameras, is_fixed=cameras.is_fixed | is_told)
    focal, spread = _believed(edges, agreement, cameras)
    is_asked &= _are_among_sure(edges, is_asked, is_asked & (spread < SURE_SPREAD))
    is_new = is_asked & ~_is_same(focal, cameras.focal) & (focal > FOCAL[1]) & (focal < FOCAL[-2])
    if not is_new.any():
        return images
    believed = list(images.cameras)
    for k in np.flatnonzero(is_new).tolist():
        believed[k] = with_focal(believed[k], float(focal[k] * cameras.side_px[k]))
        believed[k] = replace(believed[k], focal_source=FocalSource.VOTED)
    return images.with_cameras(tuple(believed))


def _look_at(images: ImageSet) -> _Cameras:
    sources = [camera.focal_source for camera in images.cameras]
    is_single = np.bincount(images.camera_idx, minlength=len(sources)) == 1
    is_guess = np.array([source is FocalSource.GUESS for source in sources])
    is_sure = np.array([source in (FocalSource.USER, FocalSource.VOTED) for source in sources])
    is_open = is_single & ~is_sure & np.array([is_plain(camera) for camera in images.cameras])
    side_px = np.array([max(camera.width_px, camera.height_px) for camera in images.cameras], dtype=np.float64)
    focal = np.array([mean_focal_px(camera) for camera in images.cameras]) / side_px
    is_within = (focal >= FOCAL[0]) & (focal <= FOCAL[-1])
    return _Cameras(side_px, np.clip(focal, FOCAL[0], FOCAL[-1]), is_guess, ~is_open & ~is_guess, is_open, is_within)


def _is_told_wrong(edges: IntArray, agreement: FloatArray, cameras: _Cameras, is_told: BoolArray) -> bool:
    """Whether most of what is told is wrong, among what the pairs are sure of without it."""
    if is_told.sum() < MIN_NUM_TO_DOUBT:
        return False
    untold = replace(
        cameras, focal=np.where(is_told, GUESSED_FOCAL, cameras.focal), is_guess=cameras.is_guess | is_told
    )
    focal, spread = _believed(edges, agreement, untold)
    is_sure = is_told & (spread < SURE_SPREAD)
    num_wrong, num_sure = (is_sure & ~_is_same(focal, cameras.focal)).sum(), is_sure.sum()
    is_enough = num_wrong >= MIN_NUM_TO_DOUBT and num_sure >= MIN_SURE_PART * is_told.sum()
    return bool(is_enough and num_wrong > num_sure / 2)


def _are_among_sure(edges: IntArray, is_asked: BoolArray, is_sure: BoolArray) -> BoolArray:
    """(num_cameras,) whether enough of the cameras that hang together with one are sure."""
    label = label_components(edges, len(is_asked))
    num_asked, num_sure = (np.bincount(label, mask) for mask in (is_asked, is_sure))
    return np.asarray((num_sure >= np.maximum(MIN_SURE_PART * num_asked, MIN_NUM_SURE))[label])


def _is_same(one: FloatArray, other: FloatArray) -> BoolArray:
    return np.asarray(np.abs(np.log(one / other)) < SAME)


def _strongest(edges: IntArray, num_inliers: IntArray) -> BoolArray:
    """(num_edges,) the edges that are among the strongest of one of their ends."""
    num = edges.shape[1]
    ends = edges.ravel()
    num_cameras = len(np.unique(ends))
    max_num = min(MAX_PAIRS_PER_CAMERA, max(MAX_NUM_PAIRS // max(num_cameras, 1), 1))
    order = np.lexsort((np.tile(-num_inliers, 2), ends))
    rank = np.arange(2 * num) - np.searchsorted(ends[order], ends[order])
    kept = np.zeros(num, dtype=np.bool_)
    kept[order[rank < max_num] % num] = True
    return kept


def _agreement(images: ImageSet, edges: IntArray, F: FloatArray, num_inliers: IntArray) -> FloatArray:
    """(num_edges, m, m) how well focal lengths of both ends go with a pair's fundamental matrix."""
    calibration = np.tile(np.eye(3), (len(images.cameras), 1, 1))
    for k in np.unique(edges).tolist():
        camera = images.cameras[k]
        calibration[k, :2, :2] *= max(camera.width_px, camera.height_px)
        calibration[k, :2, 2] = principal_point(camera)
    centred = np.swapaxes(calibration[edges[1]], -1, -2) @ F @ calibration[edges[0]]
    weight = np.clip(np.sqrt(num_inliers / TYPICAL_INLIERS), *WEIGHT_RANGE).astype(np.float32)
    agreement: FloatArray = np.empty((len(centred), len(FOCAL), len(FOCAL)), dtype=np.float32)
    for first in range(0, len(centred), PAIRS_AT_ONCE):
        some = slice(first, first + PAIRS_AT_ONCE)
        agreement[some] = (CHANCE + (1 - CHANCE) * pair_votes(centred[some], FOCAL)) ** weight[some, None, None]
    return agreement


def _believed(edges: IntArray, agreement: FloatArray, cameras: _Cameras) -> tuple[FloatArray, FloatArray]:
    """(num_cameras,) the focal lengths that are believed in most, in longer sides, and the spread of their logs."""
    log_focal = np.log(FOCAL)
    off = log_focal - np.log(cameras.focal)[:, None]
    doubt = np.where(cameras.is_fixed, NO_DOUBT, KNOWN_DOUBT)[:, None]
    as_known = np.log(doubt + (1 - doubt) * np.exp(-0.5 * (off / KNOWN_SPREAD) ** 2))
    as_guessed = -0.5 * (off / GUESS_SPREAD) ** 2
    belief = propagate_beliefs(edges, agreement, np.where(cameras.is_guess[:, None], as_guessed, as_known))
    likely = np.exp(belief) / np.exp(belief).sum(axis=1, keepdims=True)
    mean = likely @ log_focal
    spread = np.sqrt(np.sum(likely * (log_focal - mean[:, None]) ** 2, axis=1))
    # Between the values of the grid: the mean of what is believed near the peak.
    is_near = np.abs(np.arange(len(FOCAL)) - belief.argmax(axis=1)[:, None]) <= 2
    return np.exp((likely * is_near) @ log_focal / (likely * is_near).sum(axis=1)), spread
