"""A built model becomes a finished one: wrong cameras out, lost images back in.

Where adjustment has lost many images, averaged poses were wrong, and what is left may stand on more than one foot: a
dozen cameras, in order among themselves, that a few chance points tie to the others at some angle. Nothing tells which
foot is which, but more points hold together what belongs together. So there everything but the firm core is taken off,
and comes back image by image, best placed first; if not as many come back, the model stays as it was built.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vgpa.config import Config
from vgpa.errors import NoModelError
from vgpa.mapping.cover import firm_core
from vgpa.mapping.extend import without_images
from vgpa.mapping.reintegrate import reintegrate
from vgpa.mapping.rounds import readjust
from vgpa.mapping.safety import Checked, check_cameras
from vgpa.scene import Problem, Reconstruction
from vgpa.stages import StageLog

MAX_PART_LOST = 0.1
"""Part of its images that a model may lose in adjustment before it is doubted as a whole."""
MIN_CORE_SIZE = 3
"""Images from which a model can grow."""
READJUST_GROWTH = 1.02
"""Growth by re-integration from which on the whole model is adjusted once more: what came back moves the rest, and
images that did not fit what was bent a little may fit then."""


def finish_model(
    problem: Problem, built: Reconstruction, num_images: int, config: Config, log: StageLog
) -> tuple[Checked, NDArray[np.bool_]]:
    """The finished model, and (num_images,) all images that were placed for a while.

    Args:
        problem: all verified pairs of images that may belong to the model.
        num_images: those that it was built for.
    """
    if config.mapping.reintegrate is not None and built.num_registered < (1 - MAX_PART_LOST) * num_images:
        core = without_images(built, ~firm_core(built.tracks, len(built.images)))
        if MIN_CORE_SIZE <= core.num_registered < built.num_registered:
            grown = _grown(problem, core, config, log)
            if grown is not None and grown[0].model.num_registered >= built.num_registered:
                return grown[0], grown[1] | built.poses.is_known
    return _finish(problem, built, config, log)


def _grown(
    problem: Problem, core: Reconstruction, config: Config, log: StageLog
) -> tuple[Checked, NDArray[np.bool_]] | None:
    """What becomes of a core, if anything."""
    try:
        return _finish(problem, core, config, log)
    except NoModelError:
        return None


def _finish(
    problem: Problem, built: Reconstruction, config: Config, log: StageLog
) -> tuple[Checked, NDArray[np.bool_]]:
    with log.stage("check cameras"):
        checked = check_cameras(problem, built)
        seen = built.poses.is_known
    if config.mapping.reintegrate is not None and checked.model.num_registered < len(problem.images):
        with log.stage("reintegrate images"):
            checked, placed = _bring_back(problem, checked, config)
            seen = seen | placed
    return checked, seen


def _bring_back(problem: Problem, checked: Checked, config: Config) -> tuple[Checked, NDArray[np.bool_]]:
    """The model with the lost images that find their place, and (num_images,) all that were placed for a while."""
    before, extended = checked.model, reintegrate(problem, checked.model, config)
    while extended.num_registered > READJUST_GROWTH * before.num_registered:
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
