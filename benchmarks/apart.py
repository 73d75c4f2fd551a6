"""`default`, but every photo that has a camera of its own keeps a lens of its own: a method for other benchmarks.

VGPA_DATA=... python benchmarks/databases.py cameras SCENE ... --methods default benchmarks/apart.py
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import vgpa
from vgpa.baselines import MappedModel, MapperOptions
from vgpa.config import default


def map_database(database: Path, folder: Path, options: MapperOptions) -> MappedModel:
    """The largest model of the database, in the folder."""
    config = replace(default(), num_threads=options.num_threads, seed=options.seed)
    mapping = replace(config.mapping, tie_lenses=False, fix_intrinsics=options.fix_intrinsics)
    with TemporaryDirectory() as scratch:
        model = vgpa.map_database(database, Path(scratch), replace(config, mapping=mapping)).reconstruction
        shutil.copytree(Path(scratch, "sparse", "0"), folder, dirs_exist_ok=True)
    return MappedModel(folder, model.num_registered, model.num_points)
