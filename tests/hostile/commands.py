"""The whole corpus in a folder, and for every file in it the command that a user would give."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.hostile.archives import HLOC_NAMES, HLOC_SIZE_PX, make_hloc_folders, make_track_files, make_weight_files
from tests.hostile.corpus import End, Hostile
from tests.hostile.databases import make_databases
from tests.hostile.models import make_models
from tests.hostile.originals import make_database, make_hloc_files, make_picture, make_tracks, make_weights
from tests.hostile.photo_facts import make_photos_with_bad_facts
from tests.hostile.photo_files import encode, make_photo_files
from tests.hostile.photo_names import make_photos_with_odd_names
from tests.hostile.runner import Command, Ended, complaint_about

LIMIT_S = 30.0
"""A refusal takes a moment; what takes longer hangs."""


@dataclass(frozen=True)
class Case:
    """A hostile input and the command that meets it."""

    hostile: Hostile
    command: Command

    def complaint(self, ended: Ended) -> str | None:
        """What is wrong with how the command ended, or None."""
        general = complaint_about(ended)
        if general is not None:
            return general
        is_used = ended.exit_code in (0, 5)
        if (self.hostile.end is End.REFUSED and is_used) or (self.hostile.end is End.USED and not is_used):
            return "it is used" if is_used else f"it is refused: {ended.stderr.strip()}"
        return None


def make_hostile_photos(folder: Path) -> list[Hostile]:
    """All hostile photos, in folders below the given one."""
    picture = make_picture()
    return [
        *make_photo_files(folder / "files", picture),
        *make_photos_with_bad_facts(folder / "facts", picture),
        *make_photos_with_odd_names(folder / "names", encode(picture, "JPEG", quality=90)),
    ]


def make_cases(folder: Path) -> list[Case]:
    """All hostile files but the photos, with their commands; what the commands write goes below `folder/out`.

    The last ones are healthy: a program that refuses everything would pass the others.
    """
    healthy = make_healthy(folder / "healthy")
    inputs = [
        *make_databases(folder / "databases"),
        *make_track_files(folder / "tracks"),
        *make_weight_files(folder / "weights"),
        *make_hloc_folders(folder / "hloc"),
        *make_models(folder / "models"),
        *(Hostile("healthy", path, End.USED) for path in healthy),
    ]
    return [Case(one, Command(_arguments(one.path, folder, str(k)), LIMIT_S)) for k, one in enumerate(inputs)]


def make_healthy(folder: Path) -> list[Path]:
    """One healthy file of every kind, and photos that those of hloc belong to."""
    for name in ("photos", "hloc"):
        (folder / name).mkdir(parents=True)
    for name in HLOC_NAMES:
        (folder / "photos" / name).write_bytes(encode(make_picture(HLOC_SIZE_PX), "PNG"))
    make_database(folder / "scene.db", folder / "models")
    np.savez(folder / "scene.npz", **make_tracks())
    make_hloc_files(folder / "hloc", HLOC_NAMES, HLOC_SIZE_PX)
    weights = make_weights(folder)
    return [folder / "scene.db", folder / "scene.npz", weights, folder / "hloc", folder / "models"]


def _arguments(path: Path, folder: Path, number: str) -> tuple[str, ...]:
    """The command that a user would give for a file, by its suffix or the folder it is in."""
    healthy, out = folder / "healthy", str(folder / "out" / number)
    if path.suffix in (".db", ".npz"):
        return ("map", str(path), "-o", out, "-q", "--preset", "fast")
    if path.suffix == ".safetensors":
        return ("map", str(healthy / "scene.db"), "-o", out, "-q", "--preset", "fast", "--weights", str(path))
    if "hloc" in path.relative_to(folder).parts:
        files = (str(path / "features.h5"), str(path / "matches.h5"))
        return ("import-hloc", *files, "--images", str(healthy / "photos"), "-o", f"{out}.db", "-q")
    return ("evaluate", str(path), str(healthy / "models"))
