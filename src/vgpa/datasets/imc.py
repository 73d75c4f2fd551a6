"""The Image Matching Challenges' tables of poses, one row per photo.

From 2023 on, one table for all; the scene is called DATASET/SCENE:

    train_labels.csv (or train/train_labels.csv)     dataset, scene, the photo (image_path, image_name or image),
                                                     rotation_matrix, translation_vector, perhaps calibration_matrix
    DATASET/SCENE/images/, DATASET/images/, DATASET/ photos, beside the table or in train/ beside it

In 2022, one table per scene, which is called after its folder:

    SCENE/calibration.csv     image_id (no suffix), camera_intrinsics, rotation_matrix, translation_vector
    SCENE/images/*.jpg        photos

Matrices are written by rows, with semicolons or spaces between the numbers, and take the world to the camera; "nan" or
nothing where a pose is unknown.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from vgpa.datasets.reference import (
    make_images,
    make_reference,
    photo_size,
    pinhole,
    reading,
    rotation_of,
    unknown_camera,
)
from vgpa.datasets.scene import DatasetScene
from vgpa.errors import InputError
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray
from vgpa.scene import Camera

TABLES = ("train_labels.csv", "train/train_labels.csv")
PHOTO_COLUMNS = ("image_path", "image_name", "image", "image_id")
CALIBRATION_COLUMNS = ("camera_intrinsics", "calibration_matrix")
WHAT = "a table of poses"
Row = dict[str, str]


def list_scenes(root: Path) -> list[str]:
    """Scenes of the table, and folders with a table of their own."""
    table = _find_table(root)
    listed = {_scene_of(row) for row in _read_rows(table)} if table is not None else set()
    return sorted(listed | {path.parent.name for path in root.glob("*/calibration.csv")})


def load_scene(root: Path, name: str) -> DatasetScene:
    """One scene with its poses."""
    own, table = root / name / "calibration.csv", _find_table(root)
    path = own if own.is_file() else table
    rows = [] if path is None else [row for row in _read_rows(path) if path == own or _scene_of(row) == name]
    if path is None or not rows:
        raise InputError(f"There is no scene {name!r} in {root}", "Give a folder with train_labels.csv")
    with reading(path, WHAT):
        image_dir, names = _find_photos(path.parent, name, [_photo_of(row) for row in rows])
        cameras = [_camera(row, image_dir, photo) for row, photo in zip(rows, names, strict=True)]
        rotation = np.stack([_numbers(row["rotation_matrix"], 9) for row in rows]).reshape(-1, 3, 3)
        translation = np.stack([_numbers(row["translation_vector"], 3) for row in rows])
        is_known = np.asarray(np.isfinite(rotation).all(axis=(1, 2)) & np.isfinite(translation).all(axis=1))
        rotation[~is_known], translation[~is_known] = np.eye(3), 0.0
        cam_from_world = Rigid.from_matrix(rotation_of(rotation), translation)
        reference = make_reference(make_images(names, cameras), cam_from_world, is_known)
    return DatasetScene(name, reference, image_dir=image_dir)


def _find_table(root: Path) -> Path | None:
    return next((root / table for table in TABLES if (root / table).is_file()), None)


def _read_rows(path: Path) -> list[Row]:
    with reading(path, WHAT), path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
        if not rows or not {"rotation_matrix", "translation_vector"} <= set(rows[0]):
            raise ValueError("it has no rows, or no columns rotation_matrix and translation_vector")
        # What a row lacks, or has beyond the header, csv calls None.
        broken = [number for number, row in enumerate(rows, start=2) if None in row or None in row.values()]
        if broken:
            raise ValueError(f"line {broken[0]} is not complete")
    return rows


def _scene_of(row: Row) -> str:
    return f"{row.get('dataset')}/{row.get('scene')}"


def _photo_of(row: Row) -> str:
    column = next((column for column in PHOTO_COLUMNS if column in row), None)
    if column is None:
        raise ValueError(f"it has none of the columns {', '.join(PHOTO_COLUMNS)}")
    return f"{row[column]}.jpg" if column == "image_id" else row[column]


def _find_photos(base: Path, scene: str, photos: list[str]) -> tuple[Path | None, list[str]]:
    """The folder of the photos, where it is there, and their names relative to it."""
    names = [photo.rpartition("/")[2] for photo in photos]
    dataset = scene.partition("/")[0]
    beside = (Path("images"), Path(scene, "images"), Path(dataset, "images"), Path(dataset))
    folders = (base / part / folder for part in ("", "train") for folder in beside)
    return next((folder for folder in folders if (folder / names[0]).is_file()), None), names


def _camera(row: Row, image_dir: Path | None, name: str) -> Camera:
    size = None if image_dir is None else photo_size(image_dir / name)
    column = next((column for column in CALIBRATION_COLUMNS if row.get(column)), None)
    return unknown_camera(size) if column is None else pinhole(_numbers(row[column], 9).reshape(3, 3), size)


def _numbers(text: str, num: int) -> FloatArray:
    """The numbers of a cell; NaN where it is empty."""
    words = text.replace(";", " ").split()
    if not words:
        return np.full(num, np.nan)
    if len(words) != num:
        raise ValueError(f"a cell holds {len(words)} numbers, not {num}")
    return np.array(words, dtype=np.float64)
