"""One lens for photos that were taken with one, where each of them has a camera of its own.

Databases give every photo its own camera if nothing tells what took it: the frames of a video, photos without EXIF. A
lens that one photo alone has to tell is told badly, and its pose is as wrong as its lens. Photos that share a lens show
it once a first model stands: their lenses agree roughly there. They are tied then, and the first round is run again.
They stay tied if the model fits nearly as well as with free lenses: a lens that differs from the others by a few
percent costs many times what chance gives to the freedom of each photo's lens. A photo that it costs much more than the
others, and whose lens runs off when it is set free again, has another one. Photos that are not placed yet have their
own.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from vgpa.colmap.cameras import mean_focal_px, with_focal
from vgpa.errors import NoModelError
from vgpa.geometry.rotation import FloatArray, IntArray
from vgpa.mapping.cover import covering_tracks
from vgpa.mapping.one_round import Given, run_until_settled
from vgpa.mapping.triangulate import PointFilter, observation_errors_px, triangulate
from vgpa.scene import ImageSet, Reconstruction, Tracks

MIN_NUM_IMAGES = 5
"""Photos that must tell of a lens before they are believed to share it."""
MAX_SPREAD = 0.15
"""Difference of the logarithm of three in four focal lengths from the middle one, at which they may still be one."""
MAX_GAIN = 15.0
"""What the freedom of its lens may gain a typical photo, in log likelihood. Two parameters gain one by chance, and the
model is not quite adjusted yet: with one lens 1 to 12 were seen (and 42 in a scene that is bent with free lenses), 17
to 41 where half of the lenses are 3% longer."""
MAX_OWN_GAIN, MAX_OWN_CHANGE = 100.0, 0.07
"""What it may gain a single photo, and how far the logarithm of its focal length may then be from that of the others:
a photo that gains more and differs more has another lens."""
MAX_PART_OTHER = 0.25
"""Part of a group that may gain so much: with more of them there is no one lens that they could differ from."""
MAX_PART_LOST = 0.1
"""Part of the photos that may be lost under one lens: what their lenses had explained was wrong then."""
MAX_RUNS = 3
"""Runs of the round at most: poses that went with many lenses go a long way to those that go with one."""
MAX_TRIALS = 3
"""What has other lenses after all bends the model of the others too, so these are tied once more without it."""
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
        try:
            model = _adjusted(free, given, groups)
            kept = _with_one_lens(groups, free, model, given)
        except NoModelError:
            break
        if [len(group) for group in kept] == [len(group) for group in groups]:
            placed = [group[model.poses.is_known[group]] for group in groups]
            tied = replace(given, images=_tied(given.images, given.images, placed))
            return replace(model, images=_tied(model.images, given.images, placed)), tied
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
    """Registered images whose lenses may be one: they are told the same or nothing, and what they tell agrees."""
    images = given.images
    num_images = np.bincount(images.camera_idx, minlength=len(images.cameras))
    num_images[list(given.config.held_cameras)] = 0
    alike: dict[object, list[int]] = defaultdict(list)
    for k in np.flatnonzero((num_images[images.camera_idx] == 1) & model.poses.is_known).tolist():
        camera = images.camera_of(k)
        told = camera if camera.focal_source.is_known else with_focal(camera, 1.0)
        alike[camera.model, camera.width_px, camera.height_px, tuple(told.params)].append(k)
    groups = [np.array(group) for group in alike.values() if len(group) >= MIN_NUM_IMAGES]
    return [group for group in groups if _spread(_log_focal(model.images, group)) <= MAX_SPREAD]


def _spread(values: FloatArray) -> float:
    """Distance from the middle within which three in four values lie."""
    return float(np.quantile(np.abs(values - np.median(values)), 0.75))


def _tied(images: ImageSet, own: ImageSet, groups: list[IntArray]) -> ImageSet:
    """The images with one camera for each group, whose every parameter is the group's median, and else their own."""
    camera_idx, cameras = own.camera_idx.copy(), list(images.cameras)
    for group in groups:
        params = np.median([images.camera_of(k).params for k in group.tolist()], axis=0)
        camera_idx[group] = own.camera_idx[group[0]]
        cameras[own.camera_idx[group[0]]] = replace(images.camera_of(group[0]), params=params)
    return replace(images, camera_idx=camera_idx, cameras=tuple(cameras))


def _adjusted(model: Reconstruction, given: Given, groups: list[IntArray]) -> Reconstruction:
    """The model after its first round again, now with these lenses tied."""
    tied = replace(given, images=_tied(given.images, given.images, groups))
    start = replace(model, images=_tied(model.images, given.images, groups))
    return run_until_settled(start, tied, replace(given.config.rounds[0], max_runs=MAX_RUNS))


def _with_one_lens(groups: list[IntArray], free: Reconstruction, tied: Reconstruction, given: Given) -> list[IntArray]:
    """The groups that have one lens. If some of their images have another one, they are to be tied without these."""
    gains = _gains(free, tied, given)
    judged = [group[tied.poses.is_known[group]] for group in groups]
    suspects = [some[gains[some] > MAX_OWN_GAIN] for some in judged]

    def may_be_one(k: int) -> bool:
        are_placed = len(judged[k]) >= (1 - MAX_PART_LOST) * len(groups[k])
        return are_placed and len(suspects[k]) <= MAX_PART_OTHER * len(judged[k])

    likely = [k for k in range(len(groups)) if may_be_one(k)]
    if any(len(suspects[k]) for k in likely):
        rest = [np.setdiff1d(groups[k], suspects[k]) for k in likely]
        untied = replace(tied, images=untie_lenses(tied.images, given.images))
        model = _adjusted(untied, given, rest)
        others = [_with_other_lens(suspects[k], some, model) for k, some in zip(likely, rest, strict=True)]
        if any(map(len, others)):
            return [np.setdiff1d(groups[k], other) for k, other in zip(likely, others, strict=True)]
    return [groups[k] for k in likely if np.median(gains[judged[k]]) <= MAX_GAIN]


def _with_other_lens(suspects: IntArray, rest: IntArray, model: Reconstruction) -> IntArray:
    """Those of the suspects that have another lens than the rest, which are tied in this model."""
    change = _log_focal(model.images, suspects) - np.median(_log_focal(model.images, rest))
    return suspects[np.abs(change) > MAX_OWN_CHANGE]


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
