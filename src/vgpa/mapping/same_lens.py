"""One lens for photos that were taken with one, where each of them has a camera of its own.

Databases give every photo its own camera if nothing tells what took it: the frames of a video, photos without EXIF. A
lens that one photo alone has to tell is told badly, and its pose is as wrong as its lens. Photos that share a lens show
it once a first model stands: their lenses agree roughly there. They are tied then, and the first round is run again.
They stay tied if the model fits nearly as well as with free lenses: a lens that differs from the others by a few
percent costs many times what chance gives to the freedom of each photo's lens.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from vgpa.colmap.cameras import mean_focal_px
from vgpa.errors import NoModelError
from vgpa.geometry.rotation import BoolArray, FloatArray, IntArray
from vgpa.mapping.cover import covering_tracks
from vgpa.mapping.one_round import Given, run_until_settled
from vgpa.mapping.triangulate import PointFilter, observation_errors_px, triangulate
from vgpa.scene import ImageSet, Reconstruction, Tracks

MIN_NUM_IMAGES = 5
"""Photos that must tell of a lens before they are believed to share it."""
MAX_SPREAD = 0.15
"""Difference of the logarithm of three in four focal lengths from the middle one, at which they may still be one."""
MAX_GAIN, MAX_MEAN_GAIN = 15.0, 30.0
"""What the freedom of its lens may gain a typical photo, and photos in the mean, in log likelihood. Two parameters gain
one by chance, and the model is not quite adjusted yet: with one lens 1 to 12 were seen (and 42 in a scene that is bent
with free lenses), 17 to 41 where half of the lenses are 3% longer; a single photo that is zoomed gains hundreds."""
MAX_PART_LOST = 0.1
"""Part of the photos that may be lost under one lens: what their lenses had explained was wrong then."""
MAX_RUNS = 3
"""Runs of the round at most: poses that went with many lenses go a long way to those that go with one."""
MAX_TRIALS = 2
"""Groups that have many lenses after all bend the others' model too, so these are tied once more without them."""
NUM_COVERED, MAX_ERROR_PX = 100, 12.0
"""Observations of each photo that are compared, and the error with which one counts that fits no point."""
EFFICIENT = 2.385
"""Scale of a Cauchy loss in standard deviations that loses 5% of what clean observations tell."""


def tie_lenses(free: Reconstruction, given: Given) -> tuple[Reconstruction, Given]:
    """The model after a first round and what is given, with one camera for images that share a lens.

    If none do, both are as they were.
    """
    groups = _candidates(free, given)
    for _ in range(MAX_TRIALS):
        if not groups:
            break
        tied = replace(given, images=_tied(given.images, groups, free.poses.is_known))
        start = replace(free, images=_tied(free.images, groups, free.poses.is_known))
        try:
            model = run_until_settled(start, tied, replace(given.config.rounds[0], max_runs=MAX_RUNS))
        except NoModelError:
            return free, given
        gains = _gains(free, model, given)
        kept = [group for group in groups if _have_one(group, gains, free, model)]
        if len(kept) == len(groups):
            return model, tied
        groups = kept
    return free, given


def untie_lenses(images: ImageSet, given: ImageSet) -> ImageSet:
    """The images with a camera for each that had its own; its lens is the one that it shares."""
    cameras = list(images.cameras)
    for k in np.flatnonzero(images.camera_idx != given.camera_idx).tolist():
        own = given.camera_idx[k]
        cameras[own] = replace(images.camera_of(k), focal_source=given.cameras[own].focal_source)
    return replace(images, camera_idx=given.camera_idx, cameras=tuple(cameras))


def _candidates(model: Reconstruction, given: Given) -> list[IntArray]:
    """Images, registered or not, whose lenses may be one: nothing else is told of them, and what they tell agrees."""
    images = given.images
    num_images = np.bincount(images.camera_idx, minlength=len(images.cameras))
    num_images[list(given.config.held_cameras)] = 0
    alike: dict[object, list[int]] = defaultdict(list)
    for k in np.flatnonzero(num_images[images.camera_idx] == 1).tolist():
        camera = images.camera_of(k)
        told = tuple(camera.params) if camera.focal_source.is_known else None
        alike[camera.model, camera.width_px, camera.height_px, told].append(k)
    groups = [np.array(group) for group in alike.values() if len(group) >= MIN_NUM_IMAGES]
    return [group for group in groups if _may_be_one(model, group[model.poses.is_known[group]])]


def _may_be_one(model: Reconstruction, registered: IntArray) -> bool:
    if len(registered) < MIN_NUM_IMAGES:
        return False
    off = np.abs(_log_focal(model.images, registered) - np.median(_log_focal(model.images, registered)))
    return bool(np.quantile(off, 0.75) <= MAX_SPREAD)


def _tied(images: ImageSet, groups: list[IntArray], is_told: BoolArray) -> ImageSet:
    """The images with one camera for each group: of every parameter the median of those images that tell it."""
    camera_idx, cameras = images.camera_idx.copy(), list(images.cameras)
    for group in groups:
        params = np.median([images.camera_of(k).params for k in group[is_told[group]].tolist()], axis=0)
        camera_idx[group] = images.camera_idx[group[0]]
        cameras[camera_idx[group[0]]] = replace(images.camera_of(group[0]), params=params)
    return replace(images, camera_idx=camera_idx, cameras=tuple(cameras))


def _have_one(group: IntArray, gains: FloatArray, free: Reconstruction, tied: Reconstruction) -> bool:
    """Whether the images of a group have one lens indeed."""
    placed = group[free.poses.is_known[group]]
    judged = placed[tied.poses.is_known[placed]]
    if len(judged) < (1 - MAX_PART_LOST) * len(placed):
        return False
    return bool(np.median(gains[judged]) <= MAX_GAIN and gains[judged].mean() <= MAX_MEAN_GAIN)


def _gains(free: Reconstruction, tied: Reconstruction, given: Given) -> FloatArray:
    """(num_images,) how much better every image fits with free lenses: differences of robust log likelihoods."""
    both = free.poses.is_known & tied.poses.is_known
    tracks = given.tracks.select_observations(both[given.tracks.image_idx])
    tracks = tracks.select(covering_tracks(tracks, NUM_COVERED))
    (free_idx, free_px), (tied_idx, tied_px) = (_errors(model, given, tracks) for model in (free, tied))
    # Of normal errors on two axes half are shorter than 1.177 standard deviations.
    scale_px = EFFICIENT * max(float(np.median(free_px)) / 1.177, 1e-6)

    def fit(image_idx: IntArray, error_px: FloatArray) -> FloatArray:
        likely = np.log1p((MAX_ERROR_PX / scale_px) ** 2) - np.log1p((error_px / scale_px) ** 2)
        return np.bincount(image_idx, likely, minlength=len(both)) * EFFICIENT**2 / 2

    return fit(free_idx, free_px) - fit(tied_idx, tied_px)


def _errors(model: Reconstruction, given: Given, tracks: Tracks) -> tuple[IntArray, FloatArray]:
    """Image and error of every observation of the tracks that fits a point."""
    wanted = PointFilter(MAX_ERROR_PX, given.config.min_angle_deg, min_num_views=2)
    points = triangulate(model.images, model.poses, given.keypoints, tracks, wanted)
    return points.tracks.image_idx, observation_errors_px(
        model.images, model.poses, given.keypoints, points.tracks, points.xyz
    )


def _log_focal(images: ImageSet, image_idx: IntArray) -> FloatArray:
    return np.log([mean_focal_px(images.camera_of(k)) for k in image_idx.tolist()])
