"""Which scenes a folder holds, in whatever published layout, and which of them a table is about."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from zlib import crc32

from vgpa.benchmark.published import read_published, same_scene
from vgpa.benchmark.tables import Table
from vgpa.datasets import DatasetName, DatasetScene, dataset
from vgpa.errors import InputError

LAYOUTS: tuple[DatasetName, ...] = ("strecha", "blendedmvs", "onedsfm", "resfm", "imc", "megadepth", "folder")
"""Layouts in the order in which a scene is tried: those that tell most by their files first."""


@dataclass(frozen=True)
class ScenePlace:
    """Where a scene lies."""

    name: str
    layout: DatasetName
    root: Path

    @property
    def source(self) -> str:
        """Tells this scene from another of the same name."""
        return f"{self.layout}:{self.root}"

    @property
    def key(self) -> str:
        """A name for a folder of its own."""
        return f"{quote(self.name, safe=' ')}-{crc32(self.source.encode()):08x}"

    @property
    def reference_kind(self) -> str:
        """Where the reference comes from, if an info.json beside it tells."""
        try:
            info = json.loads((self.root / self.name / "info.json").read_text(encoding="utf-8"))
            return str(info.get("reference_kind", ""))
        except (OSError, ValueError, AttributeError):
            return ""

    def load(self) -> DatasetScene:
        """Read it."""
        return dataset(self.layout).load_scene(self.root, self.name)


def find_scenes(root: Path, layout: DatasetName | None) -> list[ScenePlace]:
    """All scenes of a folder, sorted by name; a scene that several layouts recognise belongs to the first of them."""
    if not root.is_dir():
        raise InputError(f"There is no folder {root}", "Give the folder that holds the scenes' folders with --data")
    found: dict[str, ScenePlace] = {}
    for candidate in LAYOUTS if layout is None else (layout,):
        for name in dataset(candidate).list_scenes(root):
            # Several layouts have a COLMAP model in sparse/0, but only one has a database beside it.
            has_database = candidate == "folder" and (root / name / "database.db").is_file()
            if name not in found or has_database:
                found[name] = ScenePlace(name, candidate, root.resolve())
    if not found:
        raise InputError(f"There are no scenes in {root}", f"Give a folder in one of the layouts {', '.join(LAYOUTS)}")
    return [found[name] for name in sorted(found)]


def choose_scenes(places: list[ScenePlace], table: Table, names: tuple[str, ...]) -> list[ScenePlace]:
    """The named scenes; without names those that the paper's table has, or all where it has none of them."""
    if names:
        by_name = {place.name: place for place in places}
        missing = [name for name in names if name not in by_name]
        if missing:
            raise InputError(f"There is no scene {missing[0]!r}", f"The folder has {', '.join(by_name)}")
        return [by_name[name] for name in names]
    published = {same_scene(row.scene) for row in read_published(table.name)}
    return [place for place in places if same_scene(place.name) in published] or places
