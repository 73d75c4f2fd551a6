"""How far pycolmap is in a long call, read from the lines it writes to the run's log."""

from __future__ import annotations

import re
from pathlib import Path

# A line about a file is written when it is done, a line about a block of pairs when it begins.
_COUNT = re.compile(r"\] (?P<what>Processed file|Processing block) \[(?P<number>\d+)/(?P<total>\d+)\]")


class LogCounts:
    """Follows a log file that another process or thread appends to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def skip(self) -> None:
        """Forget what the log holds by now."""
        self._offset = self._path.stat().st_size if self._path.exists() else 0

    def read(self) -> tuple[int, int] | None:
        """(done, total) by what was added since the last time, or None if nothing was counted there."""
        if not self._path.exists():
            return None
        with self._path.open("rb") as file:
            file.seek(self._offset)
            added = file.read()
        # The last line may be half written: it is read again next time.
        complete = added[: added.rfind(b"\n") + 1]
        self._offset += len(complete)
        return read_count(complete.decode(errors="replace"))


def read_count(text: str) -> tuple[int, int] | None:
    """(done, total) by the last line of the text that counts anything, or None if none does."""
    counts = list(_COUNT.finditer(text))
    if not counts:
        return None
    number, total = int(counts[-1]["number"]), int(counts[-1]["total"])
    return (number if counts[-1]["what"] == "Processed file" else number - 1), total
