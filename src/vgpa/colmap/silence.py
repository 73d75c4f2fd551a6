"""pycolmap writes to file descriptor 2 whatever its log level; here its lines go to the run's log file.

`logging_to` sets the file for a run, `silenced` diverts the descriptor around one call. Outside a run the lines
go nowhere. What Python libraries warn of in a run goes to the same file.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TextIO

_log_path: ContextVar[str] = ContextVar("colmap_log_path", default=os.devnull)


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Within this block, what pycolmap says and what libraries warn of is appended to the file."""

    def note(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        with path.open("a", encoding="utf-8", errors="replace") as log:
            log.write(warnings.formatwarning(message, category, filename, lineno, line))

    _forget_stack_traces()
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


def _forget_stack_traces() -> None:
    """pycolmap answers SIGTERM, by which batch systems end a job, with a page of stack trace; here, not any more.

    A program that uses this package may have an answer of its own, which stays.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
