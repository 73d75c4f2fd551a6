"""Points from rays: direct linear triangulation of many tracks at once, and how well it is conditioned.

A track is a run of observations; runs are given by CSR offsets, so that sums over tracks are `np.add.reduceat`
and nothing loops in Python (METHOD section 6).
"""

from __future__ import annotations

import numpy as np

from vgpa.geometry.rotation import FloatArray, IntArray, normalize

UPPER = tuple(zip(*np.triu_indices(4), strict=True))
"""Entries of a symmetric 4x4 matrix that tell the others."""


def triangulate_dlt(
    rays: FloatArray, cam_from_world: FloatArray, camera_idx: IntArray, offsets: IntArray
) -> FloatArray:
    """World points that minimise the algebraic error of their rays.

    Each unit ray r in camera P = [R | t] gives two independent rows of r x (R X + t) = 0; the 4x4 normal
    matrix of a track is the sum of P^T (I - r r^T) P, and the point is its smallest eigenvector.

    Args:
        rays: (num_obs, 3) unit rays in their camera's frame.
        cam_from_world: (num_cameras, 3, 4) matrices [R | t].
        camera_idx: (num_obs,) camera of each observation.
        offsets: (num_tracks + 1,) observations of track k are offsets[k]:offsets[k + 1], at least two each.

    Returns:
        (num_tracks, 3) points; a point at infinity is not finite.
    """
    num_tracks = len(offsets) - 1
    if num_tracks == 0:
        return np.zeros((0, 3))
    of_camera = np.swapaxes(cam_from_world, -1, -2) @ cam_from_world
    # One entry at a time: long arrays of single numbers pass through the processor's cache best.
    x, y, z = np.ascontiguousarray(rays.T)
    row_x, row_y, row_z = np.ascontiguousarray(np.moveaxis(cam_from_world, 0, -1))
    projected = [
        x * a[camera_idx] + y * b[camera_idx] + z * c[camera_idx] for a, b, c in zip(row_x, row_y, row_z, strict=True)
    ]
    mean, length = np.empty((num_tracks, 4, 4)), np.diff(offsets)
    for i, j in UPPER:
        normal = of_camera[:, i, j][camera_idx] - projected[i] * projected[j]
        # The eigenvectors are those of the mean matrix; scaling keeps long tracks in range.
        mean[:, i, j] = mean[:, j, i] = np.add.reduceat(normal, offsets[:-1]) / length
    homogeneous = np.linalg.eigh(mean)[1][:, :, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        points = homogeneous[:, :3] / homogeneous[:, 3:]
    return np.asarray(points)


def ray_spread_rad(points: FloatArray, centres: FloatArray, offsets: IntArray) -> FloatArray:
    """Largest angle between a track's mean viewing direction and its rays, doubled.

    A cheap stand-in for the largest triangulation angle, exact for two views.

    Args:
        points: (num_tracks, 3); centres: (num_obs, 3) camera centre of each observation; offsets: CSR.

    Returns:
        (num_tracks,) radians; 0 where a point is not finite.
    """
    if len(points) == 0:
        return np.zeros(0)
    track_idx = np.repeat(np.arange(len(points)), np.diff(offsets))
    directions = normalize(np.nan_to_num(points, posinf=0, neginf=0)[track_idx] - centres)
    mean = normalize(np.add.reduceat(directions, offsets[:-1], axis=0))
    off_axis = np.arctan2(
        np.linalg.norm(np.cross(mean[track_idx], directions), axis=-1),
        np.sum(mean[track_idx] * directions, axis=-1),
    )
    spread = 2 * np.maximum.reduceat(off_axis, offsets[:-1])
    return np.where(np.isfinite(points).all(axis=-1), spread, 0.0)
