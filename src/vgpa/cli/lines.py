"""Lines of JSON on standard error: what happens in a run, one object a line, for programs that follow it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from vgpa.colmap.counts import LogCounts
from vgpa.stages import Event, StageProgress, StageRecord, StageStart, StageWarning


def print_event(event: str, **facts: object) -> None:
    """One line of JSON."""
    print(json.dumps({"event": event} | facts), file=sys.stderr, flush=True)


def describe_event(event: Event) -> dict[str, Any]:
    """What `print_event` prints about an event."""
    match event:
        case StageStart(name):
            return {"event": "start", "stage": name}
        case StageProgress(name, num_done, num_total):
            return {"event": "progress", "stage": name, "num_done": num_done, "num_total": num_total}
        case StageRecord(name, seconds, peak_memory_mb):
            return {"event": "end", "stage": name, "seconds": seconds, "peak_memory_mb": peak_memory_mb}
        case StageWarning(sentence):
            return {"event": "warning", "sentence": sentence}


class ProgressLines:
    """Lines about the progress of stages that pycolmap computes. The run itself prints all others."""

    def __init__(self, log_path: Path) -> None:
        """`log_path` is where pycolmap's lines go."""
        self._counts = LogCounts(log_path)
        self._running: str | None = None

    def show(self, event: dict[str, Any]) -> None:
        """Take in an event of the run: its fields, and `kind`, the name of its type."""
        if event["kind"] == "StageStart":
            self._running = event["name"]
            self._counts.skip()
        elif event["kind"] == "StageRecord":
            self._running = None

    def refresh(self) -> None:
        """Print a line if there is anything new."""
        count = self._counts.read() if self._running is not None else None
        if count is not None and self._running is not None:
            print_event(**describe_event(StageProgress(self._running, *count)))

    def close(self) -> None:
        """There is nothing to clear away."""
