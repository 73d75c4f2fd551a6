"""Made-up models with their summaries, as a run would hand them to the page."""

from __future__ import annotations

from typing import Any

import numpy as np

from vgpa.geometry.rigid import Rigid
from vgpa.scene import Camera, ImageSet, Poses, Reconstruction, Tracks

EVIL_NAMES = (
    "<img src=x onerror=alert(1)>.jpg",
    "</script><script>alert(1)</script>.jpg",
    "a & b \u2028 ${title} $title %{x}.jpg",
    "<!--<script>.jpg",
)
UP = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])


def ring_of_cameras(num: int, radius: float = 5.0) -> Rigid:
    """Cameras on a circle around `UP` that look at its middle, a little downwards."""
    side = np.linalg.svd(UP[None])[2][1:]
    angle = np.linspace(0, 2 * np.pi, num, endpoint=False)
    outward = np.cos(angle)[:, None] * side[0] + np.sin(angle)[:, None] * side[1]
    centre = radius * outward + 1.5 * UP
    z = -centre / np.linalg.norm(centre, axis=1, keepdims=True)
    x = np.cross(z, UP)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return Rigid.from_centre(np.stack([x, np.cross(z, x), z], axis=1), centre)


def model(cam_from_world: Rigid, num_points: int, names: list[str] | None = None) -> Reconstruction:
    """A model of these cameras with random points, each seen by three of them."""
    rng = np.random.default_rng(7)
    num = len(cam_from_world)
    camera = Camera("SIMPLE_PINHOLE", 1000, 800, np.array([900.0, 500, 400]))
    images = ImageSet(
        tuple(names or [f"{k:04}.jpg" for k in range(num)]),
        np.zeros(num, dtype=np.int64),
        (camera,) if num else (),
        np.arange(1, num + 1),
    )
    seen = (np.arange(num_points)[:, None] + np.arange(3)) % max(num, 1)
    tracks = Tracks(3 * np.arange(num_points + 1), seen.ravel(), np.zeros(3 * num_points, dtype=np.int64))
    return Reconstruction(
        images,
        Poses.of_all(cam_from_world),
        rng.normal(size=(num_points, 3)),
        tracks,
        rng.gamma(2, 0.3, num_points),
        rng.integers(0, 256, (num_points, 3), dtype=np.uint8),
    )


def summary_of(reconstruction: Reconstruction, edges: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A summary in report.json's form."""
    edges = edges if edges is not None else all_pairs(min(len(reconstruction.images), 6))
    images = [
        {"name": name, "state": "registered", "num_points": 9, "mean_error_px": 0.5, "model": 0, "doubts": []}
        for name in reconstruction.images.names
    ]
    return {
        "num_images": len(images),
        "num_registered": len(images),
        "num_points": reconstruction.num_points,
        "num_observations": reconstruction.tracks.num_observations,
        "mean_track_length": 3.0,
        "mean_error_px": 0.6,
        "median_error_px": 0.5,
        "seconds": 1.5,
        "stages": [{"name": "average poses", "seconds": 1.5, "peak_memory_mb": 300.0}],
        "warnings": ["one <b>warning</b>"],
        "images": images,
        "cameras": [
            {
                "model": "SIMPLE_RADIAL",
                "width_px": 1000,
                "height_px": 800,
                "num_images": len(images),
                "focal_source": "exif",
                "focal_start_px": 890.0,
                "focal_px": 900.0,
                "params": [900.0, 500.0, 400.0, -0.02],
            }
        ],
        "models": [{"folder": "sparse/0", "num_registered": len(images), "num_points": 9, "mean_error_px": 0.6}],
        "view_graph": {
            "num_edges": len(edges),
            "num_edges_kept": len(edges),
            "component_sizes": [len(reconstruction.images)],
            "num_isolated_images": 2,
            "start": "network",
            "edges": edges,
        },
        "config": {"mapping": {"max_error_px": float("inf")}},
        "versions": {"vgpa": "0"},
    }


def all_pairs(num: int) -> list[dict[str, Any]]:
    """Edges between all pairs of the first images; every seventh is dropped."""
    return [
        {
            "i": i,
            "j": j,
            "num_inliers": 30 + i + j,
            "is_kept": k % 7 > 0,
            "rotation_deg": 0.1 * k,
            "direction_deg": 0.0,
            "start_rotation_deg": 0.3 * k,
            "start_direction_deg": None,
        }
        for k, (i, j) in enumerate(zip(*np.triu_indices(num, 1), strict=True))
    ]
