"""GPS positions: metres agree with COLMAP's geodesy, tables and EXIF are read or refused with a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pycolmap
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import ExifTags, Image

from vgpa.errors import InputError
from vgpa.frontend.gps import enu_from_wgs84, parse_exif_gps, read_gps_exif, read_gps_table

LUND = {
    ExifTags.GPS.GPSLatitudeRef: "N",
    ExifTags.GPS.GPSLatitude: (55.0, 41.0, 53.4),
    ExifTags.GPS.GPSLongitudeRef: "E",
    ExifTags.GPS.GPSLongitude: (13.0, 11.0, 43.4),
    ExifTags.GPS.GPSAltitude: 37.0,
}


@given(
    latitude=st.floats(-89, 89),
    longitude=st.floats(-180, 180),
    altitude=st.floats(-400, 9000),
    step=st.tuples(st.floats(-0.01, 0.01), st.floats(-0.01, 0.01), st.floats(-100, 100)),
)
def test_metres_agree_with_colmap(
    latitude: float, longitude: float, altitude: float, step: tuple[float, float, float]
) -> None:
    origin = (latitude, longitude, altitude)
    positions = np.array([origin, np.add(origin, step)])
    theirs = pycolmap.GPSTransform().ellipsoid_to_enu(positions, *origin)
    np.testing.assert_allclose(enu_from_wgs84(positions, origin), theirs, atol=1e-6)
    np.testing.assert_allclose(enu_from_wgs84(positions, origin)[0], 0, atol=1e-8)


def test_axes_are_east_north_up() -> None:
    origin = (55.7, 13.2, 35.0)
    metres = enu_from_wgs84(np.array([(55.7, 13.201, 35.0), (55.701, 13.2, 35.0), (55.7, 13.2, 45.0)]), origin)
    np.testing.assert_allclose(metres, np.diag([62.9, 111.4, 10.0]), atol=0.1)


def test_exif_is_read_on_both_sides_of_equator_greenwich_and_sea() -> None:
    assert parse_exif_gps(LUND) == pytest.approx((55.698167, 13.195389, 37.0), abs=1e-6)
    other = LUND | {
        ExifTags.GPS.GPSLatitudeRef: "S",
        ExifTags.GPS.GPSLongitudeRef: "W",
        ExifTags.GPS.GPSAltitudeRef: b"\x01",
    }
    assert parse_exif_gps(other) == pytest.approx((-55.698167, -13.195389, -37.0), abs=1e-6)


@pytest.mark.parametrize(
    "broken",
    [{}, LUND | {ExifTags.GPS.GPSLatitude: (555.0, 0.0, 0.0)}, LUND | {ExifTags.GPS.GPSLongitude: "east"}],
)
def test_garbage_is_no_position(broken: dict[int, object]) -> None:
    assert parse_exif_gps(broken) is None


def test_only_photos_that_know_their_place_come_back(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif.get_ifd(ExifTags.IFD.GPSInfo).update(LUND)
    Image.new("RGB", (40, 30)).save(tmp_path / "placed.jpg", exif=exif)
    Image.new("RGB", (40, 30)).save(tmp_path / "silent.jpg")
    (tmp_path / "broken.jpg").write_bytes(b"no photo")
    names = ["placed.jpg", "silent.jpg", "broken.jpg", "absent.jpg"]
    assert set(read_gps_exif(tmp_path, names)) == {"placed.jpg"}


def test_a_table_is_read(tmp_path: Path) -> None:
    table = tmp_path / "gps.csv"
    table.write_text('\ufeffname,lat,lon,alt\na.jpg,55.5,13.25,37\n"b, c.jpg",-1,2,3.5\n', encoding="utf-8")
    assert read_gps_table(table) == {"a.jpg": (55.5, 13.25, 37.0), "b, c.jpg": (-1.0, 2.0, 3.5)}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name,lat\na.jpg,1", "lacks the columns"),
        ("", "lacks the columns"),
        ("name,lat,lon,alt\na.jpg,1,2,3\nb.jpg,91,2,3", "Line 3"),
        ("name,lat,lon,alt\na.jpg,1,2", "Line 2"),
        ("name,lat,lon,alt\na.jpg,1,2,nan", "Line 2"),
        ("name,lat,lon,alt\na.jpg,1,2,north", "Line 2"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "gps.csv").write_text(text)
    with pytest.raises(InputError, match=complaint):
        read_gps_table(tmp_path / "gps.csv")


def test_no_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_gps_table(tmp_path / "nowhere.csv")
