"""Scores as a person reads them (rows of a table) and as a spreadsheet does (one flat row)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from vgpa.evaluate.points import PointStatistics
from vgpa.evaluate.scores import Scores


def table_rows(scores: Scores, points: PointStatistics) -> Iterator[tuple[str, str]]:
    """Label and value of each line."""
    yield "images registered", f"{scores.num_registered} / {scores.num_images}"
    yield "rotation error", f"{scores.rotation_mean_deg:.4f} deg mean, {scores.rotation_median_deg:.4f} median"
    yield "position error", f"{scores.position_mean:.5g} mean, {scores.position_median:.5g} median"
    mean, median = 100 * scores.position_mean_relative, 100 * scores.position_median_relative
    yield "  of the scene's size", f"{mean:.4f} % mean, {median:.4f} % median"
    for label, area in (
        ("AUC", scores.auc),
        ("RA-AUC", scores.ra_auc),
        ("AUC of rotations", scores.rotation_auc),
        ("AUC of directions", scores.direction_auc),
    ):
        thresholds = " / ".join(str(threshold) for threshold in area)
        yield f"{label} @ {thresholds} deg", " / ".join(f"{value:.4f}" for value in area.values())
    if points.num_points == 0:
        return
    yield "points", f"{points.num_points:,}, each seen {points.mean_track_length:.1f} times"
    yield "reprojection error", f"{points.mean_error_px:.3f} px mean, {points.median_error_px:.3f} median"
    if points.outlier_fraction is not None:
        yield "wrong observations", f"{100 * points.outlier_fraction:.2f} % under the reference's poses"


def to_csv(scores: Scores, points: PointStatistics) -> str:
    """A line of names and a line of values; areas are spread over columns such as auc_5."""
    row = _flat(asdict(scores) | asdict(points))
    text = io.StringIO()
    writer = csv.DictWriter(text, row, lineterminator="\n")
    writer.writeheader()
    writer.writerow(row)
    return text.getvalue()


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        flat |= {f"{name}_{key}": item for key, item in value.items()} if isinstance(value, dict) else {name: value}
    return flat
