"""How far pycolmap is in a long call, read from the lines it writes to the run's log."""

from __future__ import annotations

import re

# A line about a file is written when it is done, a line about a block of pairs when it begins.
_COUNT = re.compile(r"\] (?P<what>Processed file|Processing block) \[(?P<number>\d+)/(?P<total>\d+)\]")


def read_count(text: str) -> tuple[int, int] | None:
    """(done, total) by the last line of the text that counts anything, or None if none does."""
    counts = list(_COUNT.finditer(text))
    if not counts:
        return None
    number, total = int(counts[-1]["number"]), int(counts[-1]["total"])
    return (number if counts[-1]["what"] == "Processed file" else number - 1), total
