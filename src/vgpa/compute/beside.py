"""Work on a second core: a function runs in a forked process while this one goes on.

pycolmap adjusts bundles without letting other threads run, and numpy's small steps are all Python's: threads would
wait for each other. A fork starts in milliseconds and has all the data already; only the result travels back.

A process that has threads cannot be forked safely, for what another thread held locked stays locked in the copy. Then,
where nothing can be forked, and where there is one core, the function runs here when its result is asked for.
"""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
SignalMask = set[int | signal.Signals]
_THREADS = Path("/proc/self/task")
"""Folder with one entry per thread of this process, on Linux."""
_PR_SET_PDEATHSIG = 1


@contextmanager
def beside(function: Callable[[], Array], num_cores: int) -> Iterator[Callable[[], Array]]:
    """For the time of this block a function runs beside it; call what is given for its result, once.

    The function may change nothing that others see: it may run in another process, here, or, if its result is never
    asked for, only in part.
    """
    if num_cores < 2 or not _can_fork():
        yield function
        return
    # Ctrl-C waits until each of the two processes knows which one it is.
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    forked = _fork(function, unblocked)
    if forked is None:
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        yield function
        return
    pid, read_fd = forked
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        with os.fdopen(read_fd, "rb") as pipe:
            yield lambda: _received(pipe.read(), function)
    finally:
        # A system that was told to forget processes that end knows nothing of it any more.
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _can_fork() -> bool:
    """Whether this process can be copied and has no other threads, not even those of libraries."""
    return hasattr(os, "fork") and _THREADS.is_dir() and len(list(_THREADS.iterdir())) == 1


def _fork(function: Callable[[], Array], unblocked: SignalMask) -> tuple[int, int] | None:
    """A process that runs the function, and where its result can be read; None where the system has none to give."""
    try:
        read_fd, write_fd = os.pipe()
    except OSError:
        return None
    try:
        pid = os.fork()
    except OSError:
        os.close(read_fd)
        os.close(write_fd)
        return None
    if pid == 0:
        _work(function, write_fd, unblocked)
    os.close(write_fd)
    return pid, read_fd


def _work(function: Callable[[], Array], write_fd: int, unblocked: SignalMask) -> None:
    """The forked process: run the function, send its result, end."""
    try:
        _end_with_parent()
        # Ctrl-C is answered by the process that this is a copy of.
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        result = io.BytesIO()
        np.save(result, function(), allow_pickle=False)
        with os.fdopen(write_fd, "wb") as pipe:
            pipe.write(result.getbuffer())
    finally:
        # Whatever happened, nothing of the other process is cleared up, written or reported here.
        os._exit(0)


def _end_with_parent() -> None:
    """Ask Linux to end this process when the one that forked it ends, however it does: nobody else wants the result."""
    import ctypes  # only here, and slow to import

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _received(sent: bytes, function: Callable[[], Array]) -> Array:
    """The result that was sent. If the other process failed it is not complete, and the function tells why itself."""
    try:
        return np.asarray(np.load(io.BytesIO(sent), allow_pickle=False))
    except (EOFError, ValueError):
        return function()
