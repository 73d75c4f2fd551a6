"""Where photos were taken: GPS positions from EXIF or from a table, and the same places in metres.

A position is latitude and longitude in degrees and altitude in metres (WGS84). `enu_from_wgs84` turns positions
into metres east, north and up of an origin, in the tangent plane there.
"""

from __future__ import annotations

import csv
import struct
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import ExifTags, Image

from vgpa.errors import InputError
from vgpa.geometry.rotation import FloatArray

Position = tuple[float, float, float]
EQUATOR_RADIUS_M = 6_378_137.0
ECCENTRICITY_SQUARED = 6.694379990141e-3
MAX_ALTITUDE_M = 1e5
COLUMNS = ("name", "lat", "lon", "alt")


def read_gps_table(path: Path) -> dict[str, Position]:
    """Positions by image name from a comma-separated table with the columns name, lat, lon, alt."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or ()
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"The GPS table {path} cannot be read", "Give a text file with commas") from error
    hint = f"Write the header {','.join(COLUMNS)} and a line for each photo: degrees, degrees, metres"
    if not set(COLUMNS) <= set(columns):
        raise InputError(f"The GPS table {path} lacks the columns {', '.join(COLUMNS)}", hint)
    positions: dict[str, Position] = {}
    for number, row in rows:
        position = _parse_row(row)
        if position is None:
            raise InputError(f"Line {number} of {path} gives no position", hint)
        positions[row["name"]] = position
    return positions


def read_gps_exif(images: Path, names: Iterable[str]) -> dict[str, Position]:
    """Positions by name of those photos below `images` that are there and carry one."""
    positions = {name: _read_photo(images / name) for name in names}
    return {name: position for name, position in positions.items() if position is not None}


def parse_exif_gps(ifd: dict[int, object]) -> Position | None:
    """The position in EXIF's GPS block; None where it is absent or nonsense. A missing altitude counts as 0."""
    try:
        latitude = _degrees(ifd[ExifTags.GPS.GPSLatitude], str(ifd[ExifTags.GPS.GPSLatitudeRef]) == "S")
        longitude = _degrees(ifd[ExifTags.GPS.GPSLongitude], str(ifd[ExifTags.GPS.GPSLongitudeRef]) == "W")
        altitude = float(ifd.get(ExifTags.GPS.GPSAltitude, 0.0))  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    is_below_sea = ifd.get(ExifTags.GPS.GPSAltitudeRef) in (1, b"\x01")
    position = (latitude, longitude, -altitude if is_below_sea else altitude)
    # Receivers without a fix write zeros.
    return position if _is_sane(position) and (latitude, longitude) != (0.0, 0.0) else None


def enu_from_wgs84(positions: FloatArray, origin: Position) -> FloatArray:
    """Metres east, north and up of the origin. (n, 3) latitude, longitude, altitude -> (n, 3)."""
    latitude, longitude = np.radians(origin[0]), np.radians(origin[1])
    sin_lat, cos_lat = np.sin(latitude), np.cos(latitude)
    sin_lon, cos_lon = np.sin(longitude), np.cos(longitude)
    enu_from_ecef = np.array(
        [
            [-sin_lon, cos_lon, 0.0],
            [-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat],
            [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat],
        ]
    )
    return (_ecef_from_wgs84(positions) - _ecef_from_wgs84(np.array(origin))) @ enu_from_ecef.T


def _ecef_from_wgs84(positions: FloatArray) -> FloatArray:
    """Earth-centred, earth-fixed metres. (..., 3) -> (..., 3)."""
    latitude, longitude, altitude = np.radians(positions[..., 0]), np.radians(positions[..., 1]), positions[..., 2]
    normal = EQUATOR_RADIUS_M / np.sqrt(1 - ECCENTRICITY_SQUARED * np.sin(latitude) ** 2)
    across = (normal + altitude) * np.cos(latitude)
    along = (normal * (1 - ECCENTRICITY_SQUARED) + altitude) * np.sin(latitude)
    return np.stack([across * np.cos(longitude), across * np.sin(longitude), along], axis=-1)


def _read_photo(path: Path) -> Position | None:
    try:
        with Image.open(path) as image:
            return parse_exif_gps(dict(image.getexif().get_ifd(ExifTags.IFD.GPSInfo)))
    except (OSError, ValueError, SyntaxError, TypeError, KeyError, struct.error, Image.DecompressionBombError):
        return None


def _parse_row(row: dict[str, str]) -> Position | None:
    try:
        position = (float(row["lat"]), float(row["lon"]), float(row["alt"]))
    except (TypeError, ValueError):
        return None
    return position if row["name"] and _is_sane(position) else None


def _is_sane(position: Position) -> bool:
    return abs(position[0]) <= 90 and abs(position[1]) <= 180 and abs(position[2]) < MAX_ALTITUDE_M


def _degrees(value: object, is_negative: bool) -> float:
    degrees, minutes, seconds = (float(part) for part in value)  # type: ignore[attr-defined]
    angle = degrees + minutes / 60 + seconds / 3600
    return -angle if is_negative else angle
