"""The whole corpus in a folder, and for every file in it the command that a user would give."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.hostile.archives import HLOC_NAMES, HLOC_SIZE_PX, make_hloc_folders, make_track_files, make_weight_files
from tests.hostile.corpus import End, Hostile
from tests.hostile.databases import make_databases
from tests.hostile.models import make_models
from tests.hostile.originals import make_database, make_picture
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
        if self.hostile.end is End.REFUSED and ended.exit_code in (0, 5):
            return "it is used"
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
    """All hostile files but the photos, with their commands; what the commands write goes below `folder/out`."""
    out = folder / "out"
    photos = folder / "photos"
    photos.mkdir(parents=True)
    for name in HLOC_NAMES:
        (photos / name).write_bytes(encode(make_picture(HLOC_SIZE_PX), "PNG"))
    make_database(folder / "healthy.db", folder / "healthy")
    cases = []

    def add(hostile: Hostile, *arguments: str) -> None:
        cases.append(Case(hostile, Command(arguments, LIMIT_S)))

    for hostile in [*make_databases(folder / "databases"), *make_track_files(folder / "tracks")]:
        add(hostile, "map", str(hostile.path), "-o", str(out / hostile.path.stem), "-q", "--preset", "fast")
    for hostile in make_weight_files(folder / "weights"):
        place = str(out / hostile.path.stem)
        add(hostile, "map", str(folder / "healthy.db"), "-o", place, "-q", "--weights", str(hostile.path))
    for hostile in make_hloc_folders(folder / "hloc"):
        files = [str(hostile.path / name) for name in ("features.h5", "matches.h5")]
        place = str(out / f"{hostile.path.name}.db")
        add(hostile, "import-hloc", *files, "--images", str(photos), "-o", place, "-q")
    for hostile in make_models(folder / "models"):
        add(hostile, "evaluate", str(hostile.path), str(folder / "healthy"))
    return cases
