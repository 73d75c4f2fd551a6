"""A database that is large enough to watch."""

from __future__ import annotations

from pathlib import Path

import pycolmap
import pytest

from vgpa.colmap.silence import silenced

NUM_MANY_IMAGES = 104


@pytest.fixture(scope="package")
def many_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of more than a hundred images of a made-up scene, whose matches are few."""
    database = tmp_path_factory.mktemp("many") / "database.db"
    options = pycolmap.SyntheticDatasetOptions()
    options.num_rigs, options.num_cameras_per_rig, options.num_frames_per_rig = 1, 1, NUM_MANY_IMAGES
    options.num_points3D = 1000
    options.match_config = pycolmap.SyntheticDatasetMatchConfig.SPARSE
    options.match_sparsity = 0.85
    with silenced():
        pycolmap.set_random_seed(0)
        opened = pycolmap.Database.open(database)
        pycolmap.synthesize_dataset(options, opened)
        opened.close()
    return database
