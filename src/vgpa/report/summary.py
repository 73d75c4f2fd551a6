"""The facts of a run as plain data: what `report.json` holds and what the page is drawn from."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vgpa.averaging.positions import direction_residuals_deg
from vgpa.colmap.cameras import mean_focal_px
from vgpa.config import Config
from vgpa.scene import ImageSet, ImageState, Reconstruction, Tracks
from vgpa.solution import Solution
from vgpa.stages import StageLog

LIBRARIES = ("vgpa", "pycolmap", "torch", "numpy", "scipy")
PACKAGE_FOLDER = ".dist-info"
"""How the name of a folder ends that pip keeps about a package: its name, a dash, its version, and this."""


def summarize(solution: Solution, states: dict[str, ImageState], config: Config, log: StageLog) -> dict[str, Any]:
    """Everything report.json holds; `states` says what became of every image, by name, unreadable ones included."""
    reconstruction, images = solution.model, solution.problem.images
    tracks = reconstruction.tracks
    return {
        "num_images": len(states),
        "num_registered": reconstruction.num_registered,
        "num_points": reconstruction.num_points,
        "num_observations": tracks.num_observations,
        "mean_track_length": _mean(tracks.lengths),
        "mean_error_px": _mean(reconstruction.error_px),
        "median_error_px": float(np.median(reconstruction.error_px)) if reconstruction.num_points else 0.0,
        "seconds": log.seconds,
        "stages": [asdict(record) for record in log.records],
        "warnings": list(log.warnings),
        "images": _describe_images(reconstruction, states),
        "cameras": _describe_cameras(reconstruction, images),
        "tracks": _describe_tracks(solution.tracks),
        "view_graph": _describe_graph(solution, states),
        "config": asdict(config),
        "versions": _versions(LIBRARIES) | {"python": platform.python_version()},
    }


def write_json(data: dict[str, Any], path: Path) -> None:
    """Write a JSON file so that a reader never sees half of it."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(_readable(data) + "\n", encoding="utf-8")
    partial.replace(path)


def _readable(value: Any, margin: str = "\n") -> str:
    """JSON with a line for every entry of an object and for every row of a table.

    json's own indentation gives every single number a line, and takes ten times as long.
    """
    inner = margin + " "
    if isinstance(value, dict) and value:
        entries = (f"{json.dumps(key)}: {_readable(entry, inner)}" for key, entry in value.items())
        return f"{{{inner}{f',{inner}'.join(entries)}{margin}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return f"[{inner}{f',{inner}'.join(map(json.dumps, value))}{margin}]"
    return json.dumps(value)


def _describe_images(reconstruction: Reconstruction, states: dict[str, ImageState]) -> list[dict[str, Any]]:
    tracks, num = reconstruction.tracks, len(reconstruction.images)
    num_points = np.bincount(tracks.image_idx, minlength=num)
    error_sum = np.bincount(tracks.image_idx, reconstruction.error_px[tracks.track_idx], num)
    index = {name: k for k, name in enumerate(reconstruction.images.names)}
    rows = []
    for name, state in sorted(states.items()):
        k = index.get(name)
        count = int(num_points[k]) if k is not None else 0
        error = float(error_sum[k]) / count if k is not None and count else None
        rows.append({"name": name, "state": state.value, "num_points": count, "mean_error_px": error})
    return rows


def _describe_cameras(reconstruction: Reconstruction, start_images: ImageSet) -> list[dict[str, Any]]:
    num_images = np.bincount(start_images.camera_idx, minlength=len(start_images.cameras))
    return [
        {
            "model": after.model,
            "width_px": after.width_px,
            "height_px": after.height_px,
            "num_images": int(num),
            "focal_source": before.focal_source.value,
            "focal_start_px": mean_focal_px(before),
            "focal_px": mean_focal_px(after),
            "params": after.params.tolist(),
        }
        for before, after, num in zip(start_images.cameras, reconstruction.images.cameras, num_images, strict=True)
    ]


def _describe_tracks(tracks: Tracks) -> dict[str, Any]:
    """How many tracks the matches gave, and how many images each is seen in."""
    return {
        "num_tracks": len(tracks),
        "num_observations": tracks.num_observations,
        "mean_length": _mean(tracks.lengths),
        "num_of_length": np.bincount(tracks.lengths).tolist() if len(tracks) else [],
    }


def _describe_graph(solution: Solution, states: dict[str, ImageState]) -> dict[str, Any]:
    """Components and edges of the view graph; i and j are rows of the report's list of images."""
    row_of = {name: row for row, name in enumerate(sorted(states))}
    row = np.array([row_of[name] for name in solution.problem.images.names], dtype=np.int64)
    graph, averaged = solution.solved_graph, solution.averaged
    start_rotation, start_direction = _start_residuals_deg(solution)
    sizes = np.bincount(solution.reliable_graph.component_labels())
    return {
        "num_edges": graph.num_edges,
        "num_edges_kept": int(averaged.is_edge_kept.sum()),
        "component_sizes": sizes[sizes > 1].tolist(),
        "num_isolated_images": int((sizes == 1).sum()),
        "start": averaged.start,
        "edges": [
            {
                "i": i,
                "j": j,
                "num_inliers": n,
                "is_kept": kept,
                "rotation_deg": r,
                "direction_deg": d,
                "start_rotation_deg": start_r,
                "start_direction_deg": start_d,
            }
            for i, j, n, kept, r, d, start_r, start_d in zip(
                *row[graph.edge_index].tolist(),
                _num_verified(solution).tolist(),
                averaged.is_edge_kept.tolist(),
                averaged.rotation_residual_deg.round(3).tolist(),
                averaged.direction_residual_deg.round(3).tolist(),
                start_rotation,
                start_direction,
                strict=True,
            )
        ],
    }


def _num_verified(solution: Solution) -> NDArray[np.int64]:
    """(num_edges,) verified matches of the solved graph's edges, some of which counted for less in it."""
    everything, graph = solution.problem.view_graph, solution.solved_graph
    key, wanted = (g.edge_index[0] * g.num_images + g.edge_index[1] for g in (everything, graph))
    order = np.argsort(key)
    return everything.num_inliers[order[np.searchsorted(key[order], wanted)]]


def _start_residuals_deg(solution: Solution) -> tuple[list[float | None], list[float | None]]:
    """Rotation and direction residual of every edge before averaging, with the network's poses; None if unknown."""
    graph, part = solution.solved_graph, solution.parts[0]
    predicted = part.predicted
    if predicted is None:
        return [None] * graph.num_edges, [None] * graph.num_edges
    cam_from_world = predicted.scatter(part.image_idx, graph.num_images).cam_from_world
    rotation, centre = cam_from_world.rotation, cam_from_world.centre
    direction_deg = direction_residuals_deg(graph, rotation, centre)
    return graph.rotation_residuals_deg(rotation).round(3).tolist(), direction_deg.round(3).tolist()


def _versions(packages: Sequence[str]) -> dict[str, str]:
    """The versions of installed packages, by the names of the folders that pip keeps about them.

    importlib.metadata would read the folders too, and takes longer to load than a report takes to write.
    """
    places = [place for place in map(Path, reversed(sys.path)) if place.is_dir()]
    folders = [path.name for place in places for path in place.iterdir() if path.name.endswith(PACKAGE_FOLDER)]
    installed = dict(name.removesuffix(PACKAGE_FOLDER).partition("-")[::2] for name in folders)
    return {package: installed.get(package) or _declared_version(package) for package in packages}


def _declared_version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else 0.0
