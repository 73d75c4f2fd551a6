"""report.html: one page that works offline and shows whether a model is good, what is missing, and why.

This module gathers what the page shows as one JSON value. `template.html`, `page.css`, `page.js` (words and tables),
`scene.js` (the 3D view) and `charts.js` (the other plots) turn it into a page, with plotly for the plots. File names
are the user's and may hold anything: they travel inside the JSON, and the page's security policy runs no script but
the ones written here.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from vgpa.colmap.cameras import mean_focal_px
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, normalize
from vgpa.scene import ImageState, Reconstruction

MAX_NUM_POINTS = 60_000
"""Points drawn at most: what a browser turns smoothly, and about a megabyte of the page."""
MAX_NUM_CELLS = 320
"""Rows of the view graph's matrix at most; images beyond share a row with their neighbours."""
SCRIPTS = ("page", "drawing", "scene", "charts")
RESIDUAL_EDGES_DEG = np.geomspace(0.01, 180, 44)


def write_page(summary: dict[str, Any], reconstruction: Reconstruction, path: Path, title: str) -> None:
    """Write report.html so that a reader never sees half of it.

    Args:
        summary: what report.json holds. With a key "scores" (accuracy against known cameras, as a dict) the page
            shows these too.
        title: what was reconstructed, as the headline.
    """
    room = files("vgpa.report")
    scripts = {name: room.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS}
    scripts["plotly"] = _plotly_path().read_text(encoding="utf-8")
    page = Template(room.joinpath("template.html").read_text(encoding="utf-8")).substitute(
        scripts,
        title=html.escape(title),
        policy=_policy(list(scripts.values())),
        style=room.joinpath("page.css").read_text(encoding="utf-8"),
        data=_script_json(page_data(summary, reconstruction)),
    )
    partial = path.with_name(path.name + ".partial")
    # A title can hold bytes that are no text; the page shows a question mark for them.
    partial.write_bytes(page.encode("utf-8", errors="replace"))
    partial.replace(path)


def page_data(summary: dict[str, Any], reconstruction: Reconstruction) -> dict[str, Any]:
    """Everything the page shows, as plain data; arrays as base64 (see `_binary`)."""
    facts = {key: value for key, value in summary.items() if key not in ("view_graph", "config")}
    graph = summary["view_graph"]
    return {
        "summary": facts,
        "settings": json.dumps(summary["config"], indent=2, default=str),
        "scene": _scene(reconstruction, summary["images"]),
        "graph": {key: value for key, value in graph.items() if key != "edges"}
        | _adjacency(graph["edges"], len(summary["images"])),
        "histograms": _histograms(summary, reconstruction),
    }


def _plotly_path() -> Path:
    """Where plotly's script lies. Found without importing plotly, which would cost more than the page."""
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("plotly is not installed")
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"


