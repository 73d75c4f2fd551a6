"""What re-integration of lost images is worth: how many come back, where, and what it costs.

    VGPA_DATA=... python benchmarks/reintegration.py [SCENE ...] [--out FILE]

Three ways of losing images, for every scene of $VGPA_DATA/scenes:

- "lost": what a run without re-integration leaves out, if anything, and the run with it brings back;
- "parts": the same in sixteen random parts of the scene (those of `subsets.py`), which hang together less well;
- "taken out": a third of the images, at random, taken out of the finished model (`vgpa register`).

Beside how many there were and how many came back: seconds per image that did, the mean rotation error of all registered
cameras before and after, and the images that came back more than five degrees from their place, each with the points
that it sees in our model and in the reference. Errors are against the reference after alignment of the cameras that
were there before. Written to docs/reintegration.md, or to FILE.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from horizons import tilts_deg
from subsets import draw

from vgpa.colmap.database import read_problem
from vgpa.colmap.model import read_model
from vgpa.config import Config, default
from vgpa.errors import NoModelError
from vgpa.evaluate.scores import Protocol, camera_errors
from vgpa.mapping.extend import without_images
from vgpa.scene import Problem, Reconstruction
from vgpa.solve import register, solve
from vgpa.stages import StageLog

PAGE = Path(__file__).parents[1] / "docs" / "reintegration.md"
KNOWN_INTRINSICS = {"fountain-P11", "entry-P10", "dino48"}
PART_TAKEN_OUT, SEED = 1 / 3, 0
MAX_ERROR_DEG = 5.0
WEAK_REFERENCES = {"statue_of_liberty_135"}
NUM_PARTS = 16


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
        scene, way: which scene, and how its images were lost.
        num_lost, num_back: images that the model lacked, and those of them that came back.
        seconds: what that took.
        error_before_deg, error_after_deg: mean rotation error of all registered cameras.
        wrong: images that came back to a wrong place.
    """

    scene: str
    way: str
    num_lost: int
    num_back: int
    seconds: float
    error_before_deg: float
    error_after_deg: float
    wrong: tuple[Wrong, ...]


def run_scene(folder: Path) -> Iterator[Trial]:
    """The trials of one scene."""
    problem, (reference, _) = read_problem(folder / "database.db"), read_model(folder / "reference")
    config = default()
    config = replace(config, mapping=replace(config.mapping, fix_intrinsics=folder.name in KNOWN_INTRINSICS))
    without, whole, seconds = _run_both(problem, len(problem.images), config)
    if without is not whole:
        yield _judge(folder.name, "lost", (without, whole), reference, seconds)
    for seed in range(NUM_PARTS):
        is_kept = draw(len(problem.images), seed)
        part = problem.select_edges(np.asarray(is_kept[problem.view_graph.edge_index].all(axis=0)))
        try:
            before, after, seconds = _run_both(part, int(is_kept.sum()), config)
        except NoModelError:
            continue
        # Without re-integration another group of the images may be the largest.
        if before is not after and (before.poses.is_known & after.poses.is_known).any():
            trial = _judge(folder.name, "parts", (before, after), reference, seconds)
            yield replace(trial, num_lost=int(is_kept.sum()) - before.num_registered)
    rng = np.random.default_rng(SEED)
    registered = np.flatnonzero(whole.poses.is_known)
    is_out = np.zeros(len(problem.images), dtype=np.bool_)
    is_out[rng.choice(registered, round(PART_TAKEN_OUT * len(registered)), replace=False)] = True
    rest = without_images(whole, is_out)
    start = time.perf_counter()
    after = register(replace(problem, images=rest.images), rest, config, StageLog()).model
    yield _judge(folder.name, "taken out", (rest, after), reference, time.perf_counter() - start)


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
    scene: str, way: str, models: tuple[Reconstruction, Reconstruction], reference: Reconstruction, seconds: float
) -> Trial:
    """The figures of a model before and after."""
    before, after = models
    error, was_there = _rotation_errors_deg(before, after, reference)
    is_new = ~was_there & np.isfinite(error)
    return Trial(
        scene,
        way,
        int((~before.poses.is_known).sum()),
        after.num_registered - before.num_registered,
        seconds,
        float(np.mean(error[was_there & np.isfinite(error)])),
        float(np.mean(error[np.isfinite(error)])),
        tuple(_describe(after, reference, k, error[k]) for k in np.flatnonzero(is_new & (error > MAX_ERROR_DEG))),
    )


def _describe(model: Reconstruction, reference: Reconstruction, image_idx: int, error_deg: float) -> Wrong:
    name = model.images.names[image_idx]
    in_reference = reference.images.names.index(name)
    counts = [int((m.tracks.image_idx == k).sum()) for m, k in ((model, image_idx), (reference, in_reference))]
    ours, theirs = (tilts_deg(m).get(name) for m in (model, reference))
    tilts = (ours, theirs) if ours is not None and theirs is not None else None
    return Wrong(name, float(error_deg), counts[0], counts[1] if reference.num_points else None, tilts)


def _rotation_errors_deg(
    before: Reconstruction, after: Reconstruction, reference: Reconstruction
) -> tuple[np.ndarray, np.ndarray]:
    """(num_images,) error of each camera that the reference has too, else NaN, and whether it was there before."""
    place = {name: k for k, name in enumerate(reference.images.names) if reference.poses.is_known[k]}
    at = np.array([place.get(name, -1) for name in after.images.names])
    is_scored = after.poses.is_known & (at >= 0)
    true = reference.poses.cam_from_world[np.maximum(at, 0)]
    stays = np.flatnonzero(is_scored & before.poses.is_known)
    true_from_ours = Protocol().align(after.poses.cam_from_world[stays], true[stays])
    rotation_deg, _ = camera_errors(true_from_ours.apply_to_cameras(after.poses.cam_from_world), true)
    return np.where(is_scored, rotation_deg, np.nan), before.poses.is_known


