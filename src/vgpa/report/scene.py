"""The 3D view as data: points and camera frusta, turned upright, without what lies far away. `layers.js` draws it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vgpa.colmap.cameras import mean_focal_px
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, normalize
from vgpa.report.encode import binary
from vgpa.scene import Reconstruction

MAX_NUM_POINTS = 100_000
"""Points drawn at most: what a browser turns smoothly, and about a megabyte of the page."""
NUM_STEPS = 65_535
"""Coordinates of points travel as whole steps from one side of the box to the other, in two bytes each."""
NUM_SPACED = 200
"""Cameras, about, whose distance to the next one is looked at."""
ERROR_STEP_PX = 0.05
"""Errors of points travel as whole steps of this size, in one byte each."""


def describe_scene(reconstruction: Reconstruction, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Points and camera frusta, turned upright for display, and the box (3, 2) to show.

    Args:
        rows: the report's list of images, which cameras are named by.
    """
    registered = np.flatnonzero(reconstruction.poses.is_known)
    upright = upright_from_world(reconstruction.poses.cam_from_world[registered])
    xyz = reconstruction.xyz @ upright.T
    centre = reconstruction.poses.cam_from_world.centre @ upright.T
    distance = relative_distance(centre[registered])
    shown, is_central = registered[distance <= 8], distance[distance <= 8] <= 2.5
    box = display_box(xyz, centre[shown])
    near = np.flatnonzero(((xyz >= box[:, 0]) & (xyz <= box[:, 1])).all(axis=1))
    drawn = near[np.linspace(0, len(near) - 1, min(len(near), MAX_NUM_POINTS)).astype(np.int64)]
    color = reconstruction.color[drawn]
    depth = frustum_depth(centre[shown], display_box(xyz, centre[shown[is_central]]))
    row_of = {row["name"]: k for k, row in enumerate(rows)}
    return {
        "points": binary(np.rint((xyz[drawn] - box[:, 0]) / (box[:, 1] - box[:, 0]) * NUM_STEPS), "u2"),
        "colors": binary(color, "u1") if has_colors(color) else None,
        "errors": binary(np.clip(reconstruction.error_px[drawn] / ERROR_STEP_PX, 0, 255), "u1"),
        "error_step_px": ERROR_STEP_PX,
        "num_drawn": len(drawn),
        "num_far_points": len(xyz) - len(near),
        "num_far_cameras": len(registered) - len(shown),
        "frusta": binary(_frusta(reconstruction, shown, depth) @ upright.T, "f4"),
        "frusta_row": [row_of[reconstruction.images.names[k]] for k in shown],
        "frusta_is_central": is_central.tolist(),
        "box": box.tolist(),
    }


def has_colors(color: NDArray[np.uint8]) -> bool:
    """Whether points (n, 3) have colours of their own: if all have the same, the model was made without its photos."""
    return len(color) > 0 and bool((color != color[0]).any())


def relative_distance(centre: FloatArray) -> FloatArray:
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


def frustum_depth(centre: FloatArray, box: FloatArray) -> float:
    """A depth at which frusta are seen but do not cover each other: about half the way to the next camera."""
    size = float((box[:, 1] - box[:, 0]).max())
    some = centre[:: max(len(centre) // NUM_SPACED, 1)]
    distance = np.linalg.norm(some[:, None] - centre, axis=-1)
    step = np.median(np.partition(distance, 1, axis=1)[:, 1]) if len(centre) > 1 else size
    return float(np.clip(0.5 * step, 0.012 * size, 0.05 * size))


def _frusta(reconstruction: Reconstruction, image_idx: NDArray[np.int64], depth: float) -> FloatArray:
    """(n, 5, 3) apex and four corners of each camera's frustum in the world."""
    half = half_view(reconstruction)[image_idx]
    corner = np.array([[0, 0], [-1, -1], [1, -1], [1, 1], [-1, 1]])
    cam = np.empty((len(image_idx), 5, 3))
    cam[:, :, :2] = depth * half[:, None] * corner
    cam[:, :, 2] = depth * np.array([0, 1, 1, 1, 1])
    cam_from_world = reconstruction.poses.cam_from_world[image_idx]
    return np.einsum("nji,nkj->nki", cam_from_world.rotation, cam) + cam_from_world.centre[:, None]


def half_view(reconstruction: Reconstruction) -> FloatArray:
    """(num_images, 2) half the width and height of each image's view at depth 1, at most 1.2."""
    images = reconstruction.images
    half = np.array(
        [[c.width_px, c.height_px] / np.maximum(2 * mean_focal_px(c), 1e-9) for c in images.cameras]
    ).reshape(-1, 2)
    return np.minimum(half, 1.2)[images.camera_idx]