def _script_json(data: dict[str, Any]) -> str:
    """JSON that is safe inside a script element: pure ASCII, and nothing in it can end the element."""
    text = json.dumps(_without_nan(data), separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _without_nan(value: Any) -> Any:
    """The same plain data with None for numbers that JSON cannot write."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _policy(scripts: list[str]) -> str:
    """Content security policy: no network, and no script but these, by their hashes."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    sources = " ".join(f"'sha256-{value}'" for value in hashes)
    return f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; img-src data: blob:"


def _binary(array: NDArray[Any], dtype: str) -> dict[str, str]:
    """An array as plotly writes typed arrays: little-endian bytes in base64, flattened."""
    data = np.ascontiguousarray(array, dtype="<" + dtype).tobytes()
    return {"dtype": dtype, "bdata": base64.b64encode(data).decode()}


def _scene(reconstruction: Reconstruction, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Points and camera frusta, turned upright for display, and the box (3, 2) to show."""
    registered = np.flatnonzero(reconstruction.poses.is_known)
    upright = upright_from_world(reconstruction.poses.cam_from_world[registered])
    xyz = reconstruction.xyz @ upright.T
    centre = reconstruction.poses.cam_from_world.centre @ upright.T
    distance = _relative_distance(centre[registered])
    shown, is_central = registered[distance <= 8], distance[distance <= 8] <= 2.5
    box = display_box(xyz, centre[shown])
    near = np.flatnonzero(((xyz >= box[:, 0]) & (xyz <= box[:, 1])).all(axis=1))
    drawn = near[np.linspace(0, len(near) - 1, min(len(near), MAX_NUM_POINTS)).astype(np.int64)]
    color = reconstruction.color[drawn]
    # A model whose points all have one colour was made without its photos.
    has_color = len(color) > 0 and bool((color != color[0]).any())
    depth = _frustum_depth(centre[shown], display_box(xyz, centre[shown[is_central]]))
    row_of = {row["name"]: k for k, row in enumerate(rows)}
    return {
        "points": _binary(xyz[drawn], "f4"),
        "colors": _binary(color, "u1") if has_color else None,
        "num_drawn": len(drawn),
        "num_far_points": len(xyz) - len(near),
        "num_far_cameras": len(registered) - len(shown),
        "frusta": _binary(_frusta(reconstruction, shown, depth) @ upright.T, "f4"),
        "frusta_row": [row_of[reconstruction.images.names[k]] for k in shown],
        "frusta_is_central": is_central.tolist(),
        "box": box.tolist(),
    }


def _relative_distance(centre: FloatArray) -> FloatArray:
    """(n,) distance of each camera from the middle of all, where most cameras are within 1."""
    if len(centre) == 0:
        return np.zeros(0)
    distance = np.linalg.norm(centre - np.median(centre, axis=0), axis=1)
    return distance / (np.percentile(distance, 75) or 1.0)


def upright_from_world(cam_from_world: Rigid) -> FloatArray:
    """(3, 3) rotation after which z is up and y is where the cameras look on average.

    Up is the mean of the cameras' -y axes. Where these disagree (a drone that looks straight down, cameras turned
    on their side), it is the axis on which the cameras agree most.
    """
    if len(cam_from_world) == 0:
        return np.eye(3)
    x, y, z = cam_from_world.rotation.mean(axis=0)
    up = -y if np.linalg.norm(y) > 0.6 else max((-y, -z, x), key=np.linalg.norm)
    if np.linalg.norm(up) < 1e-3:
        up = np.array([0.0, 0.0, 1.0])
    up = normalize(up)
    level = z - (z @ up) * up
    if np.linalg.norm(level) < 1e-3:
        level = np.cross(up, np.eye(3)[np.abs(up).argmin()])
    level = normalize(level)
    return np.stack([np.cross(level, up), level, up])


def display_box(xyz: FloatArray, centre: FloatArray) -> FloatArray:
    """(3, 2) lower and upper bounds that hold these cameras and nearly all points, but no far outliers."""
    if len(xyz) + len(centre) == 0:
        return np.tile([-1.0, 1.0], (3, 1))
    bounds = np.percentile(xyz, [2, 98], axis=0) if len(xyz) else np.empty((0, 3))
    inside = np.concatenate([bounds, centre])
    lower, upper = inside.min(axis=0), inside.max(axis=0)
    margin = 0.08 * (upper - lower).max() or 1.0
    return np.stack([lower - margin, upper + margin], axis=1)


def _frustum_depth(centre: FloatArray, box: FloatArray) -> float:
    """A depth at which frusta are seen but do not cover each other: about half the way to the next camera."""
    size = float((box[:, 1] - box[:, 0]).max())
    step = np.median(cKDTree(centre).query(centre, k=2)[0][:, 1]) if len(centre) > 1 else size
    return float(np.clip(0.5 * step, 0.012 * size, 0.05 * size))


def _frusta(reconstruction: Reconstruction, image_idx: NDArray[np.int64], depth: float) -> FloatArray:
    """(n, 5, 3) apex and four corners of each camera's frustum in the world."""
    images = reconstruction.images
    half = np.array(
        [[c.width_px, c.height_px] / np.maximum(2 * mean_focal_px(c), 1e-9) for c in images.cameras]
    ).reshape(-1, 2)
    half = np.minimum(half, 1.2)[images.camera_idx[image_idx]]
    corner = np.array([[0, 0], [-1, -1], [1, -1], [1, 1], [-1, 1]])
    cam = np.empty((len(image_idx), 5, 3))
    cam[:, :, :2] = depth * half[:, None] * corner
    cam[:, :, 2] = depth * np.array([0, 1, 1, 1, 1])
    cam_from_world = reconstruction.poses.cam_from_world[image_idx]
    return np.einsum("nji,nkj->nki", cam_from_world.rotation, cam) + cam_from_world.centre[:, None]


def _adjacency(edges: list[dict[str, Any]], num_images: int) -> dict[str, Any]:
    """The view graph as the filled cells of a matrix with i <= j, of at most MAX_NUM_CELLS rows."""
    block = max(1, -(-num_images // MAX_NUM_CELLS))
    size = -(-num_images // block)
    first, second, inliers, kept, rotation, direction = _columns(edges)
    i, j = np.sort([first // block, second // block], axis=0)
    cells, cell_idx, num_edges = np.unique(i * size + j, return_inverse=True, return_counts=True)

    def mean(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(cell_idx, values, len(cells)) / num_edges)

    return {
        "block": block,
        "size": size,
        "i": _binary(cells // max(size, 1), "u2"),
        "j": _binary(cells % max(size, 1), "u2"),
        "num_pairs": _binary(num_edges, "u4"),
        "inliers": _binary(mean(inliers), "f4"),
        "kept": _binary(mean(kept), "f4"),
        "rotation_deg": _binary(mean(rotation), "f4"),
        "direction_deg": _binary(mean(direction), "f4"),
    }


def _columns(edges: list[dict[str, Any]]) -> tuple[FloatArray, ...]:
    """i, j, inliers, kept, rotation and direction residual of the edges, each (num_edges,) of floats."""
    keys = ("i", "j", "num_inliers", "is_kept", "rotation_deg", "direction_deg")
    return tuple(np.array([edge[key] for edge in edges], dtype=np.float64) for key in keys)


def _histograms(summary: dict[str, Any], reconstruction: Reconstruction) -> list[dict[str, Any]]:
    length = reconstruction.tracks.lengths.astype(np.float64)
    num_points = np.array(
        [row["num_points"] for row in summary["images"] if row["state"] == ImageState.REGISTERED], dtype=float
    )
    *_, kept, rotation, direction = _columns(summary["view_graph"]["edges"])
    is_kept = kept > 0

    def by_fate(values: FloatArray) -> dict[str, FloatArray]:
        return {"kept": values[is_kept], "dropped": values[~is_kept]}

    return [
        _histogram("Reprojection error of points", "px", {"points": reconstruction.error_px}, None),
        _histogram("Track length", "images", {"points": length}, _whole_edges(length)),
        _histogram("Points per image", "points", {"images": num_points}, None),
        _histogram("Rotation residual of edges", "°", by_fate(rotation), RESIDUAL_EDGES_DEG),
        _histogram("Direction residual of edges", "°", by_fate(direction), RESIDUAL_EDGES_DEG),
    ]


def _whole_edges(values: FloatArray) -> FloatArray:
    """Bin edges of whole-number width around whole numbers, at most about 30 bins up to the 99th percentile."""
    lower, upper = (values.min(), np.percentile(values, 99)) if len(values) else (2.0, 3.0)
    width = max(1, round((upper - lower) / 30))
    return np.arange(lower, upper + width + 1, width) - 0.5


def _histogram(title: str, unit: str, groups: dict[str, FloatArray], edges: FloatArray | None) -> dict[str, Any]:
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
