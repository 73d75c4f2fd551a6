"""What the verbs print: the running stage, the result of a run, a table of scores."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from vgpa.stages import StageLog

if TYPE_CHECKING:
    from vgpa.evaluate import Scores
    from vgpa.pipeline import Result

HEADLINE = (
    "num_images",
    "num_registered",
    "num_points",
    "mean_track_length",
    "median_error_px",
    "seconds",
    "stages",
)
PARTIAL_INPUT = 5
"""Exit code of a run that made a model although some photos could not be read."""


@contextmanager
def watched(is_silent: bool) -> Iterator[StageLog]:
    """A stage log whose running stage is shown on the terminal; warnings are printed at the end."""
    if is_silent:
        log = StageLog()
        yield log
    else:
        with Console().status("starting") as status:
            log = StageLog(on_start=lambda name: status.update(f"{name} ..."))
            yield log
    for sentence in log.warnings:
        print(f"vgpa: {sentence}", file=sys.stderr)


def finish(result: Result, is_json: bool, is_quiet: bool, scores: Scores | None = None) -> int:
    """Print the outcome of a run and give its exit code."""
    if is_json:
        headline = {key: result.summary[key] for key in HEADLINE}
        extra = {} if scores is None else {"scores": asdict(scores)}
        print(json.dumps(headline | {"folder": str(result.folder)} | extra))
    elif not is_quiet:
        print_result(result, scores)
    unreadable = any(state.value == "unreadable" for state in result.states.values())
    return PARTIAL_INPUT if unreadable else 0


def print_result(result: Result, scores: Scores | None) -> None:
    """A short table: images, points, accuracy where it is known, seconds per stage."""
    summary = result.summary
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_row("images registered", f"{summary['num_registered']} / {summary['num_images']}")
    table.add_row("points", f"{summary['num_points']:,}")
    table.add_row("mean track length", f"{summary['mean_track_length']:.1f}")
    table.add_row("median error", f"{summary['median_error_px']:.2f} px")
    for name, value in _score_rows(scores):
        table.add_row(name, value)
    for record in summary["stages"]:
        table.add_row(record["name"], f"{record['seconds']:.1f} s")
    table.add_row("total", f"{summary['seconds']:.1f} s")
    console = Console()
    console.print(table)
    missing = [image for image in summary["images"] if image["state"] != "registered"]
    for image in missing[:10]:
        console.print(f"missing: {image['name']} ({image['state']})", markup=False)
    if len(missing) > 10:
        console.print(f"missing: {len(missing) - 10} more, see report.json")
    for model in summary["models"]:
        images = f"{model['num_registered']} images" if len(summary["models"]) > 1 else ""
        console.print(f"model    {result.folder / model['folder']}  {images}".rstrip(), markup=False)
    console.print(f"report   {result.folder / 'report.html'}", markup=False)


def print_scores(scores: Scores) -> None:
    """All figures of a model against a reference."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_row("images registered", f"{scores.num_registered} / {scores.num_images}")
    for name, value in _score_rows(scores):
        table.add_row(name, value)
    table.add_row("RA-AUC @ 1 / 5 / 30 deg", _three(scores.ra_auc))
    Console().print(table)


def _score_rows(scores: Scores | None) -> Iterator[tuple[str, str]]:
    if scores is None:
        return
    yield (
        "rotation error",
        f"{scores.rotation_mean_deg:.4f} deg mean, {scores.rotation_median_deg:.4f} median",
    )
    share = 100 * scores.position_mean_relative
    yield (
        "position error",
        f"{scores.position_mean:.5g} mean, {scores.position_median:.5g} median ({share:.3f}% of size)",
    )
    yield "AUC @ 1 / 5 / 30 deg", _three(scores.auc)


def _three(area: dict[int, float]) -> str:
    return " / ".join(f"{value:.4f}" for value in area.values())
