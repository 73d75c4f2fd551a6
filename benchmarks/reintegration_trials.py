"""Trials of losing images of a scene and bringing them back, judged against its reference.

Used by `reintegration.py`, whose docstring tells in which ways images are lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from consensus import FOLDER, make_consensus
from horizons import tilts_deg
from mapping import KNOWN_INTRINSICS
from mapping_tables import WEAK_REFERENCES
from rotation_errors import rotation_errors_deg
from subsets import draw

from vgpa.colmap.database import read_problem
from vgpa.colmap.model import read_model
from vgpa.config import Config, default
from vgpa.errors import NoModelError
from vgpa.mapping.extend import without_images
from vgpa.scene import Problem, Reconstruction
from vgpa.solve import register, solve
from vgpa.stages import StageLog

PART_TAKEN_OUT, SEED = 1 / 3, 0
MAX_ERROR_DEG = 5.0
NUM_PARTS = 16
BY_CONSENSUS = " by consensus"
"""Follows the name of a scene where it is judged against what COLMAP's models agree on (`consensus.py`)."""


@dataclass(frozen=True)
class Wrong:
    """An image that came back to a wrong place: its error, and the points that it sees there and in the reference.

    A reference may have no points at all. Where the photo shows a horizon, its angle to that of the other photos in
    our model and in the reference (`horizons.py`).
    """

    name: str
    error_deg: float
    num_points: int
    num_points_in_reference: int | None
    horizon_deg: tuple[float, float] | None


@dataclass(frozen=True)
class Trial:
    """One model before and after.

    Attributes:
        scene, way: which scene (and reference), and how its images were lost.
        num_lost, num_back, num_judged: images that the model lacked, those of them that came back, and those of these
            that the reference has.
        seconds: what that took.
        error_before_deg, error_after_deg: mean rotation error of all registered cameras.
        error_same_deg: of the model after, that of the cameras that were there before.
        wrong: images that came back to a wrong place.
    """

    scene: str
    way: str
    num_lost: int
    num_back: int
    num_judged: int
    seconds: float
    error_before_deg: float
    error_same_deg: float
    error_after_deg: float
    wrong: tuple[Wrong, ...]


def run_scene(folder: Path) -> Iterator[Trial]:
    """The trials of one scene; where its reference is weak, judged against what COLMAP's models agree on, too."""
    problem, config = read_problem(folder / "database.db"), default()
    references = {folder.name: read_model(folder / "reference")[0]}
    if folder.name in WEAK_REFERENCES:
        firm = make_consensus(folder / "database.db", FOLDER / folder.name)
        references[f"{folder.name}{BY_CONSENSUS}"] = read_model(firm)[0]
    config = replace(config, mapping=replace(config.mapping, fix_intrinsics=folder.name in KNOWN_INTRINSICS))
    without, whole, seconds = _run_both(problem, len(problem.images), config)
    if without is not whole:
        yield from _judge("lost", (without, whole), references, seconds)
    for seed in range(NUM_PARTS):
        is_kept = draw(len(problem.images), seed)
        part = problem.select_edges(np.asarray(is_kept[problem.view_graph.edge_index].all(axis=0)))
        try:
            before, after, seconds = _run_both(part, int(is_kept.sum()), config)
        except NoModelError:
            continue
        # Without re-integration another group of the images may be the largest.
        if before is not after and (before.poses.is_known & after.poses.is_known).any():
            for trial in _judge("parts", (before, after), references, seconds):
                yield replace(trial, num_lost=int(is_kept.sum()) - before.num_registered)
    rng = np.random.default_rng(SEED)
    registered = np.flatnonzero(whole.poses.is_known)
    is_out = np.zeros(len(problem.images), dtype=np.bool_)
    is_out[rng.choice(registered, round(PART_TAKEN_OUT * len(registered)), replace=False)] = True
    rest = without_images(whole, is_out)
    start = time.perf_counter()
    after = register(replace(problem, images=rest.images), rest, config, StageLog()).model
    yield from _judge("taken out", (rest, after), references, time.perf_counter() - start)


def _run_both(problem: Problem, num_images: int, config: Config) -> tuple[Reconstruction, Reconstruction, float]:
    """The models without and with re-integration, and its seconds; the same model if it lacks none of the images."""
    apart = replace(config, mapping=replace(config.mapping, reintegrate=None))
    before = solve(problem, apart, StageLog()).model
    if before.num_registered == num_images:
        return before, before, 0.0
    log = StageLog()
    after = solve(problem, config, log).model
    return before, after, sum(record.seconds for record in log.records if record.name == "reintegrate images")


def _judge(
    way: str, models: tuple[Reconstruction, Reconstruction], references: dict[str, Reconstruction], seconds: float
) -> Iterator[Trial]:
    """The figures of a model before and after, by each of the references."""
    before, after = models
    was_there = before.poses.is_known
    for scene, reference in references.items():
        error_deg = rotation_errors_deg(after, reference, was_there)
        is_new = ~was_there & np.isfinite(error_deg)
        wrong = np.flatnonzero(is_new & (error_deg > MAX_ERROR_DEG))
        yield Trial(
            scene=scene,
            way=way,
            num_lost=int((~was_there).sum()),
            num_back=after.num_registered - before.num_registered,
            num_judged=int(is_new.sum()),
            seconds=seconds,
            error_before_deg=float(np.nanmean(rotation_errors_deg(before, reference))),
            error_same_deg=float(np.nanmean(error_deg[was_there])),
            error_after_deg=float(np.nanmean(error_deg)),
            wrong=tuple(_describe(after, reference, k, error_deg[k]) for k in wrong),
        )


def _describe(model: Reconstruction, reference: Reconstruction, image_idx: int, error_deg: float) -> Wrong:
    name = model.images.names[image_idx]
    in_reference = reference.images.names.index(name)
    counts = [int((m.tracks.image_idx == k).sum()) for m, k in ((model, image_idx), (reference, in_reference))]
    ours, theirs = (tilts_deg(m).get(name) for m in (model, reference))
    tilts = (ours, theirs) if ours is not None and theirs is not None else None
    return Wrong(name, float(error_deg), counts[0], counts[1] if reference.num_points else None, tilts)
