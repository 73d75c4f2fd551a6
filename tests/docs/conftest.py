"""What the commands of the documentation work on: a finished run, and data folders with very little in them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.docs.small_data import write_small_data
from vgpa.cli import run


@pytest.fixture(scope="session")
def finished(demo_photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that the commands name: photos, a finished run, its database and its model."""
    folder = tmp_path_factory.mktemp("documented")
    shutil.copytree(demo_photos, folder / "photos")
    assert run(["reconstruct", str(folder / "photos"), "-o", str(folder / "out"), "-q"]) == 0
    shutil.copy(folder / "out" / "database.db", folder)
    for name in ("MODEL", "REFERENCE", "reference", "out-colmap/sparse/0"):
        shutil.copytree(folder / "out" / "sparse" / "0", folder / name)
    return folder


@pytest.fixture(scope="session")
def small_data(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder laid out like that of VGPA_DATA."""
    folder = tmp_path_factory.mktemp("data")
    write_small_data(folder, finished)
    return folder
