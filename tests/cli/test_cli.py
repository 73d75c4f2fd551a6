"""The command line as a user meets it: results on success; one clear sentence and a non-zero exit on bad input."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pycolmap
import pytest
from PIL import Image

from vgpa.cli import run
from vgpa.colmap.silence import silenced

Capture = pytest.CaptureFixture[str]


def noise_photo(path: Path, seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 255, (120, 160, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(path)


def assert_one_sentence(capture: Capture, *words: str) -> None:
    error = capture.readouterr().err
    assert error.startswith("vgpa: ")
    assert error.count("\n") == 1
    assert "Traceback" not in error
    for word in words:
        assert re.search(word, error), f"{word!r} is not in {error!r}"


@pytest.fixture(scope="module")
def mapped(synthetic_database: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("mapped")
    assert run(["map", str(synthetic_database[0]), "-o", str(output), "-q"]) == 0
    return output


class TestMap:
    """`vgpa map` on a database with a known answer."""

    def test_the_output_folder_is_complete(self, mapped: Path) -> None:
        files = {path.relative_to(mapped).as_posix() for path in mapped.rglob("*") if path.is_file()}
        assert files >= {
            "sparse/0/cameras.bin",
            "sparse/0/images.bin",
            "sparse/0/points3D.bin",
            "report.html",
            "report.json",
            "config.json",
            "log.txt",
            "points.ply",
        }

    def test_the_model_opens_in_pycolmap_and_in_its_text_export(self, mapped: Path, tmp_path: Path) -> None:
        model = pycolmap.Reconstruction(mapped / "sparse" / "0")
        assert model.num_reg_images() == 12
        model.write_text(tmp_path)
        assert pycolmap.Reconstruction(tmp_path).num_points3D() == model.num_points3D()

    def test_every_image_has_a_state(self, mapped: Path) -> None:
        report = json.loads((mapped / "report.json").read_text())
        assert len(report["images"]) == 12
        assert {image["state"] for image in report["images"]} == {"registered"}
        assert report["cameras"][0]["focal_source"] == "guess"
        assert report["stages"][0]["name"] == "read database"

    def test_it_agrees_with_the_truth(
        self, mapped: Path, synthetic_database: tuple[Path, Path], capsys: Capture
    ) -> None:
        assert run(["evaluate", str(mapped / "sparse" / "0"), str(synthetic_database[1]), "--json"]) == 0
        scores = json.loads(capsys.readouterr().out)
        assert scores["num_registered"] == 12
        assert scores["rotation_mean_deg"] < 0.1
        assert scores["auc"]["5"] > 0.97

    def test_a_model_against_itself_is_perfect(self, mapped: Path, capsys: Capture) -> None:
        model = str(mapped / "sparse" / "0")
        assert run(["evaluate", model, model, "--json"]) == 0
        scores = json.loads(capsys.readouterr().out)
        assert scores["rotation_mean_deg"] < 1e-6
        assert scores["position_mean"] < 1e-9
        assert scores["auc"] == pytest.approx({"1": 1, "5": 1, "30": 1}, abs=1e-6)

    def test_json_prints_one_object(
        self, synthetic_database: tuple[Path, Path], tmp_path: Path, capsys: Capture
    ) -> None:
        assert run(["map", str(synthetic_database[0]), "-o", str(tmp_path), "--json", "--preset", "fast"]) == 0
        headline = json.loads(capsys.readouterr().out)
        assert headline["num_registered"] == 12

    def test_two_runs_are_equal(self, mapped: Path, synthetic_database: tuple[Path, Path], tmp_path: Path) -> None:
        assert run(["map", str(synthetic_database[0]), "-o", str(tmp_path), "-q"]) == 0
        first, second = (pycolmap.Reconstruction(folder / "sparse" / "0") for folder in (mapped, tmp_path))
        for image_id in first.reg_image_ids():
            np.testing.assert_allclose(
                first.images[image_id].cam_from_world().matrix(),
                second.images[image_id].cam_from_world().matrix(),
                atol=1e-6,
            )


@pytest.fixture(scope="module")
def partial(mapped: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mapped model without three of its images."""
    folder = tmp_path_factory.mktemp("partial")
    model = pycolmap.Reconstruction(mapped / "sparse" / "0")
    for image_id in sorted(model.reg_image_ids())[4:7]:
        model.deregister_frame(model.images[image_id].frame_id)
    model.write(folder)
    return folder


