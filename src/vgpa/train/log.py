"""The log of a training run: one JSON object a line, one line for every validation.

Touches the disk.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class LogLine:
    """One line of the log; `loss` is the mean over the steps since the line before."""

    step: int
    seconds: float
    learning_rate: float
    loss: float
    val_loss: float
    val_rotation_auc_30: float
    val_pose_auc_30: float


def write_log(path: Path, lines: list[LogLine]) -> None:
    """Write a whole log, replacing the one that is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(_to_json(line) for line in lines))


def append_line(path: Path, line: LogLine) -> None:
    """Add one line at the end."""
    with path.open("a") as file:
        file.write(_to_json(line))


def read_log(path: Path) -> list[LogLine]:
    """All lines of a log, none where there is no file."""
    if not path.is_file():
        return []
    return [_from_json(text) for text in path.read_text().splitlines()]


def _to_json(line: LogLine) -> str:
    # JSON has no NaN; a score that is not known is null.
    row = {key: None if math.isnan(value) else value for key, value in asdict(line).items()}
    return json.dumps(row) + "\n"


def _from_json(text: str) -> LogLine:
    row: dict[str, Any] = {key: math.nan if value is None else value for key, value in json.loads(text).items()}
    return LogLine(**row)
