"""What the verbs print: bars while a run works, its result, a table of scores; and what they write to its log.

On a terminal: bars, then a table. Quiet: warnings only. JSON: the result as one object on standard output, and on
standard error one object for every event. `OUT/log.txt` has every stage with its time, between the lines of pycolmap.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vgpa.cli.lines import describe_event, print_event
from vgpa.cli.screen import Look, opened_screen
from vgpa.errors import VgpaError
from vgpa.stages import Event, StageLog, StageProgress, StageRecord, StageStart, StageWarning

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


MAX_NUM_MISSING = 10
"""Missing images that are named in the table."""


@contextmanager
def watched(output: Path, is_json: bool, is_quiet: bool) -> Iterator[StageLog]:
    """A stage log for the time of a run, which is shown as the flags ask for and kept in `output/log.txt`.

    Loading the libraries takes seconds, so it belongs into the block too.
    """
    look: Look = "lines" if is_json else "bars" if sys.stderr.isatty() and not is_quiet else "nothing"
    log_path = output / "log.txt"
    with opened_screen(log_path, look) as tell, _noted(log_path):

        def listen(event: Event) -> None:
            tell(event)
            _note(log_path, _line(event))
            if is_json:
                print_event(**describe_event(event))

        log = StageLog(listen)
        yield log
    if is_quiet and not is_json:
        for sentence in log.warnings:
            print(f"vgpa: {sentence}", file=sys.stderr)


def finish(result: Result, is_json: bool, is_quiet: bool, scores: Scores | None = None) -> int:
    """Print the outcome of a run and give its exit code."""
    if is_json:
        headline = {key: result.summary[key] for key in HEADLINE}
        extra = {} if scores is None else {"scores": asdict(scores)}
        print(json.dumps(headline | {"folder": str(result.folder)} | extra))
    elif not is_quiet:
        print_rows(_result_rows(result, scores))
    unreadable = any(state.value == "unreadable" for state in result.states.values())
    return PARTIAL_INPUT if unreadable else 0


def print_scores(scores: Scores) -> None:
    """All figures of a model against a reference."""
    print_rows(
        [
            ("images registered", f"{scores.num_registered} / {scores.num_images}"),
            *_score_rows(scores),
            ("RA-AUC @ 1 / 5 / 30 deg", _three(scores.ra_auc)),
        ]
    )


def print_rows(rows: Iterable[tuple[str, str]]) -> None:
    """A table of two columns: what, and how much."""
    rows = list(rows)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}".rstrip())


def _result_rows(result: Result, scores: Scores | None) -> Iterator[tuple[str, str]]:
    """Images, points, accuracy where it is known, seconds per stage, what is missing, and where things are."""
    summary = result.summary
    yield "images registered", f"{summary['num_registered']} / {summary['num_images']}"
    yield "points", f"{summary['num_points']:,}"
    yield "mean track length", f"{summary['mean_track_length']:.1f}"
    yield "median error", f"{summary['median_error_px']:.2f} px"
    yield from _score_rows(scores)
    seconds: dict[str, float] = {}
    for record in summary["stages"]:
        seconds[record["name"]] = seconds.get(record["name"], 0.0) + record["seconds"]
    for name, value in seconds.items():
        yield name, f"{value:.1f} s"
    yield "total", f"{summary['seconds']:.1f} s"
    missing = [image for image in summary["images"] if image["state"] != "registered"]
    for image in missing[:MAX_NUM_MISSING]:
        # Whoever named a file must not get to write control characters to the terminal.
        name = image["name"] if image["name"].isprintable() else repr(image["name"])
        yield "missing", f"{name} ({image['state']})"
    if len(missing) > MAX_NUM_MISSING:
        yield "missing", f"{len(missing) - MAX_NUM_MISSING} more, see the report"
    for sentence in summary["warnings"]:
        yield "warning", sentence
    for model in summary["models"]:
        images = f"{model['num_registered']} images" if len(summary["models"]) > 1 else ""
        yield "model", f"{result.folder / model['folder']}  {images}"
    yield "report", str(result.folder / "report.html")


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


@contextmanager
def _noted(log_path: Path) -> Iterator[None]:
    """Write to the log how a run ended, if it did not end well."""
    try:
        yield
    except VgpaError as error:
        _note(log_path, f"error: {error}")
        raise
    except KeyboardInterrupt:
        _note(log_path, "stopped")
        raise
    except Exception:
        _note(log_path, traceback.format_exc())
        raise


def _note(log_path: Path, line: str | None) -> None:
    """Add a line to the log. A log that cannot be written is no reason to end a run, nor to make a folder."""
    if line is None or not log_path.parent.is_dir():
        return
    with suppress(OSError), log_path.open("a", encoding="utf-8") as file:
        file.write(f"{datetime.now().isoformat(' ', 'seconds')} vgpa: {line}\n")


def _line(event: Event) -> str | None:
    """An event as a line of the log; progress is not kept."""
    match event:
        case StageStart(name):
            return f"{name} ..."
        case StageRecord(name, seconds, peak_memory_mb):
            return f"{name}: {seconds:.2f} s, peak memory {peak_memory_mb:.0f} MB"
        case StageWarning(sentence):
            return f"warning: {sentence}"
        case StageProgress():
            return None
