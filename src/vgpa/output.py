"""The output folder of a run: made, and checked before anything is computed for it."""

from __future__ import annotations

from pathlib import Path

from vgpa.errors import OutputError


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
