"""pycolmap writes to file descriptor 2 whatever its log level; here its lines go to the run's log file.

`logging_to` sets the file for a run, `silenced` diverts the descriptor around one call. Outside a run the lines
go nowhere. What Python libraries warn of in a run goes to the same file.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_log_path: ContextVar[str] = ContextVar("colmap_log_path", default=os.devnull)


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Within this block, what pycolmap says and what libraries warn of is appended to the file."""

    def note(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object) -> None:
        with path.open("a", encoding="utf-8", errors="replace") as log:
            log.write(warnings.formatwarning(message, category, filename, lineno))

    token = _log_path.set(str(path))
    try:
        with warnings.catch_warnings():
            warnings.showwarning = note
            yield
    finally:
        _log_path.reset(token)


@contextmanager
def silenced() -> Iterator[None]:
    """Within this block, descriptor 2 is the log file. For calls into pycolmap only: our own errors use it too."""
    sys.stderr.flush()
    kept = os.dup(2)
    log = os.open(_log_path.get(), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.dup2(log, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(log)
