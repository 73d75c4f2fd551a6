"""`vgpa benchmark` from beginning to end: folders in published layouts in, tables out."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.datasets.layouts import LAYOUTS, make_truth
from vgpa.benchmark import methods
from vgpa.benchmark.measure import Cost
from vgpa.cli import run
from vgpa.colmap.model import write_model
from vgpa.demo import DemoCameras
from vgpa.geometry.rigid import Rigid
from vgpa.scene import Camera, FocalSource, ImageSet, Keypoints, Poses, Reconstruction, Tracks

Rows = list[dict[str, str]]
DOCS = Path(__file__).parents[2] / "docs" / "tables.md"


def fill(table: str, data: Path, output: Path, *options: str) -> tuple[int, Rows]:
    """Exit code of the command, and the rows of its table."""
    code = run(["benchmark", table, "--data", str(data), "-o", str(output), "--quiet", *options])
    with (output / f"{table}.csv").open(newline="") as file:
        return code, list(csv.DictReader(file))


def here(rows: Rows, scene: str) -> Rows:
    return [row for row in rows if (row["scene"], row["source"]) == (scene, "here")]


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all tables, which share their runs."""
    return tmp_path_factory.mktemp("output")


@pytest.fixture(scope="module")
def photo_root(demo_photos: Path, demo_cameras: DemoCameras, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's photos as a scene of Strecha, one of BlendedMVS and one of MegaDepth."""
    root = tmp_path_factory.mktemp("photos")
    photos = sorted(demo_photos.iterdir())
    size = demo_cameras.width, demo_cameras.height
    k = np.array([[demo_cameras.focal_px, 0, size[0] / 2], [0, demo_cameras.focal_px, size[1] / 2], [0, 0, 1.0]])
    cams = Rigid.from_matrix(demo_cameras.rotation, demo_cameras.translation)
    strecha, blended, mega = root / "fountain-P11", root / "scene2", root / "0019"
    for folder in (strecha / "images", blended / "blended_images", mega / "images"):
        shutil.copytree(demo_photos, folder)
    (strecha / "gt_dense_cameras").mkdir()
    (blended / "cams").mkdir()
    for photo, world_to_cam, centre in zip(photos, cams.matrix, cams.centre, strict=True):
        blocks = [k, np.zeros(3), world_to_cam[:, :3].T, centre, np.array(size)]
        text = "\n".join(" ".join(map(repr, block.ravel().tolist())) for block in blocks)
        (strecha / "gt_dense_cameras" / f"{photo.name}.camera").write_text(text)
        rows = "\n".join(" ".join(map(repr, row)) for row in [*world_to_cam.tolist(), [0, 0, 0, 1]])
        calibration = "\n".join(" ".join(map(repr, row)) for row in k.tolist())
        camera = f"extrinsic\n{rows}\n\nintrinsic\n{calibration}\n\n1 1\n"
        (blended / "cams" / f"{photo.stem}_cam.txt").write_text(camera)
    pinhole = Camera("PINHOLE", *size, np.array([k[0, 0], k[1, 1], k[0, 2], k[1, 2]]), FocalSource.PRIOR)
    num = len(photos)
    images = ImageSet(tuple(p.name for p in photos), np.zeros(num, np.int64), (pinhole,), np.arange(1, num + 1))
    nothing = np.zeros((0, 3))
    model = Reconstruction(images, Poses.of_all(cams), nothing, Tracks.empty(), np.zeros(0), nothing.astype(np.uint8))
    keypoints = Keypoints(np.zeros(num + 1, dtype=np.int64), np.zeros((0, 2)))
    write_model(model, keypoints, mega / "sparse" / "manhattan" / "0")
    return root


def test_photos_of_strecha_and_blendedmvs_fill_their_table(photo_root: Path, output: Path) -> None:
    code, rows = fill("strecha_blendedmvs", photo_root, output, "--methods", "default")
    assert code == 0
    assert {row["scene"] for row in rows} == {"fountain-P11", "scene2", "mean"}
    for scene in ("fountain-P11", "scene2"):
        (row,) = here(rows, scene)
        assert int(row["num_images"]) == 6
        assert float(row["registered"]) == 6
        assert float(row["rotation_deg"]) < 0.5
        assert float(row["seconds"]) > 0
        published = {row["method"]: row for row in rows if (row["scene"], row["source"]) == (scene, "paper")}
        assert "this one 6" in published["VGPA"]["notes"]
    assert published["COLMAP"]["rotation_deg"] == "0.003"


@pytest.mark.parametrize(
    ("table", "labels"),
    [
        ("megadepth", {"VGPA default"}),
        ("reintegration", {"VGPA default, without re-integration", "VGPA default, with re-integration"}),
    ],
)
def test_photos_of_megadepth_fill_its_tables(table: str, labels: set[str], photo_root: Path, output: Path) -> None:
    code, rows = fill(table, photo_root, output, "--methods", "default")
    assert code == 0
    assert {row["scene"] for row in rows} == {"0019"}
    assert {row["method"] for row in here(rows, "0019")} == labels
    assert all(float(row["registered"]) == 6 for row in here(rows, "0019"))


@pytest.fixture(scope="module")
def track_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scene of 1DSfM and one of RESfM."""
    root = tmp_path_factory.mktemp("tracks")
    for name in ("onedsfm", "resfm"):
        LAYOUTS[name].write(root, make_truth())
    return root


@pytest.mark.parametrize(
    ("table", "scene", "options"),
    [
        ("onedsfm", "Alamo", []),
        ("runtime", "Alamo", []),
        ("graph_density", "Alamo", ["--neighbours", "3"]),
        ("uncalibrated", "Alamo", ["--scenes", "Alamo"]),
        ("auc", "Alamo", []),
        ("ra_auc", "0156 new", ["--scenes", "0156 new"]),
    ],
)
def test_tracks_of_1dsfm_and_resfm_fill_their_tables(
    table: str, scene: str, options: list[str], track_root: Path, output: Path
) -> None:
    code, rows = fill(table, track_root, output, "--methods", "default", *options)
    assert code == 0
    own = here(rows, scene)
    assert own
    assert all(float(row["registered"]) == 6 for row in own)
    if scene == "Alamo" and table != "uncalibrated":
        assert any(row["source"] == "paper" for row in rows)


def test_networks_fill_the_ablation_and_missing_weights_are_said(
    track_root: Path, output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["benchmark", "ablation", "--data", str(track_root), "-o", str(output), "--scenes", "Alamo"]
    assert run([*command, "--methods", "pretrained", "random", "averaged", "layers2"]) == 5
    text = capsys.readouterr().out
    assert "No model: 2 GNN layers on mean: There are no weights layers2.safetensors" in text
    with (output / "ablation.csv").open(newline="") as file:
        rows = {row["method"]: row for row in csv.DictReader(file) if row["source"] == "here"}
    assert float(rows["VGPA default (its network and robust averaging)"]["pose_auc30"]) > 0.9
    assert float(rows["Random init"]["pose_auc30"]) < 0.5


def test_what_is_finished_is_not_run_again(
    track_root: Path, output: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def measure(command: list[str]) -> Cost:
        calls.append(command)
        return Cost(1.0, 1.0, 1.0, 4, "vgpa: No two images match", 0.0)

    monkeypatch.setattr(methods, "measure", measure)
    options = ("--scenes", "Alamo", "--methods", "colmap")
    first = fill("onedsfm", track_root, tmp_path, *options)
    assert fill("runtime", track_root, tmp_path, *options)[0] == first[0] == 0
    assert len(calls) == 1, "two tables share a run"
    assert "--fix-intrinsics" in calls[0]
    assert first[1][0]["problem"] == "No two images match"
    assert "no model" in (tmp_path / "onedsfm.md").read_text()


def test_a_damaged_scene_is_skipped_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    for name in ("good", "bad"):
        data.mkdir(exist_ok=True)
        LAYOUTS["folder"].write(data, make_truth())
        (data / "plaza").rename(data / name)
    (data / "bad" / "reference" / "images.bin").write_bytes(b"\x05\x00")
    truth = make_truth()
    (tmp_path / "found").mkdir()
    names = np.array(truth.problem.images.names)
    np.savez(tmp_path / "found" / "good.npz", extrinsic=truth.cam_from_world.matrix, names=names)
    options = ["--methods", "default", "--import", f"VGGT={tmp_path / 'found'}"]
    assert run(["benchmark", "megadepth", "--data", str(data), "-o", str(tmp_path / "out"), *options]) == 5
    text = capsys.readouterr().out
    assert re.search(r"Skipped: bad: .*bad.reference cannot be read as a COLMAP model", text)
    row = next(line for line in text.splitlines() if line.startswith("|  |  |  | VGGT"))
    assert "| 6 |" in row
    assert "VGGT was read from files" in text


def test_the_documented_method_stands_in_a_table(synthetic_database: tuple[Path, Path], tmp_path: Path) -> None:
    (code_block,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(), flags=re.S)
    assert len(code_block.splitlines()) <= 20
    method = tmp_path / "glomap_plus.py"
    method.write_text(code_block)
    shutil.copytree(synthetic_database[1], tmp_path / "data" / "scene" / "reference")
    shutil.copyfile(synthetic_database[0], tmp_path / "data" / "scene" / "database.db")
    code, rows = fill("megadepth", tmp_path / "data", tmp_path / "out", "--methods", str(method))
    assert code == 0
    assert [(row["method"], float(row["registered"])) for row in rows] == [("glomap_plus", 12)]


def test_a_surveyed_scene_stands_beside_the_papers_figures(data_dir: Path, tmp_path: Path) -> None:
    options = ("--scenes", "entry-P10", "--methods", "default")
    code, rows = fill("strecha_blendedmvs", data_dir / "scenes", tmp_path, *options)
    assert code == 0
    (own,) = here(rows, "entry-P10")
    assert own["num_images"] == own["registered"].removesuffix(".0") == "10"
    assert float(own["rotation_deg"]) < 0.04
    assert float(own["translation"]) < 0.012
    assert 0 < float(own["outlier_percent"]) < 10
    assert len([row for row in rows if row["source"] == "paper"]) == 7
    assert "Reference of entry-P10: survey" in (tmp_path / "strecha_blendedmvs.md").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--methods", "bundler"], "no method 'bundler'"),
        (["--methods", "colmap", "colmap"], "Two methods are called 'colmap'"),
        (["--import", "VGGT"], "does not name imported results"),
        (["--scenes", "attic"], "no scene 'attic'"),
        (["--seeds", "0"], "at least one seed"),
    ],
)
def test_a_wrong_request_is_a_sentence(
    options: list[str], message: str, track_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["benchmark", "onedsfm", "--data", str(track_root), "-o", str(tmp_path), *options]) == 2
    assert message in capsys.readouterr().err


def test_imported_poses_have_no_place_in_the_ablation(
    track_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["benchmark", "ablation", "--data", str(track_root), "-o", str(tmp_path)]
    assert run([*command, "--import", f"VGGT={tmp_path}"]) == 2
    assert "compares networks" in capsys.readouterr().err
