"""One export from start to end: read the model, bring it into metres, straighten it, write it.

What can be wrong with the request is found before the first file is written, and the model comes last: where one lies,
its photos are there.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from vgpa.colmap.model import read_model, write_model
from vgpa.colmap.tables import read_positions
from vgpa.colmap.undistort import undistort_model, undistort_photos
from vgpa.errors import InputError, OutputError
from vgpa.frontend.build import DATABASE
from vgpa.frontend.gps import Position, read_gps_exif, read_gps_table
from vgpa.report.export import photos
from vgpa.report.export.metric import Georeference, fit_to_gps, move
from vgpa.report.export.nerfstudio import common_kind, write_nerfstudio
from vgpa.report.export.options import ExportOptions
from vgpa.report.export.trajectory import tum_trajectory
from vgpa.report.ply import write_ply
from vgpa.scene import ImageSet, Keypoints, Reconstruction

MODEL = Path("sparse", "0")
SUFFIXES = ("bin", "txt")
MODEL_FILES = ("cameras", "images", "points3D", "frames", "rigs")


@dataclass(frozen=True, eq=False)
class Exported:
    """What an export left behind.

    Attributes:
        files: files and folders that were written.
        georeference: how the exported model lies on the earth, where that was asked for.
    """

    files: tuple[Path, ...]
    georeference: Georeference | None


def export_model(source: Path, folder: Path, options: ExportOptions) -> Exported:
    """Write the model in `source` (its folder, or the output folder of a run) to `folder` for another tool."""
    place = find_model(source)
    model, keypoints = read_model(place)
    if not model.num_registered:
        raise InputError(f"The model in {place} has no images", "Export a model with registered images")
    photos.check_names(model.images.names)
    _check_request(place, folder, options, model.images)
    georeference = None
    if options.metric:
        georeference = fit_to_gps(model, _find_positions(source, options, model.images.names))
        model = move(model, georeference.enu_from_model)
    images = model.images
    if options.is_straight:
        model, keypoints = undistort_model(model, keypoints)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = []
        if options.images is not None and options.takes_photos:
            write_photos = undistort_photos if options.is_straight else photos.copy_photos
            write_photos(images, options.images, folder / photos.FOLDER)
            files.append(folder / photos.FOLDER)
        files += _write(model, keypoints, folder, options)
        if georeference is not None:
            files.append(folder / "georeference.json")
            files[-1].write_text(json.dumps(georeference.facts(), indent=2), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"The export cannot be written ({error})", "Give another folder with -o") from error
    return Exported(tuple(files), georeference)


def find_model(source: Path) -> Path:
    """The folder of model files: the given one, or the largest model of a run's output folder."""
    for place in (source, source / MODEL, source / MODEL.parent):
        if any((place / f"images.{suffix}").is_file() for suffix in SUFFIXES):
            return place
    raise InputError(
        f"There is no COLMAP model in {source}", "Give a folder with cameras, images and points3D, or one with sparse/0"
    )


def _check_request(place: Path, folder: Path, options: ExportOptions, images: ImageSet) -> None:
    if options.undistort and not options.takes_photos:
        raise InputError(f"There are no photos to straighten in an export to {options.target}", "Omit --undistort")
    if options.is_straight and options.images is None:
        raise InputError("Straightened photos need the photos", "Give their folder with --images")
    if options.images is not None and options.takes_photos:
        photos.check_photos(options.images, folder / photos.FOLDER, images.names)
    if options.target == "nerfstudio" and not options.is_straight:
        common_kind(images.cameras[k] for k in set(images.camera_idx.tolist()))
    spaced = [name for name in images.names if len(name.split()) != 1 or name != name.strip()]
    if options.target == "text" and spaced:
        raise InputError(
            f"COLMAP's text files cannot hold an image name with white space ({spaced[0]!r})",
            "Export to colmap instead",
        )
    if options.target in ("colmap", "text", "3dgs") and (folder / MODEL).resolve() == place.resolve():
        raise InputError(f"The export would overwrite the model in {place}", "Give another folder with -o")


def _find_positions(source: Path, options: ExportOptions, names: tuple[str, ...]) -> dict[str, Position]:
    """GPS positions from the table that was given, else from the photos, else from the run's database."""
    if options.gps is not None:
        return read_gps_table(options.gps)
    if options.images is not None:
        return read_gps_exif(options.images, names)
    try:
        return read_positions(source / DATABASE) if (source / DATABASE).is_file() else {}
    except sqlite3.Error:
        return {}


def _write(model: Reconstruction, keypoints: Keypoints, folder: Path, options: ExportOptions) -> list[Path]:
    """Everything but photos; the files and folders that were written."""
    if options.target == "nerfstudio":
        return write_nerfstudio(model, options.metric, folder)
    if options.target == "ply":
        file = folder / "points.ply"
        write_ply(model.xyz, model.color, file)
    elif options.target == "tum":
        file = folder / "trajectory.txt"
        file.write_text(tum_trajectory(model), encoding="ascii")
    else:
        file = folder / MODEL
        is_text = options.target == "text"
        write_model(model, keypoints, file, is_text)
        # Readers prefer binary files; an older export must not hide this one.
        for name in MODEL_FILES:
            (file / f"{name}.{SUFFIXES[not is_text]}").unlink(missing_ok=True)
    return [file]
