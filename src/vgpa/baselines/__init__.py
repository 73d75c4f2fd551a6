"""Other people's mappers behind one door: each takes the same database and leaves a COLMAP model.

Every one is called as `map_database(database, folder, options)`, never changes the database, and follows the same
policy on intrinsics: known ones stay fixed, others start from the database and are refined. A mapper is imported
only when it is asked for, so that the time it takes to start is its own.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Literal

from vgpa.colmap.mappers import MappedModel, MapperOptions

BaselineName = Literal["colmap", "glomap", "theia"]
Mapper = Callable[[Path, Path, MapperOptions], MappedModel]

__all__ = ["BaselineName", "MappedModel", "Mapper", "MapperOptions", "baseline"]


def baseline(name: BaselineName) -> Mapper:
    """The mapper of that name."""
    mapper: Mapper = import_module(f"vgpa.baselines.{name}").map_database
    return mapper
