"""The output folder of a run: made, checked, and its database kept or started anew."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from vgpa.config import Config
from vgpa.errors import OutputError

DATABASE = "database.db"
SETTINGS = "frontend.json"


def open_output(folder: Path) -> None:
    """Make the folder, and raise a sentence for the user unless a file can be written there."""
    probe = folder / ".vgpa"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise OutputError(
            f"The output folder {folder} cannot be written ({error.strerror})",
            "Give another folder with -o, or change its permissions",
        ) from error


def reuse_database(folder: Path, images: Path, config: Config) -> Path:
    """The run's database. One that was made from the same photos with the same settings is continued; any other is
    deleted, together with what was computed from it."""
    settings = {
        "images": str(images.resolve()),
        "features": asdict(config.features),
        "matching": asdict(config.matching),
        "seed": config.seed,
    }
    database, record = folder / DATABASE, folder / SETTINGS
    wanted = json.dumps(settings, indent=1) + "\n"
    if not (record.is_file() and record.read_text(encoding="utf-8") == wanted):
        for leftover in folder.glob(DATABASE + "*"):
            leftover.unlink()
        record.write_text(wanted, encoding="utf-8")
    return database
