"""Datasets in their published layouts, one file each, all behind the same two functions.

    list_scenes(root)        the names of the scenes below a folder
    load_scene(root, name)   one of them, as a `DatasetScene`; a scene that is corrupt or not complete raises a
                             `VgpaError` that names the file and says what to try

`vgpa.datasets.database.make_database` turns whatever a scene brings (a database, tracks, photos) into a COLMAP
database, which is what every mapper reads. Nothing here ever loads a pickle. Modules are imported when they are needed,
since the command line asks this one for the datasets' names.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, get_args

from vgpa.errors import InputError

if TYPE_CHECKING:
    from vgpa.datasets.scene import DatasetScene
    from vgpa.scene import Reconstruction

DatasetName = Literal["blendedmvs", "folder", "imc", "megadepth", "onedsfm", "resfm", "strecha"]
DATASET_NAMES: tuple[DatasetName, ...] = get_args(DatasetName)

__all__ = ["DATASET_NAMES", "Dataset", "DatasetName", "DatasetScene", "dataset", "load_reference"]


class Dataset(Protocol):
    """What each module of this room offers."""

    def list_scenes(self, root: Path) -> list[str]:
        """Names of the scenes below a folder, sorted; empty where there are none."""
        ...

    def load_scene(self, root: Path, name: str) -> DatasetScene:
        """One scene; raises `InputError` where its files are missing or cannot be read."""
        ...


def dataset(name: DatasetName) -> Dataset:
    """The dataset of that name; only its own module is imported."""
    return cast(Dataset, import_module(f"vgpa.datasets.{name}"))


def load_reference(name: DatasetName, root: Path, scene: str) -> Reconstruction:
    """The reference of one scene, with a sentence on which there are where it is not among them."""
    scenes = dataset(name).list_scenes(root)
    if scene not in scenes:
        known = ", ".join(scenes[:10]) + (", ..." if len(scenes) > 10 else "")
        raise InputError(
            f"There is no scene {scene!r} in {root} as {name} lays it out",
            f"Choose one of {known} with --scene" if scenes else "Give the folder that holds the dataset's scenes",
        )
    return dataset(name).load_scene(root, scene).reference


def __getattr__(name: str) -> Any:
    if name != "DatasetScene":
        raise AttributeError(f"module 'vgpa.datasets' has no attribute {name!r}")
    return import_module("vgpa.datasets.scene").DatasetScene
