"""A model in metres, east-north-up, from the GPS positions of its photos.

Scale, heading and place come from a robust similarity between camera centres and GPS. Which way is up needs care:
positions along a street tell nothing about the turn around that street, and GPS is metres off. So where the photos
were taken upright, two kinds of evidence are weighed together: the horizontal edges of level photos are
perpendicular to up, and the camera centres rise along it as the GPS altitudes do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from vgpa.errors import InputError
from vgpa.frontend.gps import Position, enu_from_wgs84
from vgpa.geometry.alignment import Similarity, align_points
from vgpa.geometry.rotation import FloatArray, direction_angle_rad, normalize
from vgpa.scene import Poses, Reconstruction

MIN_POSITIONS = 3
MAX_TILT_RAD = np.radians(30.0)
MAX_SCALE_UNCERTAINTY = 0.3
MEDIAN_OF_DISTANCE = 1.538
"""Median length of a 3D vector whose coordinates are normal with deviation 1."""
MEDIAN_OF_NORMAL = 0.6745
HUBER = 1.5
"""Residuals beyond this many deviations count less and less."""
MIN_ROLL_RAD = np.radians(0.1)
"""Photos are never taken to be more level than this."""
PITCH_RAD = np.radians(15.0)
"""How far up or down photos look on the whole: one standard deviation."""
MIN_UPRIGHT = 0.5
"""Mean cosine between up and the photos' own up; below it they look at the ground."""
MIN_AGREEMENT_RAD = np.radians(5.0)
"""Photos whose up is further from that of GPS than this, and than three of its deviations, do not count."""
MAX_GROWTH = 3.0
"""Neither do photos whose up takes the cameras away from GPS: median distance over its deviation."""
NUM_ITERATIONS = 30

UpFrom = Literal["gps", "gps and level photos"]


@dataclass(frozen=True, eq=False)
class Georeference:
    """How a model lies on the earth.

    Attributes:
        enu_from_model: model units to metres east, north and up of the origin.
        origin: latitude, longitude (degrees) and altitude (metres) of the origin.
        num_positions: photos of the model with a GPS position.
        rms_m, median_m: distances between camera centres and GPS positions.
        up_from: what told which way is up.
        tilt_deg: one standard deviation of that direction.
    """

    enu_from_model: Similarity
    origin: Position
    num_positions: int
    rms_m: float
    median_m: float
    up_from: UpFrom
    tilt_deg: float

    def facts(self) -> dict[str, Any]:
        """Everything, for a JSON file."""
        similarity = self.enu_from_model
        matrix = np.column_stack([similarity.scale * similarity.rotation, similarity.translation])
        return {
            "axes": "x east, y north, z up, in metres",
            "origin": dict(zip(("latitude_deg", "longitude_deg", "altitude_m"), self.origin, strict=True)),
            "metres_per_unit": similarity.scale,
            "num_positions": self.num_positions,
            "rms_to_gps_m": self.rms_m,
            "median_to_gps_m": self.median_m,
            "up_from": self.up_from,
            "tilt_deg": self.tilt_deg,
            "enu_from_model": matrix.tolist(),
        }


