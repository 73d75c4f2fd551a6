"""No code from data, and no file outside the folders that were given."""

from __future__ import annotations

import ast
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.hostile.originals import make_database
from tests.hostile.runner import ROOT
from tests.synthetic import make_problem
from vgpa import config as presets
from vgpa.mapping.colors import colorize
from vgpa.pipeline import map_database
from vgpa.scene import Poses, Reconstruction, Tracks

SOURCES = sorted((ROOT / "src" / "vgpa").rglob("*.py"))
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml"}
OUTSIDE_CODE = {"megaloc.py"}
"""Loads a network's code from where the user tells it to: torch.hub, asked for by an option."""


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call in the package: where it is, and what."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield f"{path.name}:{node.lineno}", node


def name_of(call: ast.Call) -> str:
    return ast.unparse(call.func)


def option(call: ast.Call, name: str) -> str | None:
    return next((ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg == name), None)


def test_nothing_evaluates_text() -> None:
    assert len(SOURCES) > 100
    assert [place for place, call in calls() if name_of(call) in FORBIDDEN_CALLS] == []


def test_nothing_unpickles() -> None:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = {alias.name for alias in node.names} if isinstance(node, ast.Import) else set()
            modules |= {node.module or ""} if isinstance(node, ast.ImportFrom) else set()
            assert not modules & FORBIDDEN_MODULES, f"{path.name} imports {modules & FORBIDDEN_MODULES}"
    for place, call in calls():
        name = name_of(call)
        assert name != "torch.load", place
        assert option(call, "allow_pickle") in (None, "False"), place
        if name in ("np.load", "numpy.load"):
            assert option(call, "allow_pickle") == "False", f"{place} loads arrays without forbidding objects"
        assert name != "torch.hub.load" or place.split(":")[0] in OUTSIDE_CODE, place


def test_no_shell_is_started() -> None:
    for place, call in calls():
        assert option(call, "shell") in (None, "False"), place
        assert name_of(call) not in ("os.system", "os.popen", "subprocess.getoutput"), place


def test_values_never_become_sql() -> None:
    """Formatted statements may hold names of tables and columns that the source spells out, never values."""
    for place, call in calls():
        if name_of(call).endswith((".execute", ".executemany", ".executescript")) and call.args:
            statement = call.args[0]
            if isinstance(statement, ast.JoinedStr):
                holes = {ast.unparse(part.value) for part in statement.values if isinstance(part, ast.FormattedValue)}
                assert holes <= {"table", "columns", "listed", "selected", "pose", "key"}, f"{place}: {holes}"
            else:
                assert not isinstance(statement, ast.BinOp), place
                assert not (isinstance(statement, ast.Call) and name_of(statement).endswith("format")), place


@pytest.mark.parametrize("name", ["../secret.png", "{outside}/secret.png", "a/../../secret.png", "link.png"])
def test_names_of_a_database_never_lead_out_of_the_folder(name: str, tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    (photos / "a").mkdir(parents=True)
    Image.new("RGB", (1000, 800), (200, 10, 10)).save(tmp_path / "secret.png")
    (photos / "link.png").symlink_to(tmp_path / "secret.png")
    truth = make_problem(2, 5)
    names = (name.format(outside=tmp_path), "other.png")
    images = replace(truth.problem.images, names=names)
    tracks = Tracks(2 * np.arange(6), np.tile([0, 1], 5), np.repeat(np.arange(5), 2))
    grey = np.full((5, 3), 128, dtype=np.uint8)
    model = Reconstruction(images, Poses.of_all(truth.cam_from_world), truth.xyz, tracks, np.zeros(5), grey)
    assert (colorize(model, truth.problem.keypoints, photos).color == 128).all()


def test_html_in_names_and_titles_stays_text(tmp_path: Path) -> None:
    folder = tmp_path / "<script>alert(1)"
    folder.mkdir()
    make_database(folder / "scene.db", num_images=5)
    with closing(sqlite3.connect(folder / "scene.db")) as connection, connection:
        connection.execute("UPDATE images SET name = '</script><script>alert(' || image_id || ')</script>.jpg'")
    map_database(folder / "scene.db", tmp_path / "out", presets.fast())
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"<script>\s*alert\(", page)
    assert "alert(1)" in page
