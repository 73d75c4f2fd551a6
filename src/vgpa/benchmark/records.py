"""What is known of each run, one small JSON file each: what is written there is not run again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import quote

from vgpa.evaluate import Scores


@dataclass(frozen=True)
class Result:
    """What came of one run of a method.

    Attributes:
        figures: metrics by name; without a model, only what it cost.
        error: why there is no model, or None.
        is_final: False where the run did not end by itself (a crash, a missing package), and is worth another try.
    """

    figures: dict[str, float] = field(default_factory=dict)
    error: str | None = None
    is_final: bool = True


@dataclass(frozen=True)
class Record:
    """One run: who, on what, and what came of it.

    Attributes:
        scene, method, setup, seed: which run it is.
        source: dataset and folder that the scene came from.
        num_images: images of the scene that the reference knows.
        outlier_percent: wrong observations among the tracks that every method was offered; None where not known.
        result: what came of it.
    """

    scene: str
    method: str
    setup: str
    seed: int
    source: str
    num_images: int
    outlier_percent: float | None
    result: Result

    def path(self, folder: Path) -> Path:
        """Its file."""
        return record_path(folder, (self.scene, self.method, self.setup, self.seed))


RunKey = tuple[str, str, str, int]
"""Scene, method, setup and seed."""


def record_path(folder: Path, key: RunKey) -> Path:
    """The file of a run."""
    scene, method, setup, seed = key
    parts = [quote(part, safe=" ") for part in (scene, f"{method}-{setup}-seed{seed}.json")]
    return folder / "runs" / parts[0] / parts[1]


def write_record(record: Record, folder: Path) -> None:
    """Write a record, in one step."""
    path = record.path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(asdict(record), indent=1))
    unfinished.replace(path)


def read_record(folder: Path, key: RunKey) -> Record | None:
    """The record of a run, or None where there is none that can be read."""
    try:
        row = json.loads(record_path(folder, key).read_text())
        return Record(**(row | {"result": Result(**row["result"])}))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def score_figures(scores: Scores) -> dict[str, float]:
    """A model's scores under the names that the tables use."""
    return {
        "registered": float(scores.num_registered),
        "rotation_deg": scores.rotation_mean_deg,
        "translation": scores.position_mean,
        **{f"auc{threshold}": area for threshold, area in scores.auc.items()},
        **{f"ra_auc{threshold}": area for threshold, area in scores.ra_auc.items()},
    }
