"""COLMAP's own two mappers, incremental and global (GLOMAP), as peers to compare with.

pycolmap rewrites a database when it opens it, so both work on a copy. The largest model is written as COLMAP writes
it and read back only by who needs it: a peer's time is its own.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pycolmap

from vgpa.colmap.model import read_model
from vgpa.colmap.silence import silenced
from vgpa.errors import InputError, NoModelError
from vgpa.scene import Reconstruction


@dataclass(frozen=True)
class MapperOptions:
    """What every mapper is told.

    Attributes:
        num_threads: threads it may use.
        fix_intrinsics: keep every camera as the database has it; otherwise focal length and distortion are refined.
        seed: seed of everything random.
    """

    num_threads: int
    fix_intrinsics: bool
    seed: int = 0


@dataclass(frozen=True)
class MappedModel:
    """A model that a mapper left on disk."""

    folder: Path
    num_registered: int
    num_points: int

    def read(self) -> Reconstruction:
        """The model in memory; its images are the registered ones."""
        return read_model(self.folder)[0]


def map_incrementally(database: Path, folder: Path, options: MapperOptions) -> MappedModel:
    """COLMAP's incremental mapper with its default settings; its largest model is written to the folder."""
    settings = pycolmap.IncrementalPipelineOptions()
    settings.num_threads = settings.mapper.num_threads = options.num_threads
    settings.random_seed = settings.mapper.random_seed = options.seed
    settings.extract_colors = False
    refine = not options.fix_intrinsics
    settings.ba_refine_focal_length = settings.ba_refine_extra_params = refine
    settings.mapper.abs_pose_refine_focal_length = settings.mapper.abs_pose_refine_extra_params = refine
    with _working_copy(database) as copy, silenced():
        models = pycolmap.incremental_mapping(copy, copy.parent, copy.parent, settings)
    return _write_largest(models, folder)


def map_globally(database: Path, folder: Path, options: MapperOptions) -> MappedModel:
    """COLMAP's global mapper (GLOMAP) with its default settings; its largest model is written to the folder.

    Where no camera has a known focal length, its documentation wants the view graph calibrated first: so it is. That
    calibration estimates relative poses anew from the raw matches of each pair; a database that has none left lends
    it the verified ones, for it would lose the pairs otherwise.
    """
    settings = pycolmap.GlobalPipelineOptions()
    settings.num_threads = settings.mapper.num_threads = options.num_threads
    settings.random_seed = settings.mapper.random_seed = options.seed
    adjustment = settings.mapper.bundle_adjustment
    adjustment.refine_focal_length = adjustment.refine_extra_params = not options.fix_intrinsics
    adjustment.ceres.solver_options.num_threads = options.num_threads
    settings.mapper.bundle_adjustment = adjustment
    with _working_copy(database) as copy, silenced():
        if not options.fix_intrinsics and not _has_known_focal(copy):
            _restore_raw_matches(copy)
            calibration = pycolmap.ViewGraphCalibrationOptions()
            calibration.random_seed = options.seed
            pycolmap.calibrate_view_graph(copy, calibration)
        models = pycolmap.global_mapping(copy, copy.parent, copy.parent, settings)
    return _write_largest(models, folder)


@contextmanager
def _working_copy(database: Path) -> Iterator[Path]:
    """A copy of the database that may be changed, alone in a folder that is deleted afterwards."""
    if not database.is_file():
        raise InputError(f"There is no database at {database}", "Give the path of a COLMAP database.db")
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "database.db"
        for suffix in ("", "-wal"):
            if (part := database.with_name(database.name + suffix)).exists():
                shutil.copyfile(part, copy.with_name(copy.name + suffix))
        try:
            _has_known_focal(copy)
        except sqlite3.Error as error:
            raise InputError(
                f"{database} cannot be read as a COLMAP database ({error})",
                "Check that the file is complete and was made by COLMAP, pycolmap or vgpa",
            ) from error
        yield copy


def _has_known_focal(database: Path) -> bool:
    with closing(sqlite3.connect(database)) as connection:
        query = "SELECT 1 FROM cameras WHERE prior_focal_length LIMIT 1"
        return connection.execute(query).fetchone() is not None


def _restore_raw_matches(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(
            "INSERT INTO matches (pair_id, rows, cols, data) SELECT pair_id, rows, cols, data FROM two_view_geometries "
            "WHERE rows > 0 AND pair_id NOT IN (SELECT pair_id FROM matches)"
        )


def _write_largest(models: dict[int, pycolmap.Reconstruction], folder: Path) -> MappedModel:
    if not models:
        raise NoModelError("The mapper found no model in this database", "Check that enough pairs are verified")
    largest = max(models.values(), key=lambda model: model.num_reg_images())
    folder.mkdir(parents=True, exist_ok=True)
    with silenced():
        largest.write(folder)
    return MappedModel(folder, largest.num_reg_images(), largest.num_points3D())
