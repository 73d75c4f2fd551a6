"""Bundle adjustment in rounds: each triangulates afresh, believes less error than the last, and adjusts.

Early rounds use the longest tracks only and a forgiving loss, because poses are coarse; the last uses every track
and decides what stays. A camera that too few points support is dropped rather than handed out wrong.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vgpa.compute.beside import beside
from vgpa.config import MappingConfig
from vgpa.geometry.rotation import BoolArray
from vgpa.mapping.coarse import coarse_rounds, run_coarse_rounds
from vgpa.mapping.cover import sampled_tracks
from vgpa.mapping.hinges import scale_hanging_groups
from vgpa.mapping.one_round import (
    Given,
    adjust,
    drop_weak_images,
    model_of,
    posed_tracks,
    run_round,
    run_until_settled,
    triangulate_tracks,
)
from vgpa.mapping.principal_point import explains_principal_point, freeable_cameras
from vgpa.mapping.same_lens import tie_lenses
from vgpa.mapping.triangulate import Points, triangulate
from vgpa.scene import ImageSet, Keypoints, Poses, Reconstruction, Tracks
from vgpa.stages import advance

NUM_READJUSTING = 40
"""Iterations at most after images came back: the model is nearly where it should be."""
NUM_SAMPLED, SEED = 10_000, 0
"""Observations that tell whether principal points are to be free, and the seed by which they are drawn."""
PATIENCE = 0.3
"""Factor on the tolerance of a round that frees principal points: they move far in steps that bring little."""


def build_model(
    images: ImageSet,
    poses: Poses,
    keypoints: Keypoints,
    tracks: Tracks,
    config: MappingConfig,
    num_threads: int,
    last_tracks: Tracks | None = None,
) -> Reconstruction:
    """The model that the tracks support, from approximate poses. Images that share a lens have one camera in it.

    Args:
        last_tracks: for one more last round. More of them may be wrong, so they wait until poses are good.
    """
    given = Given(images, keypoints, tracks, config, num_threads)
    start = model_of(images, poses, Points(np.zeros((0, 3)), Tracks.empty(), np.zeros(0)))
    coarse, fine = coarse_rounds(start, given), config.rounds[:-1] if last_tracks is None else config.rounds
    num_rounds = len(coarse) + len(fine) + 1
    model = run_coarse_rounds(start, given, coarse, num_rounds)
    for number, settings in enumerate(fine, start=len(coarse)):
        advance(number, num_rounds)
        model = run_until_settled(model, given, settings)
        if config.scale_hanging_groups:
            model = scale_hanging_groups(model, keypoints, tracks)
        if number == len(coarse) and config.tie_lenses and not config.fix_intrinsics:
            model, given = tie_lenses(model, given)
    advance(num_rounds - 1, num_rounds)
    last = given if last_tracks is None else replace(given, tracks=last_tracks)
    model = _run_last_round(model, last, checked=given)
    return model if config.rounds[-1].min_num_covered is None else _with_all_points(model, last)


def readjust(model: Reconstruction, keypoints: Keypoints, config: MappingConfig, num_threads: int) -> Reconstruction:
    """The model after one more adjustment of all its cameras and points, by the settings of the last round."""
    given = Given(model.images, keypoints, model.tracks, config, num_threads)
    options = replace(given.options(config.rounds[-1], model), max_iterations=NUM_READJUSTING)
    return adjust(model, given, config.rounds[-1], options)


def _run_last_round(model: Reconstruction, given: Given, checked: Given) -> Reconstruction:
    """The model after the last round, with free principal points if they explain enough of the checked tracks.

    Mostly they do not, so the round goes ahead without them while that is being tried.
    """
    last, config = given.config.rounds[-1], given.config
    options = given.options(last, model)
    if not freeable_cameras(model, options, config).any():
        return run_round(model, given, last, options)

    def is_explained() -> BoolArray:
        alone = replace(options, num_threads=1)
        return np.array(explains_principal_point(_sample(model, checked), given.keypoints, alone, config))

    with beside(is_explained, given.num_threads) as needs_principal_points:
        finished = run_round(model, given, last, options)
        if not needs_principal_points():
            return finished
    min_num = config.min_images_for_principal_point
    tolerance = PATIENCE * options.tolerance
    freed = replace(options, min_images_for_principal_point=min_num, tolerance=tolerance, may_climb=True)
    # An image that was lost under principal points that did not fit may fit under others.
    is_complete = finished.num_registered == model.num_registered
    return run_round(finished if is_complete else model, given, last, freed)


def _sample(model: Reconstruction, given: Given) -> Reconstruction:
    """The model with the points of randomly chosen tracks, about `NUM_SAMPLED` observations in all."""
    posed = posed_tracks(model, given)
    min_num = max(NUM_SAMPLED // model.num_registered, given.config.min_num_points)
    tracks = posed.select(sampled_tracks(posed, min_num, SEED))
    wanted = given.wanted(given.config.rounds[-1])
    return model_of(model.images, model.poses, triangulate(model.images, model.poses, given.keypoints, tracks, wanted))


def _with_all_points(model: Reconstruction, given: Given) -> Reconstruction:
    """The points of every track under the final poses, where the last round adjusted a subset only."""
    points = triangulate_tracks(model, given, replace(given.config.rounds[-1], min_num_covered=None))
    return drop_weak_images(model_of(model.images, model.poses, points), given.config)
