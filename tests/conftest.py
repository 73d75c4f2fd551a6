"""Fixtures shared by the suite: photos and a database with a known answer, and real data where it is at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pycolmap
import pytest
from hypothesis import settings

from vgpa.colmap.silence import silenced
from vgpa.demo import DemoCameras, World, loop_cameras, make_world, write_photos

# The same examples on every machine, however slow it is.
settings.register_profile("suite", derandomize=True, deadline=None)
settings.load_profile("suite")


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
def world() -> World:
    """The demo world, built once."""
    return make_world(seed=0)


@pytest.fixture(scope="session")
def demo_cameras() -> DemoCameras:
    """Six neighbouring cameras of the demo's walk, at a small image size."""
    cameras = loop_cameras(32, seed=0)
    return DemoCameras(480, 320, cameras.focal_px * 480 / cameras.width, cameras.rotation[:6], cameras.translation[:6])


@pytest.fixture(scope="session")
def demo_photos(world: World, demo_cameras: DemoCameras, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the photos of the six cameras, with EXIF."""
    folder = tmp_path_factory.mktemp("demo") / "photos"
    write_photos(world, demo_cameras, folder)
    return folder


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real scenes and photos; tests that need it are skipped without it."""
    folder = os.environ.get("VGPA_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set VGPA_DATA to the folder of real scenes to run this")
    return Path(folder)
