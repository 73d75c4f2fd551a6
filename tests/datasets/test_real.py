"""The real files, where they are at hand: the survey, the folder of scenes, MegaDepth's cameras."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vgpa.datasets import dataset
from vgpa.evaluate import evaluate
from vgpa.scene import FocalSource


def present(folder: Path) -> Path:
    if not folder.is_dir():
        pytest.skip(f"there is no {folder.name} in VGPA_DATA")
    return folder


def test_the_survey_and_the_model_made_from_it_agree(data_dir: Path) -> None:
    """Two readers, two formats, the same cameras: .camera files, and a COLMAP model that was written from them."""
    photos, scenes = present(data_dir / "photos"), present(data_dir / "scenes")
    names = dataset("strecha").list_scenes(photos)
    assert {"fountain-P11", "entry-P10"} <= set(names)
    for name in names:
        survey = dataset("strecha").load_scene(photos, name)
        model = dataset("folder").load_scene(scenes, name)
        scores = evaluate(model.reference, survey.reference)
        assert scores.num_registered == scores.num_images == len(survey.reference.images)
        assert scores.rotation_mean_deg < 1e-3
        assert scores.position_mean < 1e-4
        own, other = survey.reference.images.cameras[0], model.reference.images.cameras[0]
        np.testing.assert_allclose(own.params, other.params)
        assert own.focal_source is other.focal_source is FocalSource.PRIOR
        assert survey.image_dir is not None


def test_scenes_of_the_folder_load_and_know_their_intrinsics(data_dir: Path) -> None:
    scenes = present(data_dir / "scenes")
    assert len(dataset("folder").list_scenes(scenes)) >= 10
    known = set()
    for name in ("dino48", "entry-P10", "fountain-P11", "kitchen25", "reichstag10"):
        scene = dataset("folder").load_scene(scenes, name)
        assert scene.database is not None
        assert scene.reference.num_registered >= 10
        if all(camera.focal_source is FocalSource.PRIOR for camera in scene.reference.images.cameras):
            known.add(name)
    assert known == {"dino48", "entry-P10", "fountain-P11"}


def test_megadepth_cameras_load(data_dir: Path) -> None:
    cameras = present(data_dir / "data" / "cameras")
    names = dataset("megadepth").list_scenes(cameras)
    assert "megadepth_0024" in names
    scene = dataset("megadepth").load_scene(cameras, "megadepth_0024")
    assert scene.reference.num_registered == len(scene.reference.images) == 143
    assert scene.reference.images.names[0].endswith(".jpg")
