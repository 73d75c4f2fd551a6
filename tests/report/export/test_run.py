"""`vgpa export` as a user meets it: every target from a model or a run, and one sentence where it cannot be done."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pycolmap
import pytest
from PIL import Image

from tests.report.export.models import error_px, make_model
from tests.synthetic import HEIGHT_PX, WIDTH_PX
from vgpa.cli import run
from vgpa.colmap.model import read_model, write_model

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The output folder of a run with one model of two lenses, its photos beside it."""
    model, keypoints = make_model("SIMPLE_RADIAL", "OPENCV")
    write_model(model, keypoints, tmp_path / "run/sparse/0")
    for name in model.images.names:
        (tmp_path / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (WIDTH_PX, HEIGHT_PX)).save(tmp_path / "photos" / name)
    return tmp_path / "run"


def export(source: Path, target: str, *options: object) -> Path:
    folder = source.parent / f"for {target}"
    assert run(["export", str(source), "--to", target, "-o", str(folder), *map(str, options)]) == 0
    return folder


def photos(source: Path) -> tuple[str, Path]:
    return "--images", source.parent / "photos"


@pytest.mark.parametrize(("target", "suffix"), [("colmap", "bin"), ("text", "txt")])
def test_colmap_files_hold_the_same_model(target: str, suffix: str, source: Path) -> None:
    folder = export(source, target, *photos(source))
    assert (folder / f"sparse/0/points3D.{suffix}").is_file()
    again, keypoints = read_model(folder / "sparse/0")
    model, _ = read_model(source / "sparse/0")
    np.testing.assert_allclose(again.xyz, model.xyz, atol=1e-12)
    np.testing.assert_allclose(error_px(again, keypoints).mean(), 0.62, atol=0.05)
    assert len(list((folder / "images").rglob("*.jpg"))) == len(model.images)


def test_the_newest_of_two_formats_is_what_readers_find(source: Path) -> None:
    for target in ("colmap", "text", "colmap"):
        folder = source.parent / "both"
        assert run(["export", str(source), "--to", target, "-o", str(folder)]) == 0
        assert len({path.suffix for path in (folder / "sparse/0").iterdir()}) == 1


def test_points_and_trajectory(source: Path) -> None:
    assert (export(source, "ply") / "points.ply").read_bytes().startswith(b"ply\n")
    assert len((export(source, "tum") / "trajectory.txt").read_text().splitlines()) == 1 + 6


def test_a_folder_of_model_files_does_as_well_as_a_run(source: Path) -> None:
    assert (export(source / "sparse/0", "nerfstudio") / "transforms.json").is_file()


def test_gaussian_splatting_gets_pinholes_and_photos_of_their_size(source: Path) -> None:
    folder = export(source, "3dgs", *photos(source))
    model = pycolmap.Reconstruction(folder / "sparse/0")
    for image in model.images.values():
        assert image.camera.model_name == "PINHOLE"
        with Image.open(folder / "images" / image.name) as photo:
            assert photo.size == (image.camera.width, image.camera.height)


def test_nerfstudio_gets_straight_cameras_where_asked(source: Path) -> None:
    folder = export(source, "nerfstudio", "--undistort", *photos(source))
    meta = json.loads((folder / "transforms.json").read_text())
    assert meta["camera_model"] == "PINHOLE"
    assert all("k1" not in frame for frame in meta["frames"])
    assert all((folder / frame["file_path"]).is_file() for frame in meta["frames"])


def positions_of(source: Path) -> dict[str, tuple[float, float, float]]:
    """GPS for the model at 45 degrees north, 22.2 m to a unit of the model, whose axes are east, north and up."""
    model, _ = read_model(source / "sparse/0")
    centre = model.poses.cam_from_world.centre
    return {
        name: (45 + north * 1.998e-4, 7 + east * 2.815e-4, 100 + up * 22.2)
        for name, (east, north, up) in zip(model.images.names, centre, strict=True)
    }


