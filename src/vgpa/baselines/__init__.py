"""Other people's mappers behind one door: each takes the same database and leaves a COLMAP model.

Every one is called as `map_database(database, folder, options)`, never changes the database, and follows the same
policy on intrinsics: known ones stay fixed, others start from the database and are refined. A mapper is imported
only when it is asked for, so that the time it takes to start is its own. A Python file with such a function is a
mapper too. `imported` reads the poses of methods that cannot be run here.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Literal, cast, get_args

from vgpa.colmap.mappers import MappedModel, MapperOptions
from vgpa.errors import InputError

BaselineName = Literal["colmap", "glomap", "theia"]
Mapper = Callable[[Path, Path, MapperOptions], MappedModel]

__all__ = ["BaselineName", "MappedModel", "Mapper", "MapperOptions", "baseline"]


def baseline(name: str) -> Mapper:
    """The mapper of that name, or that of a Python file, which must have a function `map_database`."""
    if name in get_args(BaselineName):
        return cast(Mapper, import_module(f"vgpa.baselines.{name}").map_database)
    path = Path(name)
    spec = spec_from_file_location(path.stem, path) if path.suffix == ".py" and path.is_file() else None
    if spec is None or spec.loader is None:
        known = ", ".join(get_args(BaselineName))
        raise InputError(f"There is no mapper {name!r}", f"Give one of {known}, or a Python file with map_database()")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "map_database"):
        raise InputError(f"{path} has no function map_database", "Write one: map_database(database, folder, options)")
    return cast(Mapper, module.map_database)