class TestRegister:
    """`vgpa register` on a model that lacks three images of its database."""

    def test_the_missing_images_come_back_where_they_belong(
        self, partial: Path, synthetic_database: tuple[Path, Path], tmp_path: Path, capsys: Capture
    ) -> None:
        database, true = synthetic_database
        assert run(["register", str(partial), str(database), "-o", str(tmp_path), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["num_registered"] == 12
        assert run(["evaluate", str(tmp_path / "sparse" / "0"), str(true), "--json"]) == 0
        scores = json.loads(capsys.readouterr().out)
        assert scores["num_registered"] == 12
        assert scores["rotation_mean_deg"] < 0.1
        report = json.loads((tmp_path / "report.json").read_text())
        assert {(image["state"], image["model"]) for image in report["images"]} == {("registered", 0)}
        assert (tmp_path / "report.html").is_file()

    def test_the_cameras_of_the_model_stay_as_they_are(
        self, partial: Path, synthetic_database: tuple[Path, Path], tmp_path: Path
    ) -> None:
        assert run(["register", str(partial), str(synthetic_database[0]), "-o", str(tmp_path), "-q"]) == 0
        before, after = pycolmap.Reconstruction(partial), pycolmap.Reconstruction(tmp_path / "sparse" / "0")
        poses = {image.name: image.cam_from_world().matrix() for image in after.images.values()}
        for image_id in before.reg_image_ids():
            image = before.images[image_id]
            np.testing.assert_allclose(poses[image.name], image.cam_from_world().matrix(), atol=1e-9)
        (camera,), (same,) = before.cameras.values(), after.cameras.values()
        np.testing.assert_array_equal(camera.params, same.params)

    def test_a_model_without_points_is_triangulated_first(
        self, partial: Path, synthetic_database: tuple[Path, Path], tmp_path: Path
    ) -> None:
        poses_only = pycolmap.Reconstruction(partial)
        for point_id in list(poses_only.points3D):
            poses_only.delete_point3D(point_id)
        (tmp_path / "model").mkdir()
        poses_only.write(tmp_path / "model")
        command = ["register", str(tmp_path / "model"), str(synthetic_database[0]), "-o", str(tmp_path), "-q"]
        assert run(command) == 0
        assert pycolmap.Reconstruction(tmp_path / "sparse" / "0").num_reg_images() == 12

    def test_a_model_of_another_database(self, mapped: Path, tmp_path: Path, capsys: Capture) -> None:
        database = pycolmap.Database.open(tmp_path / "other.db")
        with silenced():
            options = pycolmap.SyntheticDatasetOptions()
            options.num_frames_per_rig, options.num_points3D = 3, 50
            pycolmap.synthesize_dataset(options, database)
        database.close()
        model = str(mapped / "sparse" / "0")
        assert run(["register", model, str(tmp_path / "other.db"), "-o", str(tmp_path / "out"), "-q"]) == 2
        assert_one_sentence(capsys, "not in the database|keypoints")

    def test_no_model(self, synthetic_database: tuple[Path, Path], tmp_path: Path, capsys: Capture) -> None:
        command = ["register", str(tmp_path / "nowhere"), str(synthetic_database[0]), "-o", str(tmp_path), "-q"]
        assert run(command) == 2
        assert_one_sentence(capsys, "no model folder")


def test_table_of_a_run_is_printed(synthetic_database: tuple[Path, Path], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "vgpa", "map", str(synthetic_database[0]), "-o", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert re.search(r"images registered +12 / 12", done.stdout)
    assert done.stderr == ""


class TestBadInput:
    """Everything a user can get wrong ends in one sentence."""

    def test_empty_folder(self, tmp_path: Path, capsys: Capture) -> None:
        assert run(["reconstruct", str(tmp_path), "-o", str(tmp_path / "out")]) == 2
        assert_one_sentence(capsys, "no photos")

    def test_missing_folder(self, tmp_path: Path, capsys: Capture) -> None:
        assert run(["reconstruct", str(tmp_path / "nowhere"), "-o", str(tmp_path / "out")]) == 2
        assert_one_sentence(capsys, "no folder")

    def test_one_photo(self, tmp_path: Path, capsys: Capture) -> None:
        noise_photo(tmp_path / "a.jpg", 0)
        assert run(["reconstruct", str(tmp_path), "-o", str(tmp_path / "out")]) == 2
        assert_one_sentence(capsys, "1 readable photo")

    def test_only_unreadable_photos(self, tmp_path: Path, capsys: Capture) -> None:
        (tmp_path / "a.jpg").write_text("no photo")
        assert run(["reconstruct", str(tmp_path), "-o", str(tmp_path / "out")]) == 2
        assert_one_sentence(capsys, "0 readable photos", "a.jpg")

    def test_photos_that_do_not_match(self, tmp_path: Path, capsys: Capture) -> None:
        for k in range(3):
            noise_photo(tmp_path / f"{k}.png", k)
        assert run(["reconstruct", str(tmp_path), "-o", str(tmp_path / "out"), "-q"]) == 4
        assert_one_sentence(capsys, "match well enough")

    def test_not_a_database(self, tmp_path: Path, capsys: Capture) -> None:
        (tmp_path / "database.db").write_text("no database")
        assert run(["map", str(tmp_path / "database.db"), "-o", str(tmp_path / "out"), "-q"]) == 2
        assert_one_sentence(capsys, "COLMAP database")

    def test_output_that_cannot_be_written(
        self, synthetic_database: tuple[Path, Path], tmp_path: Path, capsys: Capture
    ) -> None:
        (tmp_path / "file").write_text("in the way")
        assert run(["map", str(synthetic_database[0]), "-o", str(tmp_path / "file" / "out"), "-q"]) == 3
        assert_one_sentence(capsys, "cannot be written")

    def test_camera_parameters_that_do_not_fit(self, tmp_path: Path, capsys: Capture) -> None:
        command = ["reconstruct", str(tmp_path), "-o", str(tmp_path / "out"), "--camera-params", "1,2"]
        assert run(command) == 2
        assert_one_sentence(capsys, "do not fit")

    def test_models_without_common_images(
        self, synthetic_database: tuple[Path, Path], tmp_path: Path, capsys: Capture
    ) -> None:
        pycolmap.Reconstruction().write(tmp_path)
        assert run(["evaluate", str(tmp_path), str(synthetic_database[1])]) == 2
        assert_one_sentence(capsys, "in common")


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("vgpa ")
