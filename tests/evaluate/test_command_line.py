"""`vgpa evaluate` as a user meets it: two models, or a model and a dataset's scene, as table, JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.datasets.layouts import LAYOUTS, make_truth, model_of
from vgpa.cli import run
from vgpa.colmap.model import write_model

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    truth, folder = make_truth(), tmp_path_factory.mktemp("model")
    write_model(model_of(truth), truth.problem.keypoints, folder)
    return str(folder)


def test_a_table(model: str, capsys: Capture) -> None:
    assert run(["evaluate", model, model]) == 0
    printed = capsys.readouterr().out
    for part in (
        "6 / 6",
        "RA-AUC @ 1 / 5 / 30 deg",
        "1.0000 / 1.0000 / 1.0000",
        "AUC of rotations",
        "wrong observations",
    ):
        assert part in printed


def test_json_and_csv_say_the_same(model: str, capsys: Capture) -> None:
    assert run(["evaluate", model, model, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert run(["evaluate", model, model, "--csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert float(row["auc_5"]) == record["auc"]["5"] == pytest.approx(1, abs=1e-6)
    assert float(row["position_median_relative"]) == record["position_median_relative"]
    assert int(row["num_points"]) == record["points"]["num_points"] == 60
    assert float(row["outlier_fraction"]) == record["points"]["outlier_fraction"] == 0


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_reference_in_every_layout(name: str, model: str, tmp_path: Path, capsys: Capture) -> None:
    layout = LAYOUTS[name]
    layout.write(tmp_path, make_truth())
    options = ["--dataset", layout.dataset, "--scene", layout.scene, "--json"]
    assert run(["evaluate", model, str(tmp_path), *options]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["num_registered"] == record["num_images"] == 6
    assert record["ra_auc"]["1"] == pytest.approx(1, abs=1e-4)


def test_options_change_the_protocol(model: str, tmp_path: Path, capsys: Capture) -> None:
    assert run(["evaluate", model, model, "--alignment", "umeyama", "--area", "degrees", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["auc"]["1"] == 1


def test_a_missing_scene_is_one_sentence(model: str, tmp_path: Path, capsys: Capture) -> None:
    LAYOUTS["strecha"].write(tmp_path, make_truth())
    assert run(["evaluate", model, str(tmp_path), "--dataset", "strecha"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "fountain-P6" in error
