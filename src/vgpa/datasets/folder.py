"""Scenes of one's own: a folder each, with a COLMAP model as reference and what there is beside it.

    NAME/reference/      COLMAP model (binary or text), or NAME/sparse/0
    NAME/images/         photos, optional
    NAME/database.db     COLMAP database with verified pairs, optional

Intrinsics count as known where the database has the same ones as the reference: bundle adjustment never leaves a guess
or an EXIF value as it was.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from vgpa.colmap.model import read_model
from vgpa.datasets.reference import reading, scene_folder
from vgpa.datasets.scene import DatasetScene
from vgpa.errors import InputError
from vgpa.scene import FocalSource, ImageSet

MODELS = ("reference", "sparse/0")


def list_scenes(root: Path) -> list[str]:
    """Folders with a reference."""
    return sorted(folder.name for folder in root.glob("*") if any((folder / model).is_dir() for model in MODELS))


def load_scene(root: Path, name: str) -> DatasetScene:
    """One scene with the model it is compared with."""
    folder = scene_folder(root, name)
    model = next((folder / model for model in MODELS if (folder / model).is_dir()), None)
    if model is None:
        raise InputError(f"There is no reference in {folder}", "Put a COLMAP model into its folder reference")
    reference, _ = read_model(model)
    database, photos = folder / "database.db", folder / "images"
    if database.is_file() and _has_same_cameras(database, reference.images):
        cameras = tuple(replace(camera, focal_source=FocalSource.PRIOR) for camera in reference.images.cameras)
        reference = replace(reference, images=reference.images.with_cameras(cameras))
    return DatasetScene(
        name,
        reference,
        image_dir=photos if photos.is_dir() else None,
        database=database if database.is_file() else None,
    )


def _has_same_cameras(database: Path, images: ImageSet) -> bool:
    """Whether the database has the reference's intrinsics for every image."""
    query = "SELECT name, params FROM images JOIN cameras USING (camera_id)"
    # `immutable` keeps sqlite from making files beside a database that may lie in a read-only folder.
    with (
        reading(database, "a COLMAP database"),
        closing(sqlite3.connect(f"{database.resolve().as_uri()}?immutable=1", uri=True)) as connection,
    ):
        params = {name: np.frombuffer(blob, dtype=np.float64) for name, blob in connection.execute(query)}
    own = {name: images.camera_of(k).params for k, name in enumerate(images.names)}
    return all(
        name in params and params[name].shape == known.shape and np.allclose(params[name], known)
        for name, known in own.items()
    )
