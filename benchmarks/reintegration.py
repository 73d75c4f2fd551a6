"""What re-integration of lost images is worth: how many come back, where, and what it costs.

    VGPA_DATA=... python benchmarks/reintegration.py [SCENE ...] [--out FILE]

Three ways of losing images, for every scene of $VGPA_DATA/scenes, and for the collections of `simulated.py`, which are
named by scene, images and seed (0024-120-1), made in runs/simulated where they are not there, and have a known answer:

- "lost": what a run without re-integration leaves out, if anything, and the run with it brings back;
- "parts": the same in sixteen random parts of the scene (those of `subsets.py`), which hang together less well;
- "taken out": a third of the images, at random, taken out of the finished model (`vgpa register`).

Beside how many there were and how many came back: seconds per image that did, the mean rotation error of all registered
cameras before and after, and the images that came back more than five degrees from their place, each with the points
that it sees in our model and in the reference. Errors are against the reference after alignment of the cameras that
were there before. A scene whose reference is weak is judged twice: against this reference, and against what COLMAP's
models with three seeds agree on (`consensus.py`; made in runs/consensus where it is not there, in about five minutes).
Written to docs/reintegration.md, or to FILE.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

# As the command does it: the last digits of sums depend on threads, and which way a bent model goes depends on these.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import simulated
from mapping_tables import WEAK_REFERENCES
from reintegration_trials import BY_CONSENSUS, NUM_PARTS, Trial, Wrong, run_scene

from vgpa.errors import NoModelError

PAGE = Path(__file__).parents[1] / "docs" / "reintegration.md"


def _merged(trials: list[Trial]) -> Trial:
    """Several trials of one scene and way as one: sums, and the mean of their mean errors."""
    return replace(
        trials[0],
        num_lost=sum(t.num_lost for t in trials),
        num_back=sum(t.num_back for t in trials),
        num_judged=sum(t.num_judged for t in trials),
        seconds=sum(t.seconds for t in trials),
        error_before_deg=float(np.mean([t.error_before_deg for t in trials])),
        error_same_deg=float(np.mean([t.error_same_deg for t in trials])),
        error_after_deg=float(np.mean([t.error_after_deg for t in trials])),
        wrong=tuple(w for t in trials for w in t.wrong),
    )


def _row(trial: Trial) -> str:
    return (
        f"| {trial.scene} | {trial.way} | {trial.num_lost} | {trial.num_back} | "
        f"{trial.seconds / max(trial.num_back, 1):.2f} | {trial.error_before_deg:.3f} | {trial.error_same_deg:.3f} | "
        f"{trial.error_after_deg:.3f} | {trial.num_judged} | {len(trial.wrong)} |"
    )


def _groups(trials: list[Trial]) -> dict[str, list[Trial]]:
    """The trials by what they are judged against and how images were lost."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(f"{_kind(trial.scene)}, {trial.way}", []).append(trial)
    return groups


def _kind(scene: str) -> str:
    """What a scene is judged against; a weak reference and what stands in for it are told apart from all others."""
    if scene in WEAK_REFERENCES:
        return f"{scene} against its own, weak reference"
    if scene.endswith(BY_CONSENSUS):
        return scene
    return "simulated collections" if simulated.is_name(scene) else "other real scenes"


def _sentence(trials: list[Trial], which: str) -> str:
    """How many came back, and how many of them to a wrong place, in these trials."""
    lost, back, judged = (sum(getattr(t, name) for t in trials) for name in ("num_lost", "num_back", "num_judged"))
    wrong = sum(len(t.wrong) for t in trials)
    return (
        f"{which}: {back} of {lost} images came back; of {judged} that the reference has, "
        f"{wrong} ({wrong / max(judged, 1):.1%}) to a wrong place."
    )


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
    """One row per scene and way, and sums."""
    keys = list(dict.fromkeys((t.scene, t.way) for t in trials))
    rows = [_row(_merged([t for t in trials if (t.scene, t.way) == key])) for key in keys]
    wrong_rows = list(_wrong_rows(trials))
    lines = [
        "# Re-integration of lost images",
        f"`VGPA_DATA=... python benchmarks/reintegration.py`, {os.cpu_count()} cores, OPENBLAS_NUM_THREADS="
        f"{os.environ['OPENBLAS_NUM_THREADS']}. *Lost*: what a run without "
        "re-integration leaves out; the seconds are those of its stage in the run with it. *Parts*: the same in "
        f"{NUM_PARTS} random parts of the scene, 40 to 85% of its images, where errors are means over the parts that "
        "lost any; a part whose largest model shares no image with the one before is left out. *Taken out*: a third of "
        "the images, at random, taken out of a finished model and given to `vgpa register`, whose seconds leave out "
        "reading and writing. Rotation errors are means over all registered cameras that the reference has: of the "
        "model without re-integration, of the same cameras in the model with it, and of all its cameras. Wrong: over "
        "five degrees off. Scenes with a number for a name are [simulated collections](simulated.md), whose answer is "
        "known. *By consensus*: the reference of the scene is weak, and these rows are judged against what COLMAP's "
        "models with three seeds agree on (`benchmarks/consensus.py`), which says nothing of images "
        "that COLMAP cannot place. Loosely tied models take another way with every last "
        "digit, and so with the number of threads: another number gives other rows, and other images that are wrong.",
        "| scene | way | images missing | back | seconds each | rotation error without, deg | same cameras, with | "
        "all, with | judged | wrong |\n|---|---|---|---|---|---|---|---|---|---|\n" + "\n".join(rows),
        "In sum:",
        "\n".join(f"- {_sentence(some, which)}" for which, some in _groups(trials).items()),
    ]
    if wrong_rows:
        lines += [
            "The wrong ones, and in how many trials. An image that sees no point in a reference that has points has no "
            "place there either, whatever pose is written in its file; where it sees far fewer than in our models, and "
            "these agree with each other, the reference is in doubt. Where a photo shows the horizon, the last columns "
            "have its angle to the horizon of the other photos, in our model and in the reference: what does not know "
            "up from down is wrong (`benchmarks/horizons.py`; up to two degrees are due to how it is read off). In "
            "simulated collections a part of the scene looks like another part, and matches between the two agree with "
            "each other: an image that hangs on the rest by these, alone or mostly, is wrong in every trial, and "
            "nothing but looks could tell.",
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
    names = given.scenes or [*sorted(path.parent.name for path in root.glob("*/database.db")), *simulated.names()]
    trials: list[Trial] = []
    for name in names:
        try:
            folder = simulated.make_collection(name) if simulated.is_name(name) else root / name
            for trial in run_scene(folder):
                print(trial, flush=True)
                trials.append(trial)
        except NoModelError as error:
            print(f"{name}: {error}")
    write_page(trials, given.out)


if __name__ == "__main__":
    main()
