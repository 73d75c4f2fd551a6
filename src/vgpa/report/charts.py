"""The flat plots as data: the view graph as a matrix, and the histograms. `charts.js` draws them."""

from __future__ import annotations

from typing import Any

import numpy as np

from vgpa.geometry.rotation import FloatArray
from vgpa.report.encode import binary
from vgpa.scene import ImageState, Reconstruction

MAX_NUM_CELLS = 320
"""Rows of the view graph's matrix at most; images beyond share a row with their neighbours."""
RESIDUAL_EDGES_DEG = np.geomspace(0.01, 180, 44)


def describe_adjacency(edges: list[dict[str, Any]], num_images: int) -> dict[str, Any]:
    """The view graph as the filled cells of a matrix with i <= j, of at most MAX_NUM_CELLS rows."""
    block = max(1, -(-num_images // MAX_NUM_CELLS))
    size = -(-num_images // block)
    first, second, inliers, kept, rotation, direction = _columns(
        edges, "i", "j", "num_inliers", "is_kept", "rotation_deg", "direction_deg"
    )
    i, j = np.sort([first // block, second // block], axis=0)
    cells, cell_idx, num_edges = np.unique(i * size + j, return_inverse=True, return_counts=True)

    def mean(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(cell_idx, values, len(cells)) / num_edges)

    return {
        "block": block,
        "size": size,
        "i": binary(cells // max(size, 1), "u2"),
        "j": binary(cells % max(size, 1), "u2"),
        "num_pairs": binary(num_edges, "u4"),
        "inliers": binary(mean(inliers), "f4"),
        "kept": binary(mean(kept), "f4"),
        "rotation_deg": binary(mean(rotation), "f4"),
        "direction_deg": binary(mean(direction), "f4"),
    }


def describe_histograms(summary: dict[str, Any], reconstruction: Reconstruction) -> list[dict[str, Any]]:
    """The histograms of the page; the residuals of edges after averaging by fate, with those before it beside."""
    length = reconstruction.tracks.lengths.astype(np.float64)
    num_points = np.array(
        [row["num_points"] for row in summary["images"] if row["state"] == ImageState.REGISTERED], dtype=float
    )
    (kept,) = _columns(summary["view_graph"]["edges"], "is_kept")
    is_kept = kept > 0

    def residuals(title: str, key: str) -> dict[str, Any]:
        after, before = _columns(summary["view_graph"]["edges"], key, f"start_{key}")
        by_fate = {"kept": after[is_kept], "dropped": after[~is_kept]}
        shown = histogram(title, "°", by_fate, RESIDUAL_EDGES_DEG)
        known = before[np.isfinite(before)]
        if len(known) == 0:
            return shown | {"before": None}
        counts = histogram(title, "°", {"before": known}, RESIDUAL_EDGES_DEG)
        return shown | {"before": {"counts": counts["counts"]["before"], "median": counts["median"]}}

    return [
        histogram("Reprojection error of points", "px", {"points": reconstruction.error_px}, None),
        histogram("Track length", "images", {"points": length}, _whole_edges(length)),
        histogram("Points per image", "points", {"images": num_points}, None),
        residuals("Rotation residual of edges", "rotation_deg"),
        residuals("Direction residual of edges", "direction_deg"),
    ]


def histogram(title: str, unit: str, groups: dict[str, FloatArray], edges: FloatArray | None) -> dict[str, Any]:
    """Counts of each group of values over shared bins; values beyond the ends count in the end bins."""
    groups = {name: values[np.isfinite(values)] for name, values in groups.items()}
    values = np.concatenate(list(groups.values()))
    if edges is None:
        edges = np.linspace(0, (np.percentile(values, 99.5) if len(values) else 0) or 1, 37)
    return {
        "title": title,
        "unit": unit,
        "edges": np.round(edges, 5).tolist(),
        "is_log": unit == "°",
        "median": float(np.median(values)) if len(values) else None,
        "has_more": bool(len(values) and values.max() > edges[-1]),
        "counts": {
            name: np.histogram(np.clip(group, edges[0], edges[-1]), edges)[0].tolist() for name, group in groups.items()
        },
    }


def _columns(edges: list[dict[str, Any]], *keys: str) -> tuple[FloatArray, ...]:
    """The values of the edges under each key, (num_edges,) of floats; NaN where there is none."""
    return tuple(np.array([edge.get(key) for edge in edges], dtype=np.float64) for key in keys)


def _whole_edges(values: FloatArray) -> FloatArray:
    """Bin edges of whole-number width around whole numbers, at most about 30 bins up to the 99th percentile."""
    lower, upper = (values.min(), np.percentile(values, 99)) if len(values) else (2.0, 3.0)
    width = max(1, round((upper - lower) / 30))
    return np.arange(lower, upper + width + 1, width) - 0.5
