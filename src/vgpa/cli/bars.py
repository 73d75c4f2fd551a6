"""Bars on a terminal: one for each stage of a run, with what is done, the time it took and the time it still takes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from vgpa.colmap.counts import LogCounts


class Bars:
    """The bars of one run: from its first stage on, without a trace when they are closed."""

    def __init__(self, log_path: Path) -> None:
        """In stages that pycolmap computes, `log_path`, where its lines go, tells how far they are."""
        self._counts = LogCounts(log_path)
        self._task_of: dict[str, TaskID] = {}
        self._running: str | None = None
        # A name twice is one bar: every connected part of the photos goes through the same stages.
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            _CountColumn(),
            _TimeColumn(),
            console=Console(stderr=True),
            transient=True,
            auto_refresh=False,
        )

    def show(self, event: dict[str, Any]) -> None:
        """Take in an event of the run: its fields, and `kind`, the name of its type."""
        kind = event["kind"]
        if kind == "StageStart":
            self._start(event["name"])
        elif kind == "StageProgress":
            self._advance(event["num_done"], event["num_total"])
        elif kind == "StageRecord":
            self._end(event["name"], event["seconds"])

    def refresh(self) -> None:
        """Draw the bars as they are now."""
        count = self._counts.read() if self._running is not None else None
        if count is not None:
            self._advance(*count)
        if self._task_of:
            self._progress.refresh()

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._progress.stop()

    def _start(self, name: str) -> None:
        if not self._task_of:
            self._progress.start()
        if name in self._task_of:
            self._progress.reset(self._task_of[name], total=None)
        else:
            self._task_of[name] = self._progress.add_task(name, total=None, spent_s=0.0)
        self._running = name
        self._counts.skip()

    def _end(self, name: str, seconds: float) -> None:
        task = self._progress.tasks[self._task_of[name]]
        self._progress.update(task.id, completed=1, total=1, spent_s=task.fields["spent_s"] + seconds)
        self._running = None

    def _advance(self, num_done: int, num_total: int) -> None:
        if self._running is not None:
            self._progress.update(self._task_of[self._running], completed=num_done, total=num_total)


class _CountColumn(ProgressColumn):
    """Done and total, where both are known and worth counting."""

    def render(self, task: Task) -> Text:
        """Empty for stages that cannot tell."""
        if task.total is None or task.total <= 1:
            return Text("")
        return Text(f"{task.completed:.0f} of {task.total:.0f}")


class _TimeColumn(ProgressColumn):
    """Seconds that the stage has taken in all; while it runs, also how long it still takes, if that can be told."""

    def render(self, task: Task) -> Text:
        """The time that is left is measured by the speed so far."""
        spent_s = task.fields["spent_s"]
        if task.finished:
            return Text(f"{spent_s:.1f} s")
        left = "" if task.time_remaining is None else f", {timedelta(seconds=round(task.time_remaining))} left"
        return Text(f"{spent_s + (task.elapsed or 0.0):.0f} s{left}")
