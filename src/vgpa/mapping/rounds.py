"""Bundle adjustment in rounds: each triangulates afresh, believes less error than the last, and adjusts.

Early rounds use the longest tracks only and a forgiving loss, because poses are coarse; the last uses every track
and decides what stays. A camera that too few points support is dropped rather than handed out wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vgpa.compute.beside import beside
from vgpa.config import BundleRound, MappingConfig
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
from vgpa.scene import Keypoints, Poses, Reconstruction, Tracks
from vgpa.stages import advance

NUM_READJUSTING = 40
"""Iterations at most after images came back: the model is nearly where it should be."""
NUM_SAMPLED, SEED = 10_000, 0
"""Observations that tell whether principal points are to be free, and the seed by which they are drawn."""
PATIENCE = 0.3
"""Factor on the tolerance of a round that frees principal points: they move far in steps that bring little."""


@dataclass(frozen=True, eq=False)
class Rough:
    """A model after its first round.

    Attributes:
        model: with the points that the round had use for.
        given: what it is made from. Images that share a lens have one camera.
        num_done, num_rounds: rounds so far and in all.
    """

    model: Reconstruction
    given: Given
    num_done: int
    num_rounds: int

    @property
    def may_tell_principal_points(self) -> bool:
        """Whether the last round may find that a principal point is to be free."""
        last, config = self.given.config.rounds[-1], self.given.config
        return bool(freeable_cameras(self.model, self.given.options(last, self.model), config).any())


def start_model(given: Given, poses: Poses) -> Rough:
    """The model after coarse rounds and the first of the others, from approximate poses."""
    config = given.config
    start = model_of(given.images, poses, Points(np.zeros((0, 3)), Tracks.empty(), np.zeros(0)))
    coarse = coarse_rounds(start, given)
    num_rounds = len(coarse) + len(config.rounds)
    model = run_coarse_rounds(start, given, coarse, num_rounds)
    advance(len(coarse), num_rounds)
    model = _after_round(model, given, config.rounds[0])
    if config.tie_lenses and not config.fix_intrinsics:
        model, given = tie_lenses(model, given)
    return Rough(model, given, len(coarse) + 1, num_rounds)


def refine_model(rough: Rough, last_tracks: Tracks | None = None) -> Reconstruction:
    """The model after all rounds.

    Args:
        last_tracks: for one more last round. More of them may be wrong, so they wait until poses are good.
    """
    model, given, rounds = rough.model, rough.given, rough.given.config.rounds
    num_rounds = rough.num_rounds + (last_tracks is not None)
    for number, settings in enumerate(rounds[1:-1] if last_tracks is None else rounds[1:], start=rough.num_done):
        advance(number, num_rounds)
        model = _after_round(model, given, settings)
    advance(num_rounds - 1, num_rounds)
    last = given if last_tracks is None else replace(given, tracks=last_tracks)
    model = _run_last_round(model, last, checked=given)
    return model if rounds[-1].min_num_covered is None else _with_all_points(model, last)


def with_all_points(rough: Rough) -> Reconstruction:
    """The rough model with the points of every track that fit its poses as well as they must in a finished one."""
    return _with_all_points(rough.model, rough.given)


def _after_round(model: Reconstruction, given: Given, settings: BundleRound) -> Reconstruction:
    model = run_until_settled(model, given, settings)
    if given.config.scale_hanging_groups:
        model = scale_hanging_groups(model, given.keypoints, given.tracks)
    return model


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
