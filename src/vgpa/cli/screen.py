"""The screen of a run: a process of its own that draws the bars, and ends the run when Ctrl-C is not heard.

pycolmap adjusts bundles for minutes without letting Python do anything else: no thread could draw meanwhile, and no
Ctrl-C would be seen. So a small process is forked before the work begins. It reads what happens from a pipe, and
through the same pipe the system tells it of Ctrl-C (`signal.set_wakeup_fd`). The run gets GRACE_S to stop by itself;
then the screen says how to go on and ends it. What is on disk survives that: the database is written in transactions.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from vgpa.cli.bars import Bars
from vgpa.stages import Event

STOPPED = "vgpa: stopped; give the same command again to go on, finished features and pairs are kept"
GRACE_S = 1.0
"""Seconds that a run has to stop by itself after Ctrl-C."""
_REFRESH_S = 0.15
_END, _INTERRUPT = b"\0", bytes([signal.SIGINT])


@contextmanager
def opened_screen(log_path: Path, has_bars: bool) -> Iterator[Callable[[Event], None]]:
    """A screen for the time of this block; events go to the function it gives.

    Only the main thread hears Ctrl-C, and only where Python handles it: elsewhere there is no screen.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield lambda event: None
        return
    read_fd, write_fd = os.pipe()
    run_pid, screen_pid = os.getpid(), os.fork()
    if screen_pid == 0:
        _be_the_screen(read_fd, write_fd, run_pid, Bars(log_path, has_bars))
    os.close(read_fd)
    os.set_blocking(write_fd, False)
    before = signal.set_wakeup_fd(write_fd, warn_on_full_buffer=False)
    _die_of_a_second_interrupt()

    def tell(event: Event) -> None:
        _send(write_fd, json.dumps({"kind": type(event).__name__} | asdict(event)).encode() + b"\n")

    try:
        yield tell
    finally:
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGINT, handler)
        _send(write_fd, _END)
        os.close(write_fd)
        os.waitpid(screen_pid, 0)


def _send(write_fd: int, data: bytes) -> None:
    """A screen that is gone or stuck must not hold the run up: what it cannot take is lost."""
    with suppress(OSError):
        os.write(write_fd, data)


def _die_of_a_second_interrupt() -> None:
    """The first Ctrl-C is Python's, a second one is the system's again, which ends a process whatever it is doing.

    Only the C library of Linux can say so without a handler of its own; elsewhere the screen has another way.
    """
    library = ctypes.CDLL(None)
    with suppress(AttributeError):
        install_once = library.sysv_signal
        for function in (library.signal, install_once):
            function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_void_p]
        install_once(signal.SIGINT, library.signal(signal.SIGINT, None))


def _be_the_screen(read_fd: int, write_fd: int, run_pid: int, bars: Bars) -> None:
    """What the forked process does; it never returns."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.close(write_fd)
        if _watch(read_fd, run_pid, bars):
            os.write(2, STOPPED.encode() + b"\n")
            _end(read_fd, run_pid)
    finally:
        os._exit(0)


def _watch(read_fd: int, run_pid: int, bars: Bars) -> bool:
    """Show what comes through the pipe until the run ends; whether it has to be ended."""
    deadline_s, rest = float("inf"), b""
    try:
        while time.monotonic() < deadline_s and os.getppid() == run_pid:
            data = _read(read_fd, _REFRESH_S)
            if data == b"" or _END in (data or b""):
                return False
            if data is not None:
                if _INTERRUPT in data:
                    deadline_s = min(deadline_s, time.monotonic() + GRACE_S)
                *lines, rest = (rest + data.replace(_INTERRUPT, b"")).split(b"\n")
                for line in lines:
                    bars.show(json.loads(line))
            bars.refresh()
        return os.getppid() == run_pid
    finally:
        bars.close()


def _read(read_fd: int, timeout_s: float) -> bytes | None:
    """What came through the pipe: nothing yet (None), or nothing any more (empty)."""
    ready, _, _ = select.select([read_fd], [], [], timeout_s)
    return os.read(read_fd, 65536) if ready else None


def _end(read_fd: int, run_pid: int) -> None:
    """End the run as Ctrl-C would; by force, if that does not help."""
    for number in (signal.SIGINT, signal.SIGKILL):
        os.kill(run_pid, number)
        if _read(read_fd, 0.3) == b"":
            return