def assert_in_metres(source: Path, folder: Path) -> None:
    facts = json.loads((folder / "georeference.json").read_text())
    assert facts["metres_per_unit"] == pytest.approx(22.2, rel=0.002)
    assert facts["rms_to_gps_m"] < 0.1
    (model, _), (metric, _) = read_model(source / "sparse/0"), read_model(folder / "sparse/0")
    before, after = model.poses.cam_from_world.centre, metric.poses.cam_from_world.centre
    np.testing.assert_allclose(after - after[0], 22.2 * (before - before[0]), atol=0.5)


def test_a_table_of_positions_makes_metres(source: Path, capsys: Capture) -> None:
    lines = [f"{name},{lat},{lon},{alt}" for name, (lat, lon, alt) in positions_of(source).items()]
    table = source.parent / "gps.csv"
    table.write_text("\n".join(["name,lat,lon,alt", *lines]))
    folder = export(source, "colmap", "--gps", table, "--json")
    said = json.loads(capsys.readouterr().out)
    assert said["georeference"] == json.loads((folder / "georeference.json").read_text())
    assert said["files"] == [str(folder / "sparse/0"), str(folder / "georeference.json")]
    assert_in_metres(source, folder)


def test_a_run_remembers_where_its_photos_were_taken(source: Path) -> None:
    """Positions that EXIF gave to the run's database are enough; the photos may be gone."""
    system = pycolmap.PosePriorCoordinateSystem.WGS84
    database = pycolmap.Database.open(source / "database.db")
    camera_id = database.write_camera(pycolmap.Camera(model="PINHOLE", width=9, height=9, params=[9, 9, 4, 4]))
    sensor = pycolmap.sensor_t(pycolmap.SensorType.CAMERA, camera_id)
    for name, position in positions_of(source).items():
        image_id = database.write_image(pycolmap.Image(name=name, camera_id=camera_id))
        prior = pycolmap.PosePrior(position=position, coordinate_system=system)
        prior.corr_data_id = pycolmap.data_t(sensor, image_id)
        database.write_pose_prior(prior)
    database.close()
    assert_in_metres(source, export(source, "colmap", "--metric"))


