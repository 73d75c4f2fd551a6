"""pycolmap writes to file descriptor 2 whatever its log level; here its lines go to the run's log file.

`logging_to` sets the file for a run, `silenced` diverts the descriptor around one call. Outside a run the lines
go nowhere.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_log_path: ContextVar[str] = ContextVar("colmap_log_path", default=os.devnull)


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Within this block, what pycolmap says is appended to the file."""
    token = _log_path.set(str(path))
    try:
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