def fit_to_gps(model: Reconstruction, positions: dict[str, Position]) -> Georeference:
    """The similarity from a model to metres east-north-up of the median GPS position of its photos."""
    placed = [k for k in np.flatnonzero(model.poses.is_known) if model.images.names[k] in positions]
    if len(placed) < MIN_POSITIONS:
        raise InputError(
            f"Only {len(placed)} photos of the model have a GPS position",
            f"At least {MIN_POSITIONS} are needed; give the photos with --images, or a table with --gps",
        )
    gps = np.array([positions[model.images.names[k]] for k in placed])
    # A middle value, not the mean of two: longitudes jump at the date line.
    latitude, longitude, altitude = np.sort(gps, axis=0)[len(gps) // 2].tolist()
    origin = (latitude, longitude, altitude)
    enu = enu_from_wgs84(gps, origin)
    cameras = model.poses.cam_from_world[placed]
    enu_from_model, up_from, tilt_deg = _fit(cameras.centre, enu, cameras.rotation)
    distance = _distance(enu_from_model, cameras.centre, enu)
    rms_m = float(np.sqrt(np.mean(distance**2)))
    return Georeference(enu_from_model, origin, len(placed), rms_m, float(np.median(distance)), up_from, tilt_deg)


def move(model: Reconstruction, b_from_a: Similarity) -> Reconstruction:
    """The same model of frame a in frame b."""
    moved = Poses(b_from_a.apply_to_cameras(model.poses.cam_from_world), model.poses.is_known)
    return replace(model, poses=moved.keep(model.poses.is_known), xyz=b_from_a.apply(model.xyz))


def _fit(centre: FloatArray, enu: FloatArray, rotation: FloatArray) -> tuple[Similarity, UpFrom, float]:
    """enu_from_model of camera centres (n, 3), where up came from, and its standard deviation in degrees."""
    free = align_points(centre, enu)
    num_coordinates = 3 * len(enu)
    bias = np.sqrt(num_coordinates / (num_coordinates - 7))  # a similarity has seven parameters
    noise_m = max(bias * float(np.median(_distance(free, centre, enu))) / MEDIAN_OF_DISTANCE, 1e-9)
    path_m = free.scale * (centre - centre.mean(axis=0))
    length_m = np.linalg.svd(path_m, compute_uv=False)
    if noise_m > MAX_SCALE_UNCERTAINTY * length_m[0]:
        raise InputError(
            f"The GPS positions do not follow the cameras: they are {noise_m:.2g} m off on a path that is not longer",
            "Metres need photos from places further apart, or better positions in a table (--gps)",
        )
    tilt_rad = noise_m / max(float(length_m[1]), 1e-9)
    height = enu[:, 2] - np.median(enu[:, 2])
    up, level_rad = _find_up(rotation, path_m / noise_m, height / noise_m)
    upright = align_points(centre, enu, up)
    if (
        np.mean(-rotation[:, 1] @ up) > MIN_UPRIGHT
        and direction_angle_rad(up, free.rotation[2]) < max(3 * tilt_rad, MIN_AGREEMENT_RAD)
        and np.median(_distance(upright, centre, enu)) < MAX_GROWTH * noise_m
    ):
        return upright, "gps and level photos", float(np.degrees(level_rad))
    if tilt_rad > MAX_TILT_RAD:
        raise InputError(
            "The GPS positions lie on a line, which does not tell which way is up, and the photos are not upright",
            "Add photos from places beside the line, or upright ones",
        )
    return free, "gps", float(np.degrees(tilt_rad))


def _find_up(rotation: FloatArray, path: FloatArray, height: FloatArray) -> tuple[FloatArray, float]:
    """The unit vector that level photos and their altitudes agree on, and its standard deviation in radians.

    The image's horizontal axis, row 0 of each world-to-camera rotation (n, 3, 3), is perpendicular to up where a
    camera is held level; path (n, 3) @ up = height (n,), both in standard deviations of the height; and on the whole
    photos look ahead. Robust Gauss-Newton from the photos' own up; how level they are is estimated on the way.
    """
    up = normalize(np.median(-rotation[:, 1], axis=0))
    ahead = rotation[:, 2].mean(axis=0, keepdims=True) / PITCH_RAD
    target = np.concatenate([height, np.zeros(len(rotation) + 1)])
    for _ in range(NUM_ITERATIONS):
        roll_rad = max(float(np.median(np.abs(rotation[:, 0] @ up))) / MEDIAN_OF_NORMAL, MIN_ROLL_RAD)
        rows = np.concatenate([path, rotation[:, 0] / roll_rad, ahead])
        residual = target - rows @ up
        tangent = np.linalg.svd(up[None])[2][1:].T
        weighted = (rows @ tangent) * (HUBER / np.maximum(np.abs(residual), HUBER))[:, None]
        information = weighted.T @ rows @ tangent
        up = normalize(up + tangent @ np.linalg.lstsq(information, weighted.T @ residual, rcond=None)[0])
    return up, 1 / float(np.sqrt(max(np.linalg.eigvalsh(information)[0], 1e-9)))


def _distance(b_from_a: Similarity, points_a: FloatArray, points_b: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(b_from_a.apply(points_a) - points_b, axis=-1))
