"""Contracts of every baseline: right poses from a database it does not touch, and a sentence where it cannot run."""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from vgpa.baselines import BaselineName, MapperOptions, baseline
from vgpa.baselines.theia import _pinhole_params
from vgpa.cli import run
from vgpa.colmap.model import read_model
from vgpa.errors import InputError
from vgpa.evaluate import evaluate
from vgpa.scene import Camera

NAMES = get_args(BaselineName)
OPTIONS = MapperOptions(num_threads=1, fix_intrinsics=True)


def require(name: BaselineName) -> None:
    if name == "theia":
        pytest.importorskip("pytheia")


@pytest.mark.parametrize("fix_intrinsics", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_baseline_finds_the_true_poses(
    name: BaselineName, fix_intrinsics: bool, synthetic_database: tuple[Path, Path], tmp_path: Path
) -> None:
    require(name)
    database, reference = synthetic_database
    before = database.read_bytes()
    mapped = baseline(name)(database, tmp_path / "model", MapperOptions(1, fix_intrinsics))
    model, truth = mapped.read(), read_model(reference)[0]
    scores = evaluate(model, truth)
    assert database.read_bytes() == before, "the database was changed"
    assert mapped.num_registered == model.num_registered == scores.num_registered == 12
    assert mapped.num_points == model.num_points > 100
    assert scores.auc[1] > 0.8
    is_same = np.array_equal(model.images.cameras[0].params, truth.images.cameras[0].params)
    assert is_same is fix_intrinsics


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("content", [None, b"this is not a database at all" * 100])
def test_an_unusable_database_is_a_sentence(name: BaselineName, content: bytes | None, tmp_path: Path) -> None:
    require(name)
    database = tmp_path / "database.db"
    if content is not None:
        database.write_bytes(content)
    with pytest.raises(InputError, match=r"database"):
        baseline(name)(database, tmp_path / "model", OPTIONS)


def test_glomap_calibrates_from_verified_matches_where_raw_ones_are_gone(
    synthetic_database: tuple[Path, Path], tmp_path: Path
) -> None:
    database = tmp_path / "database.db"
    shutil.copyfile(synthetic_database[0], database)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DELETE FROM matches")
        connection.execute("UPDATE cameras SET prior_focal_length = 0")
        connection.execute("UPDATE two_view_geometries SET config = 3")
    model = baseline("glomap")(database, tmp_path / "model", MapperOptions(1, fix_intrinsics=False)).read()
    scores = evaluate(model, read_model(synthetic_database[1])[0])
    assert scores.num_registered == 12
    assert scores.auc[1] > 0.8


def test_a_missing_pytheia_is_a_sentence(
    synthetic_database: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pytheia", None)
    with pytest.raises(InputError, match=r"Theia needs the package pytheia\. Install it with"):
        baseline("theia")(synthetic_database[0], tmp_path, OPTIONS)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bundler", None, "no mapper 'bundler'"),
        ("mine.py", None, "no mapper"),
        ("mine.py", "def map_images(): ...", r"mine\.py has no function map_database"),
    ],
)
def test_a_mapper_that_is_not_there_is_a_sentence(name: str, content: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=message):
        baseline(str(path) if name.endswith(".py") else name)


@pytest.mark.parametrize(
    ("model", "params", "expected"),
    [
        ("SIMPLE_PINHOLE", [900, 500, 400], [900, 900, 500, 400, 0, 0]),
        ("PINHOLE", [900, 910, 500, 400], [900, 910, 500, 400, 0, 0]),
        ("SIMPLE_RADIAL", [900, 500, 400, 0.1], [900, 900, 500, 400, 0.1, 0]),
        ("RADIAL", [900, 500, 400, 0.1, 0.2], [900, 900, 500, 400, 0.1, 0.2]),
    ],
)
def test_theia_is_given_the_same_camera(model: str, params: list[float], expected: list[float]) -> None:
    assert _pinhole_params(Camera(model, 1000, 800, np.array(params))) == expected


def test_theia_refuses_cameras_it_has_no_model_for() -> None:
    with pytest.raises(InputError, match="FOV"):
        _pinhole_params(Camera("FOV", 1000, 800, np.array([900.0, 900, 500, 400, 0.5])))


def test_the_command_writes_a_model_and_says_so(
    synthetic_database: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = str(synthetic_database[0])
    assert run(["baseline", "glomap", database, "-o", str(tmp_path), "--fix-intrinsics", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["num_registered"] == 12
    assert read_model(tmp_path / "sparse" / "0")[0].num_points == facts["num_points"]
