"""Ctrl-C: a run stops within two seconds wherever it is, says how to go on, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vgpa.cli.screen import DIED, STOPPED, opened_screen
from vgpa.stages import StageStart

DEAF = """
from pathlib import Path
from vgpa.cli.screen import opened_screen
with opened_screen(Path("log.txt"), "nothing"):
    print("begun", flush=True)
    sum(range(10**12))  # as deaf as a solver in C++: no other thread runs, no signal is looked at
"""


def stop_and_time(process: subprocess.Popen[str]) -> float:
    """Seconds from Ctrl-C to the end of a process, which gets a moment to begin its work before."""
    time.sleep(0.3)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.wait(timeout=20)
    return time.monotonic() - start


def test_a_run_that_hears_nothing_is_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", DEAF], stdout=-1, stderr=-1, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "begun\n"
    assert stop_and_time(process) < 2
    assert process.returncode == -signal.SIGINT, "ended by Ctrl-C, as far as its shell can tell"
    assert process.stderr.read() == STOPPED + "\n"


def test_the_screen_goes_when_the_run_is_killed() -> None:
    process = subprocess.Popen([sys.executable, "-c", DEAF], stdout=-1, stderr=-1, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.kill()
    start = time.monotonic()
    assert process.communicate(timeout=10) == ("", DIED + "\n")  # ends only when nobody holds the pipes
    assert time.monotonic() - start < 2


def test_a_real_run_stops_in_bundle_adjustment_and_starts_again(many_images: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "vgpa", "map", str(many_images), "-o", str(tmp_path), "--json"]
    process = subprocess.Popen(command, stdout=-1, stderr=-1, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    for line in process.stderr:
        if json.loads(line) == {"event": "start", "stage": "bundle adjust"}:
            break
    assert stop_and_time(process) < 2
    assert process.returncode in (130, -signal.SIGINT)
    assert STOPPED in process.stderr.read()
    assert process.stdout.read() == ""
    assert not (tmp_path / "sparse").exists()
    assert subprocess.run([*command, "--preset", "fast"], capture_output=True).returncode == 0


def children() -> set[str]:
    """The processes that this one has started and not yet waited for."""
    return {pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


def test_ctrl_c_is_pythons_own_again_afterwards(tmp_path: Path) -> None:
    before = children()
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), opened_screen(tmp_path / "log.txt", "nothing"):
            os.kill(os.getpid(), signal.SIGINT)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert children() <= before


def test_a_machine_without_a_process_to_spare_does_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> int:
        raise BlockingIOError("no more processes")

    num_open = len(list(Path("/dev/fd").iterdir()))
    monkeypatch.setattr(os, "fork", fail)
    with opened_screen(tmp_path / "log.txt", "nothing") as tell:
        tell(StageStart("work"))
    assert len(list(Path("/dev/fd").iterdir())) == num_open
