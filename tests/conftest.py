"""Fixtures shared by the suite: a COLMAP database with a known answer, and the real data where it is at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pycolmap
import pytest

from vgpa.colmap.silence import silenced


@pytest.fixture(scope="session")
def synthetic_database(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A database made by pycolmap from a made-up scene of 12 images, and the folder of its true model."""
    folder = tmp_path_factory.mktemp("synthetic")
    options = pycolmap.SyntheticDatasetOptions()
    options.num_rigs = 1
    options.num_cameras_per_rig = 1
    options.num_frames_per_rig = 12
    options.num_points3D = 400
    database, model = folder / "database.db", folder / "true"
    with silenced():
        pycolmap.set_random_seed(0)
        reconstruction = pycolmap.synthesize_dataset(options, pycolmap.Database.open(database))
        noise = pycolmap.SyntheticNoiseOptions()
        noise.point2D_stddev = 0.3
        pycolmap.synthesize_noise(noise, reconstruction, pycolmap.Database.open(database))
        model.mkdir()
        reconstruction.write(model)
    return database, model


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real scenes and photos; tests that need it are skipped without it."""
    folder = os.environ.get("VGPA_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set VGPA_DATA to the folder of real scenes to run this")
    return Path(folder)