class TestBadInput:
    """One sentence on standard error, and a code that is not 0."""

    def refused(self, capsys: Capture, source: Path, target: str, *options: object) -> str:
        command = ["export", str(source), "--to", target, "-o", str(source.parent / "out"), *map(str, options)]
        assert run(command) in (2, 3)
        error = capsys.readouterr().err
        assert error.startswith("vgpa: ")
        assert error.count("\n") == 1
        return error

    def test_no_model(self, tmp_path: Path, capsys: Capture) -> None:
        assert "no COLMAP model" in self.refused(capsys, tmp_path, "ply")
        assert "no COLMAP model" in self.refused(capsys, tmp_path / "nowhere", "ply")

    def test_a_broken_model(self, source: Path, capsys: Capture) -> None:
        (source / "sparse/0/images.bin").write_bytes(b"broken")
        assert "cannot be read" in self.refused(capsys, source, "ply")

    def test_an_empty_model(self, tmp_path: Path, capsys: Capture) -> None:
        pycolmap.Reconstruction().write(tmp_path)
        assert "has no images" in self.refused(capsys, tmp_path, "nerfstudio")

    def test_straightening_without_photos(self, source: Path, capsys: Capture) -> None:
        assert "--images" in self.refused(capsys, source, "3dgs")
        assert "no photos to straighten" in self.refused(capsys, source, "tum", "--undistort")

    def test_photos_that_are_not_there(self, source: Path, capsys: Capture) -> None:
        assert "photo_0" in self.refused(capsys, source, "nerfstudio", "--images", source)

    def test_nothing_is_written_for_a_lens_that_the_target_lacks(self, source: Path, capsys: Capture) -> None:
        model, keypoints = make_model("FULL_OPENCV")
        write_model(model, keypoints, source / "sparse/0")
        assert "--undistort" in self.refused(capsys, source, "nerfstudio", *photos(source))
        assert not any((source.parent / "out").iterdir())

    def test_no_model_lies_beside_photos_that_could_not_be_straightened(self, source: Path, capsys: Capture) -> None:
        (source.parent / "photos/walk/photo_3.jpg").write_bytes(b"broken")
        assert "photo_3.jpg cannot be read" in self.refused(capsys, source, "3dgs", *photos(source))
        assert not (source.parent / "out/sparse").exists()

    def test_photos_without_gps(self, source: Path, capsys: Capture) -> None:
        assert "Only 0 photos" in self.refused(capsys, source, "ply", "--metric")
        assert "Only 0 photos" in self.refused(capsys, source, "ply", "--metric", *photos(source))

    def test_an_output_that_is_the_input(self, source: Path, capsys: Capture) -> None:
        before = (source / "sparse/0/images.bin").read_bytes()
        assert run(["export", str(source), "--to", "text", "-o", str(source)]) == 2
        assert "overwrite the model" in capsys.readouterr().err
        (source.parent / "photos").rename(source / "images")
        command = ["export", str(source), "--to", "nerfstudio", "-o", str(source), "--undistort"]
        assert run([*command, "--images", str(source / "images")]) == 2
        assert "overwrite the photos" in capsys.readouterr().err
        assert (source / "sparse/0/images.bin").read_bytes() == before

    @pytest.mark.parametrize("name", ["../../stolen.jpg", "/stolen.jpg"])
    def test_names_that_lead_out_of_the_folder(self, name: str, source: Path, capsys: Capture) -> None:
        model, keypoints = make_model("SIMPLE_RADIAL")
        names = (name, *model.images.names[1:])
        model = replace(model, images=replace(model.images, names=names))
        write_model(model, keypoints, source / "sparse/0")
        for target in ("3dgs", "nerfstudio", "colmap"):
            assert "stolen.jpg" in self.refused(capsys, source, target, *photos(source))
        assert not list(source.parent.rglob("stolen.jpg"))

    def test_names_that_text_files_cannot_hold(self, source: Path, capsys: Capture) -> None:
        model, keypoints = make_model("SIMPLE_RADIAL")
        names = ("a b.jpg", *model.images.names[1:])
        write_model(replace(model, images=replace(model.images, names=names)), keypoints, source / "sparse/0")
        assert re.search("white space.*'a b.jpg'", self.refused(capsys, source, "text"))

    def test_an_output_in_the_way(self, source: Path, capsys: Capture) -> None:
        (source.parent / "out").mkdir()
        (source.parent / "out/points.ply").mkdir()
        assert "cannot be written" in self.refused(capsys, source, "ply")


def test_phone_photos_to_gaussian_splatting_in_metres(data_dir: Path, tmp_path: Path, capsys: Capture) -> None:
    reference, images = data_dir / "scenes/lund29/reference", data_dir / "photos/lund29/images"
    command = ["export", str(reference), "--to", "3dgs", "-o", str(tmp_path), "--images", str(images), "--metric"]
    assert run(command) == 0
    said = capsys.readouterr().out
    assert re.search(r"scale +16\.\d+ m per unit", said)
    assert re.search(r"to GPS +5\.\d+ m RMS", said)
    assert "x east, y north, z up" in said
    assert re.search(r"origin 55\.69\d+, 13\.19\d+, 35", said)
    before, after = pycolmap.Reconstruction(reference), pycolmap.Reconstruction(tmp_path / "sparse/0")
    for model in (before, after):
        model.update_point_3d_errors()
    assert after.compute_mean_reprojection_error() == pytest.approx(before.compute_mean_reprojection_error(), rel=0.01)
    first, last = (after.find_image_with_name(name).projection_center() for name in ("01.jpg", "29.jpg"))
    # North along the street, by a map 196 m.
    assert np.linalg.norm(last - first) == pytest.approx(196, rel=0.05)
    assert last[1] - first[1] > 180
    assert abs(last[2] - first[2]) < 3
