"""The progress bar of a training run: how far, how long still, the loss, and the last validation.

Shown on a terminal where `rich` is installed; elsewhere nothing is printed, the log has it all.

Touches the terminal (standard error).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch import Tensor

from vgpa.train.log import LogLine

if TYPE_CHECKING:
    from rich.progress import Progress

_SECONDS_BETWEEN_LOSSES = 0.5


class TrainingBar:
    """Shows nothing if it is made without a display."""

    def __init__(self, display: Progress | None) -> None:
        self._display = display
        self._last_s = 0.0
        if display:
            self._task = display.add_task("training", total=1.0, step=0, loss="", validation="")

    def stepped(self, step: int, part_done: float, loss: Tensor) -> None:
        """Tell about a step. The loss is read only now and then: on a GPU reading it means waiting for it."""
        if self._display is None or time.monotonic() - self._last_s < _SECONDS_BETWEEN_LOSSES:
            return
        self._last_s = time.monotonic()
        self._display.update(self._task, completed=part_done, step=step, loss=f"{float(loss):.3f}")

    def validated(self, part_done: float, line: LogLine) -> None:
        """Tell about a validation."""
        if self._display is not None:
            score = f"AUC@30 {line.val_pose_auc_30:.3f}"
            self._display.update(self._task, completed=part_done, step=line.step, validation=score)


@contextmanager
def training_bar(is_wanted: bool) -> Iterator[TrainingBar]:
    """A bar for the time of a training run."""
    display = _make_display() if is_wanted else None
    if display is None:
        yield TrainingBar(None)
    else:
        with display:
            yield TrainingBar(display)


def _make_display() -> Progress | None:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
    except ModuleNotFoundError:
        return None
    console = Console(stderr=True)
    if not console.is_terminal:
        return None
    texts = "step {task.fields[step]}", "loss {task.fields[loss]}", "{task.fields[validation]}"
    columns = (TextColumn(text) for text in texts)
    return Progress(BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), *columns, console=console)
