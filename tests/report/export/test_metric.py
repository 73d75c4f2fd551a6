"""Metres from GPS: a known place on earth is found again, through noise, outliers, and along a straight street."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pycolmap
import pytest
from scipy.spatial.transform import Rotation

from tests.report.export.models import error_px, make_model
from tests.synthetic import look_at
from vgpa.colmap.model import read_model
from vgpa.errors import InputError
from vgpa.frontend.gps import Position, enu_from_wgs84, read_gps_exif, read_gps_table
from vgpa.geometry.alignment import Similarity, align_points
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import direction_angle_rad
from vgpa.report.export.metric import Georeference, fit_to_gps, move
from vgpa.scene import Camera, ImageSet, Poses, Reconstruction, Tracks

PLACE = (55.7, 13.2, 35.0)
ENU_FROM_MODEL = Similarity(17.0, Rotation.random(random_state=3).as_matrix(), np.array([4.0, -7.0, 2.0]))


def cameras_only(cam_from_enu: Rigid) -> Reconstruction:
    """A model without points, in its own arbitrary frame, of cameras known in metres."""
    num = len(cam_from_enu)
    images = ImageSet(
        tuple(f"{k}.jpg" for k in range(num)),
        np.zeros(num, dtype=np.int64),
        (Camera("PINHOLE", 640, 480, np.array([500.0, 500, 320, 240])),),
        np.arange(1, num + 1),
    )
    empty = np.zeros(0, dtype=np.int64)
    poses = Poses.of_all(ENU_FROM_MODEL.inverse().apply_to_cameras(cam_from_enu))
    return Reconstruction(images, poses, np.zeros((0, 3)), Tracks(np.zeros(1), empty, empty), empty, np.zeros((0, 3)))


def gps_of(enu: np.ndarray, place: Position = PLACE) -> dict[str, Position]:
    positions = pycolmap.GPSTransform().enu_to_ellipsoid(enu, *place)
    return {f"{k}.jpg": (float(lat), float(lon), float(alt)) for k, (lat, lon, alt) in enumerate(positions)}


def turn_about_z(angle_deg: np.ndarray) -> np.ndarray:
    return Rotation.from_euler("z", angle_deg[:, None], degrees=True).as_matrix()


def walk(num: int = 30, width_m: float = 40.0, roll_deg: float = 0.5) -> Rigid:
    """Upright photos on the way north, up to `width_m` beside the line, that look ahead and a little up or around."""
    rng = np.random.default_rng(0)
    centre = np.column_stack([rng.uniform(-1, 1, num) * width_m, np.linspace(0, 150, num), np.full(num, 1.6)])
    ahead = np.column_stack([rng.uniform(-30, 30, num), np.full(num, 100.0), rng.uniform(0, 20, num)])
    roll = turn_about_z(rng.normal(size=num) * roll_deg)
    return Rigid.from_centre(roll @ look_at(centre, centre + ahead), centre)


def tilt_deg(fit: Georeference) -> float:
    up = fit.enu_from_model.rotation @ ENU_FROM_MODEL.rotation.T @ [0.0, 0, 1]
    return float(np.degrees(np.arctan2(np.hypot(*up[:2]), up[2])))


def test_exact_positions_give_the_exact_place() -> None:
    cams = walk(roll_deg=0)
    model = cameras_only(cams)
    fit = fit_to_gps(model, gps_of(cams.centre))
    assert fit.enu_from_model.scale == pytest.approx(ENU_FROM_MODEL.scale, rel=1e-5)
    assert fit.rms_m < 1e-3
    # The origin is the median position; seen from there, cameras are where they are.
    shift = enu_from_wgs84(np.array([fit.origin]), PLACE)[0]
    moved = move(model, fit.enu_from_model).poses.cam_from_world
    np.testing.assert_allclose(moved.centre + shift, cams.centre, atol=0.02)
    np.testing.assert_allclose(moved.rotation, cams.rotation, atol=1e-4)


def test_wrong_positions_do_not_move_the_rest() -> None:
    cams = walk()
    enu = cams.centre + np.random.default_rng(1).normal(size=(30, 3))
    enu[::5] += [800.0, -500, 300]
    fit = fit_to_gps(cameras_only(cams), gps_of(enu))
    assert fit.enu_from_model.scale == pytest.approx(ENU_FROM_MODEL.scale, rel=0.02)
    assert fit.median_m < 3
    assert fit.rms_m > 300
    assert tilt_deg(fit) < 1


@pytest.mark.parametrize("seed", range(5))
def test_photos_tell_up_where_positions_lie_on_a_line(seed: int) -> None:
    cams = walk(width_m=1.0)
    model = cameras_only(cams)
    enu = cams.centre + np.random.default_rng(seed).normal(size=(30, 3)) * 3
    fit = fit_to_gps(model, gps_of(enu))
    assert fit.up_from == "gps and level photos"
    assert tilt_deg(fit) < 2
    assert fit.tilt_deg < 2
    by_gps_alone = replace(fit, enu_from_model=align_points(model.poses.cam_from_world.centre, enu))
    assert tilt_deg(by_gps_alone) > 3 * tilt_deg(fit)


def test_photos_in_upright_format_do_not_turn_the_horizon() -> None:
    cams = walk(width_m=1.0)
    turned = turn_about_z(np.where(np.arange(30) % 4 == 0, 90.0, 0.0)) @ cams.rotation
    enu = cams.centre + np.random.default_rng(5).normal(size=(30, 3))
    fit = fit_to_gps(cameras_only(Rigid.from_centre(turned, cams.centre)), gps_of(enu))
    assert fit.up_from == "gps and level photos"
    assert tilt_deg(fit) < 2


def test_photos_of_a_facade_from_a_straight_street() -> None:
    """All look the same way, across the street: only that photos look ahead on the whole tells the last angle."""
    centre = np.column_stack([np.zeros(30), np.linspace(0, 150, 30), np.full(30, 1.6)])
    cams = Rigid.from_centre(look_at(centre, np.add(centre, [50.0, 0, 5])), centre)
    enu = centre + np.random.default_rng(7).normal(size=(30, 3))
    fit = fit_to_gps(cameras_only(cams), gps_of(enu))
    assert fit.up_from == "gps and level photos"
    assert 5 < fit.tilt_deg < 16
    assert tilt_deg(fit) < 10


def test_the_date_line_is_no_gap() -> None:
    cams = walk(roll_deg=0)
    positions = gps_of(cams.centre, place=(-17.0, 180.0, 10.0))
    assert {lon > 0 for _, lon, _ in positions.values()} == {True, False}
    fit = fit_to_gps(cameras_only(cams), positions)
    assert fit.rms_m < 1e-3
    assert abs(fit.origin[1]) > 179


@pytest.mark.parametrize("headings_deg", [0.0, 360.0])
def test_aerial_photos_leave_up_to_gps(headings_deg: float) -> None:
    rng = np.random.default_rng(2)
    centre = np.column_stack([rng.uniform(-80, 80, (30, 2)), rng.uniform(60, 70, 30)])
    yaw = turn_about_z(rng.uniform(0, headings_deg, 30))
    cams = Rigid.from_centre(yaw @ np.diag([1.0, -1, -1]), centre)
    fit = fit_to_gps(cameras_only(cams), gps_of(centre + rng.normal(size=(30, 3)) * 2))
    assert fit.up_from == "gps"
    assert tilt_deg(fit) < 2


def test_a_model_in_metres_still_sees_its_points() -> None:
    model, keypoints = make_model("OPENCV")
    moved = move(model, ENU_FROM_MODEL)
    np.testing.assert_allclose(error_px(moved, keypoints), error_px(model, keypoints), atol=1e-6)


class TestRefusals:
    """What GPS cannot tell is not made up."""

    def test_too_few_positions(self) -> None:
        cams = walk()
        positions = dict(list(gps_of(cams.centre).items())[:2])
        with pytest.raises(InputError, match="Only 2 photos"):
            fit_to_gps(cameras_only(cams), positions)

    def test_all_photos_at_one_place(self) -> None:
        cams = walk()
        with pytest.raises(InputError, match="further apart"):
            fit_to_gps(cameras_only(cams), gps_of(np.random.default_rng(3).normal(size=(30, 3)) * 3))

    def test_a_line_of_photos_that_look_down(self) -> None:
        cams = walk(width_m=0.0)
        down = Rigid.from_centre(np.tile(np.diag([1.0, -1, -1]), (30, 1, 1)), cams.centre)
        enu = cams.centre + np.random.default_rng(4).normal(size=(30, 3))
        with pytest.raises(InputError, match="which way is up"):
            fit_to_gps(cameras_only(down), gps_of(enu))


def test_phone_photos_along_a_street(data_dir: Path) -> None:
    """lund29: a walk of 190 m on level ground with a phone's GPS."""
    model, keypoints = read_model(data_dir / "scenes" / "lund29" / "reference")
    positions = read_gps_table(data_dir / "scenes" / "lund29" / "gps.csv")
    fit = fit_to_gps(model, positions)
    assert fit.num_positions == 29
    assert fit.rms_m == pytest.approx(5.3, abs=0.1)
    assert fit.enu_from_model.scale == pytest.approx(16.8, abs=0.1)
    enu = enu_from_wgs84(np.array([positions[name] for name in model.images.names]), fit.origin)
    by_gps_alone = align_points(model.poses.cam_from_world.centre, enu)
    assert np.degrees(direction_angle_rad(by_gps_alone.rotation[2], fit.enu_from_model.rotation[2])) > 10
    moved = move(model, fit.enu_from_model)
    cams = moved.poses.cam_from_world
    assert np.ptp(cams.centre[:, 2]) < 3
    assert np.degrees(np.abs(cams.rotation[:, 0, 2])).max() < 5
    assert np.sqrt(np.mean(np.sum((cams.centre - enu) ** 2, axis=-1))) == pytest.approx(fit.rms_m)
    np.testing.assert_allclose(error_px(moved, keypoints), error_px(model, keypoints), atol=1e-6)
    exif = read_gps_exif(data_dir / "photos" / "lund29" / "images", model.images.names)
    assert {name: pytest.approx(place, abs=1e-6) for name, place in positions.items()} == exif
