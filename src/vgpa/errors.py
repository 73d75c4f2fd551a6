"""What can go wrong, said to a person: one sentence on what happened and where, and a hint on what to try.

Every error that a user can cause is a `VgpaError`. The command line prints it as one line and exits with its
code; from Python it is an ordinary exception. Anything else that escapes is a bug.
"""

from __future__ import annotations

import errno
import mmap
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


class VgpaError(Exception):
    """An error with a sentence for the user.

    Attributes:
        what: what happened and where, a full sentence without the final stop.
        hint: what to try next, a full sentence without the final stop.
    """

    exit_code = 1

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"{what}. {hint}.")
        self.what = what
        self.hint = hint


class InputError(VgpaError):
    """Something given to us cannot be used: a folder, a photo, a database, a model, an option."""

    exit_code = 2


class OutputError(VgpaError):
    """The output folder cannot be written."""

    exit_code = 3


class NoModelError(VgpaError):
    """The input was readable, but no reconstruction came out of it."""

    exit_code = 4


class ResourceError(VgpaError):
    """The computer ran out of memory."""

    exit_code = 6


@contextmanager
def faults_explained() -> Iterator[None]:
    """Within this block, faults of the machine (disk, memory, files that vanish) become sentences for the user.

    Also a decorator: `@faults_explained()`.
    """
    try:
        yield
    except (MemoryError, OSError, ImportError, sqlite3.Error, RuntimeError) as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from error
        explained = _explain(error)
        if explained is None:
            raise
        raise explained from error


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether this is Ctrl-C, which pycolmap turns into errors of its own while it is loaded."""
    return error is not None and (isinstance(error, KeyboardInterrupt) or _is_interrupt(error.__cause__))


def require_memory() -> None:
    """Raise a sentence for the user where a limit (ulimit -v) leaves too little memory for the libraries to load.

    They would hang or crash without a word. OpenBLAS, for one, takes a buffer when it is first used, and asks for it
    without end where it is refused: under a limit it gets its buffers now, while there is room.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    if limit < MIN_ADDRESS_SPACE:
        raise ResourceError(
            f"Memory is limited to {limit // 2**20} MB, and {MIN_ADDRESS_SPACE // 2**20} MB are needed at least",
            "Raise the limit (ulimit -v)",
        )
    with faults_explained():
        import numpy as np
        from scipy.linalg.blas import dtrsv

        mmap.mmap(-1, BUFFER_SPACE).close()  # raises where it cannot be had
        dtrsv(np.eye(2), np.eye(2) @ np.ones(2))


MIN_ADDRESS_SPACE = 2**30
"""Bytes of addresses that the libraries take, whatever the input."""
BUFFER_SPACE = 2**27
"""Bytes of addresses that numpy's and scipy's OpenBLAS take when they are first used, and some more."""
AGAIN = "then give the same command again; what was computed is kept"
NO_MEMORY = ("allocate memory", "bad_alloc", "can't start new thread", "failed to map segment")
"""What libraries say when memory is short, where they do not raise MemoryError."""
NO_DATABASE = "No registered database factory succeeded"
"""What pycolmap says when it cannot open a database, whatever the reason."""


def _explain(error: Exception) -> VgpaError | None:
    """The sentence of a fault, or None where it is not the machine's."""
    message = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, MemoryError) or any(words in message for words in NO_MEMORY):
        return ResourceError(
            f"The memory of this computer does not suffice ({message})",
            f"Close other programs or use --preset fast, {AGAIN}",
        )
    if isinstance(error, OSError):
        where = "" if error.filename is None else f" at {error.filename}"
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return OutputError(f"The disk is full{where}", f"Make room on it, {AGAIN}")
        return OutputError(
            f"A file cannot be read or written{where} ({error.strerror or message})",
            f"Check the disk and the permissions, {AGAIN}",
        )
    if isinstance(error, sqlite3.Error) or NO_DATABASE in message:
        return OutputError(
            f"The database of the run cannot be used ({message})",
            f"Check that the disk is not full and that no other run works in the same folder, {AGAIN}",
        )
    return None