def _merged(trials: list[Trial]) -> Trial:
    """Several trials of one scene and way as one: sums, and the mean of their mean errors."""
    return replace(
        trials[0],
        num_lost=sum(t.num_lost for t in trials),
        num_back=sum(t.num_back for t in trials),
        seconds=sum(t.seconds for t in trials),
        error_before_deg=float(np.mean([t.error_before_deg for t in trials])),
        error_after_deg=float(np.mean([t.error_after_deg for t in trials])),
        wrong=tuple(w for t in trials for w in t.wrong),
    )


def _row(trial: Trial) -> str:
    return (
        f"| {trial.scene} | {trial.way} | {trial.num_lost} | {trial.num_back} | "
        f"{trial.seconds / max(trial.num_back, 1):.2f} | {trial.error_before_deg:.3f} | {trial.error_after_deg:.3f} | "
        f"{len(trial.wrong)} |"
    )


def _sentence(trials: list[Trial], which: str) -> str:
    """How many came back, and how many of them to a wrong place, in these trials."""
    lost, back = (sum(getattr(t, name) for t in trials) for name in ("num_lost", "num_back"))
    wrong = sum(len(t.wrong) for t in trials)
    return f"{which}: {back} of {lost} images came back, {wrong} of them ({wrong / max(back, 1):.1%}) to a wrong place."


def _wrong_rows(trials: list[Trial]) -> Iterator[str]:
    """A row for every image that came back to a wrong place, however often it did."""
    found: dict[tuple[str, str, str], list[Wrong]] = {}
    for trial in trials:
        for wrong in trial.wrong:
            found.setdefault((trial.scene, trial.way, wrong.name), []).append(wrong)
    for key, times in sorted(found.items()):
        angles, points = ([getattr(w, name) for w in times] for name in ("error_deg", "num_points"))
        tilts = list(zip(*(w.horizon_deg for w in times if w.horizon_deg is not None), strict=True))
        yield (
            f"| {' | '.join(key)} | {len(times)} | {_range(angles, '.1f')} | {_range(points, 'd')} | "
            f"{'none has any' if (num := times[0].num_points_in_reference) is None else num} | "
            f"{' | '.join(_range(list(side), '.1f') for side in tilts) if tilts else ' | '} |"
        )


def _range(values: list[float], form: str) -> str:
    """The least and the most of the values, or the one that all are."""
    ends = [format(end, form) for end in (min(values), max(values))]
    return " to ".join(dict.fromkeys(ends))


def write_page(trials: list[Trial], path: Path) -> None:
    """One row per scene and way, and sums without scenes whose reference is weak."""
    keys = list(dict.fromkeys((t.scene, t.way) for t in trials))
    rows = [_row(_merged([t for t in trials if (t.scene, t.way) == key])) for key in keys]
    sure = [t for t in trials if t.scene not in WEAK_REFERENCES]
    in_parts = [t for t in sure if t.way == "parts"]
    wrong_rows = list(_wrong_rows(trials))
    lines = [
        "# Re-integration of lost images",
        f"`VGPA_DATA=... python benchmarks/reintegration.py`, {os.cpu_count()} cores. *Lost*: what a run without "
        "re-integration leaves out; the seconds are those of its stage in the run with it. *Parts*: the same in "
        f"{NUM_PARTS} random parts of the scene, 40 to 85% of its images, where errors are means over the parts that "
        "lost any; a part whose largest model shares no image with the one before is left out. *Taken out*: a third of "
        "the images, at random, taken out of a finished model and given to `vgpa register`, whose seconds leave out "
        "reading and writing. Wrong: over five degrees off.",
        "| scene | way | images missing | back | seconds each | rotation error before, deg | after | wrong |\n"
        "|---|---|---|---|---|---|---|---|\n" + "\n".join(rows),
        f"Without {', '.join(sorted(WEAK_REFERENCES))}, whose reference is weak:",
        "\n".join(
            f"- {_sentence(*of)}"
            for of in (
                ([t for t in sure if t.way != "parts"], "whole scenes, lost or taken out"),
                (in_parts, "parts of scenes"),
            )
        ),
    ]
    if wrong_rows:
        lines += [
            "The wrong ones, and in how many trials. An image that sees no point in a reference that has points has no "
            "place there either, whatever pose is written in its file; where it sees far fewer than in our models, and "
            "these agree with each other, the reference is in doubt. Where a photo shows the horizon, the last columns "
            "have its angle to the horizon of the other photos, in our model and in the reference: what does not know "
            "up from down is wrong (`benchmarks/horizons.py`; up to two degrees are due to how it is read off).",
            "| scene | way | image | times | off, deg | points, ours | points, reference | horizon, ours, deg | "
            "horizon, reference |\n|---|---|---|---|---|---|---|---|---|\n" + "\n".join(wrong_rows),
        ]
    path.write_text("\n\n".join(lines) + "\n")


def main() -> None:
    """Run all trials and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*")
    parser.add_argument("--out", type=Path, metavar="FILE", default=PAGE)
    given = parser.parse_args()
    root = Path(os.environ["VGPA_DATA"]) / "scenes"
    names = given.scenes or sorted(path.parent.name for path in root.glob("*/database.db"))
    trials: list[Trial] = []
    for name in names:
        try:
            for trial in run_scene(root / name):
                print(trial, flush=True)
                trials.append(trial)
        except NoModelError as error:
            print(f"{name}: {error}")
    write_page(trials, given.out)


if __name__ == "__main__":
    main()
