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
from typing import Any, Literal, Protocol

from vgpa.cli.lines import ProgressLines
from vgpa.stages import Event

STOPPED = "vgpa: stopped; give the same command again to go on, finished features and pairs are kept"
DIED = (
    "vgpa: the run was ended from outside, or a library gave up because memory or disk ran out; the last lines of its "
    "log.txt may tell. Give the same command again to go on, finished features and pairs are kept"
)
GRACE_S = 1.0
"""Seconds that a run has to stop by itself after Ctrl-C."""
_REFRESH_S = 0.15
Look = Literal["bars", "lines", "nothing"]
_END, _INTERRUPT = b"\0", bytes([signal.SIGINT])


@contextmanager
def opened_screen(log_path: Path, look: Look) -> Iterator[Callable[[Event], None]]:
    """A screen for the time of this block; events go to the function it gives.

    Runs belong to the main thread, which alone hears of Ctrl-C: elsewhere there is no screen.
    """
    is_main = threading.current_thread() is threading.main_thread()
    screen = _fork_screen(log_path, look) if is_main else None
    if screen is None:
        yield lambda event: None
        return
    screen_pid, write_fd = screen

    def tell(event: Event) -> None:
        _send(write_fd, json.dumps({"kind": type(event).__name__} | asdict(event)).encode() + b"\n")

    try:
        with _interrupts_sent_to(write_fd):
            yield tell
    finally:
        _send(write_fd, _END)
        os.close(write_fd)
        os.waitpid(screen_pid, 0)


@contextmanager
def _interrupts_sent_to(write_fd: int) -> Iterator[None]:
    """Within this block, the screen is told of Ctrl-C; not where it is ignored, as in the background of a script."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        yield
        return
    before = signal.set_wakeup_fd(write_fd, warn_on_full_buffer=False)
    _die_of_a_second_interrupt()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGINT, handler)


class Display(Protocol):
    """What a screen shows."""

    def show(self, event: dict[str, Any]) -> None:
        """Take in an event of the run: its fields, and `kind`, the name of its type."""
        ...

    def refresh(self) -> None:
        """Show what is new; called several times a second."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was."""
        ...


class _Nothing:
    """A screen that only waits for Ctrl-C."""

    def show(self, event: dict[str, Any]) -> None:
        pass

    def refresh(self) -> None:
        pass

    def close(self) -> None:
        pass


def _make_display(log_path: Path, look: Look) -> Display:
    """Called by the forked process alone, which loads what it draws with while the run loads its own libraries."""
    if look == "bars":
        from vgpa.cli.bars import Bars

        return Bars(log_path)
    return ProgressLines(log_path) if look == "lines" else _Nothing()


def _fork_screen(log_path: Path, look: Look) -> tuple[int, int] | None:
    """The screen's process and the end of the pipe to write to; None on a machine that has no process to spare."""
    read_fd, write_fd = os.pipe()
    run_pid = os.getpid()
    try:
        screen_pid = os.fork()
    except OSError:
        os.close(read_fd)
        os.close(write_fd)
        return None
    if screen_pid == 0:
        _be_the_screen(read_fd, write_fd, run_pid, lambda: _make_display(log_path, look))
    os.close(read_fd)
    os.set_blocking(write_fd, False)
    return screen_pid, write_fd


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


def _be_the_screen(read_fd: int, write_fd: int, run_pid: int, make_display: Callable[[], Display]) -> None:
    """What the forked process does; it never returns."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.close(write_fd)
        sentence = _watch(read_fd, run_pid, make_display())
        if sentence:
            os.write(2, sentence.encode() + b"\n")
        if sentence == STOPPED:
            _end(read_fd, run_pid)
    finally:
        os._exit(0)


def _watch(read_fd: int, run_pid: int, display: Display) -> str:
    """Show what comes through the pipe until the run ends; what is to be said then, if the run cannot say it."""
    deadline_s, rest = float("inf"), b""
    try:
        while time.monotonic() < deadline_s and os.getppid() == run_pid:
            data = _read(read_fd, _REFRESH_S)
            if _END in (data or b""):
                return ""
            if data == b"":
                break
            if data is not None:
                if _INTERRUPT in data:
                    deadline_s = min(deadline_s, time.monotonic() + GRACE_S)
                *lines, rest = (rest + data.replace(_INTERRUPT, b"")).split(b"\n")
                for line in lines:
                    display.show(json.loads(line))
            display.refresh()
        return STOPPED if deadline_s < float("inf") else DIED
    finally:
        display.close()


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
