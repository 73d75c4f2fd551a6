"""Approximate poses become a finished model: adjustment in rounds, wrong cameras out, lost images back in.

Where adjustment has lost many images, averaged poses were wrong, and what is left may stand on more than one foot: a
dozen cameras, in order among themselves, that a few chance points tie to the others at some angle. Nothing tells which
foot is which, but more points hold together what belongs together. So there everything but the firm core is taken off,
and comes back image by image, best placed first; if not as many come back, the model stays as it was built. Most of
this shows after the first round, and then later rounds are left out: they would make exact what is taken apart next.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vgpa.config import Config
from vgpa.errors import NoModelError
from vgpa.mapping.cover import firm_core
from vgpa.mapping.extend import without_images
from vgpa.mapping.one_round import Given
from vgpa.mapping.reintegrate import reintegrate
from vgpa.mapping.rounds import readjust, refine_model, start_model, with_all_points
from vgpa.mapping.safety import Checked, check_cameras
from vgpa.scene import Poses, Problem, Reconstruction, Tracks
from vgpa.stages import StageLog

MAX_PART_LOST = 0.1
"""Part of its images that a model may lose in adjustment before it is doubted as a whole."""
MIN_CORE_SIZE = 3
"""Images from which a model can grow."""
READJUST_GROWTH = 1.02
"""Growth by re-integration from which on the whole model is adjusted once more: what came back moves the rest, and
images that did not fit what was bent a little may fit then."""


def adjust_and_finish(
    problem: Problem,
    given: Given,
    poses: Poses,
    last_tracks: Tracks | None,
    num_images: int,
    config: Config,
    log: StageLog,
) -> tuple[Checked, NDArray[np.bool_]]:
    """The finished model from approximate poses, and (num_images,) all images that were placed for a while.

    A model that may tell principal points goes through all rounds, for these are found in the last one.

    Args:
        problem: all verified pairs of images that may belong to the model.
        given, last_tracks: what it is adjusted by.
        num_images: those of its group, with a pose or not.
    """
    with log.stage("bundle adjust"):
        rough = start_model(given, poses)
        is_doubted = _is_doubted(rough.model, num_images, config) and not rough.may_tell_principal_points
        built = with_all_points(rough) if is_doubted else refine_model(rough, last_tracks)
    if is_doubted:
        grown = _grown_again(problem, built, config, log, is_rough=True)
        if grown is not None:
            return grown
        with log.stage("bundle adjust"):
            built = refine_model(rough, last_tracks)
    return finish_model(problem, built, num_images, config, log)


def finish_model(
    problem: Problem, built: Reconstruction, num_images: int, config: Config, log: StageLog
) -> tuple[Checked, NDArray[np.bool_]]:
    """The finished model, and (num_images,) all images that were placed for a while.

    Args:
        problem: all verified pairs of images that may belong to the model.
        num_images: those that it was built for.
    """
    if _is_doubted(built, num_images, config):
        grown = _grown_again(problem, built, config, log)
        if grown is not None:
            return grown
    return _finish(problem, built, config, log)


def _is_doubted(model: Reconstruction, num_images: int, config: Config) -> bool:
    may_grow = config.mapping.reintegrate is not None
    return may_grow and model.num_registered < (1 - MAX_PART_LOST) * num_images


def _grown_again(
    problem: Problem, built: Reconstruction, config: Config, log: StageLog, is_rough: bool = False
) -> tuple[Checked, NDArray[np.bool_]] | None:
    """What a doubted model's firm core grows to; None where that is fewer images than the model has, or no core."""
    core = without_images(built, ~firm_core(built.tracks, len(built.images)))
    if not MIN_CORE_SIZE <= core.num_registered < built.num_registered:
        return None
    try:
        checked, placed = _finish(problem, core, config, log, is_rough)
    except NoModelError:
        return None
    return (checked, placed | built.poses.is_known) if checked.model.num_registered >= built.num_registered else None


def _finish(
    problem: Problem, built: Reconstruction, config: Config, log: StageLog, is_rough: bool = False
) -> tuple[Checked, NDArray[np.bool_]]:
    with log.stage("check cameras"):
        checked = check_cameras(problem, built)
        seen = built.poses.is_known
    if config.mapping.reintegrate is not None and checked.model.num_registered < len(problem.images):
        with log.stage("reintegrate images"):
            checked, placed = _bring_back(problem, checked, config, is_rough)
            seen = seen | placed
    return checked, seen


def _bring_back(
    problem: Problem, checked: Checked, config: Config, is_rough: bool
) -> tuple[Checked, NDArray[np.bool_]]:
    """The model with the lost images that find their place, and (num_images,) all that were placed for a while.

    Args:
        is_rough: the model has to be adjusted even if no image comes back.
    """
    before, extended = checked.model, reintegrate(problem, checked.model, config)
    while is_rough or extended.num_registered > READJUST_GROWTH * before.num_registered:
        is_rough = False
        adjusted = readjust(extended, problem.keypoints, config.mapping, config.num_threads)
        before, extended = extended, reintegrate(problem, adjusted, config)
    checked = check_cameras(problem, extended, before=checked if before is checked.model else None)
    placed, model = extended.poses.is_known, checked.model
    if model.num_registered < extended.num_registered:
        # The right place of a camera that was wrong may be plain to see where its own points are gone.
        again = reintegrate(problem, model, config)
        placed = placed | again.poses.is_known
        checked = check_cameras(problem, again, is_judged=~model.poses.is_known, before=checked)
    return checked, placed
