"""Runs that are disturbed, the folders they leave, and what those are compared with. Part of `reliability.py`."""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.frontend.test_build import contents
from tests.hostile.runner import GIVE_UP_RIGHTS, IS_BOUND, ROOT
from vgpa.colmap.model import read_model
from vgpa.errors import VgpaError

LIMIT_S = 120.0
"""Seconds by which a run must have ended; what takes longer hangs."""
HANGS = 1000
"""Stands for the exit code of a run that had to be ended."""
STOP_LIMIT_S = 3.0
"""Seconds after Ctrl-C by which a run must have ended."""
MODEL_FILES = ("cameras", "images", "points3D", "frames", "rigs")


@dataclass(frozen=True)
class Run:
    """How a run ended: exit code (minus the signal), what it said, and seconds it took after a signal to stop.

    One that lost a worker may end well all the same.
    """

    exit_code: int
    stderr: str
    stop_s: float = 0.0
    has_lost_worker: bool = False

    @property
    def is_hit(self) -> bool:
        """Whether the fault came before the run had ended."""
        return self.has_lost_worker or self.exit_code != 0

    @property
    def is_clear(self) -> bool:
        """Whether it, or the screen in its place, said in a sentence of its own what happened."""
        return any(line.startswith("vgpa: ") for line in self.stderr.splitlines())

    def complaint(self) -> str | None:
        """What a user would complain about, if anything."""
        if self.exit_code == HANGS:
            return f"it did not end in {LIMIT_S:.0f} s"
        if "Traceback" in self.stderr:
            return "a traceback: " + self.stderr.strip().splitlines()[-1][:100]
        if self.stop_s > STOP_LIMIT_S:
            return f"it took {self.stop_s:.1f} s to stop"
        is_killed = self.exit_code == -signal.SIGKILL
        if self.exit_code != 0 and not is_killed and not self.is_clear:
            return f"it ended with code {self.exit_code} and no word"
        return None


@dataclass(frozen=True)
class Reference:
    """An undisturbed run: its photos, its folder, and how long it took."""

    photos: Path
    folder: Path
    seconds: float

    def command(self, out: Path) -> list[str]:
        """The same run into another folder."""
        return [sys.executable, "-m", "vgpa", "reconstruct", str(self.photos), "-o", str(out), "-q", "--preset", "fast"]

    def moment(self, number: int) -> float:
        """A moment of the run, in seconds, after the program has been loaded."""
        return Random(number).uniform(0.15, 0.9) * self.seconds

    @property
    def total_size(self) -> int:
        """Bytes of all files."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    @property
    def database_size(self) -> int:
        """Bytes of the database."""
        return (self.folder / "database.db").stat().st_size

    @property
    def largest_file(self) -> int:
        """Bytes of the largest file."""
        return max(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())


def reference_run(photos: Path, folder: Path) -> Reference:
    """Run once undisturbed."""
    start = time.monotonic()
    run = run_to_end(Reference(photos, folder, 0.0).command(folder))
    assert run.exit_code == 0, run.stderr
    return Reference(photos, folder, time.monotonic() - start)


def run_to_end(command: Sequence[str], memory_mb: int | None = None, file_size: int | None = None) -> Run:
    """Run a command under limits."""

    def limit() -> None:
        _hear_interrupts()
        if memory_mb is not None:
            resource.setrlimit(resource.RLIMIT_AS, (memory_mb * 2**20,) * 2)
        if file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size,) * 2)

    prefix = GIVE_UP_RIGHTS if os.getuid() == 0 and IS_BOUND else ()
    try:
        done = subprocess.run(
            [*prefix, *command],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            preexec_fn=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Run(HANGS, "")
    return Run(done.returncode, done.stderr)


def interrupt(command: Sequence[str], number: signal.Signals, after_s: float) -> Run:
    """Run a command and send it a signal some seconds later."""
    with subprocess.Popen(
        command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=_hear_interrupts
    ) as process:
        stop_s = 0.0
        try:
            process.wait(timeout=after_s)
        except subprocess.TimeoutExpired:
            sent_s = time.monotonic()
            process.send_signal(number)
            process.wait(timeout=LIMIT_S)
            stop_s = time.monotonic() - sent_s
        assert process.stderr is not None
        return Run(process.returncode, process.stderr.read(), stop_s)


def _hear_interrupts() -> None:
    """In the background of a script, processes ignore Ctrl-C; here they hear it wherever this is run."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def kill_ray_worker(command: Sequence[str]) -> Run:
    """Run a command on a Ray cluster of its own, and kill the first worker that is in a task."""
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        is_killed = False
        while process.poll() is None:
            worker = None if is_killed else _busy_worker(process.pid)
            if worker is not None:
                time.sleep(0.3)
                os.kill(worker, signal.SIGKILL)
                is_killed = True
            time.sleep(0.05)
        assert process.stderr is not None
        words = process.stderr.read()
    if not is_killed:
        return Run(1, "vgpa: no worker was seen")
    return Run(process.returncode, words or "vgpa: the share was given to another worker", has_lost_worker=True)


def _busy_worker(session: int) -> int | None:
    """A Ray worker of the given session that computes a share."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid = int(status.parent.name)
            if os.getsid(pid) == session and (status.parent / "cmdline").read_bytes().startswith(b"ray::attempt"):
                return pid
        except (OSError, ValueError):
            continue
    return None


@contextmanager
def tmpfs(size: int) -> Iterator[Path]:
    """A file system in memory with room for so many bytes. Needs the right to mount one."""
    with TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size // 1024 + 4}k", "tmpfs", folder], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def complaint_about_folder(out: Path) -> str | None:
    """What cannot be read of what is in an output folder; None if all of it can, or nothing is there."""
    try:
        if (out / "database.db").is_file():
            with closing(sqlite3.connect(out / "database.db")) as connection:
                (answer,) = connection.execute("PRAGMA integrity_check").fetchone()
                if answer != "ok":
                    return f"the database is damaged: {answer}"
        for model in (out / "sparse").glob("[0-9]*"):
            if (model / "cameras.bin").is_file():
                read_model(model)
        for path in out.glob("*.json"):
            json.loads(path.read_text(encoding="utf-8"))
        page = out / "report.html"
        if page.is_file() and not page.read_text(encoding="utf-8").rstrip().endswith("</html>"):
            return "report.html is cut off"
        if (out / "points.ply").is_file():
            return _complaint_about_ply((out / "points.ply").read_bytes())
    except (VgpaError, ValueError, sqlite3.Error) as error:
        return str(error)
    return None


def _complaint_about_ply(content: bytes) -> str | None:
    header, _, data = content.partition(b"end_header\n")
    num_points = int(header.split(b"element vertex ")[1].split()[0]) if b"element vertex " in header else -1
    return None if len(data) == 15 * num_points else "points.ply is cut off"


def has_result(out: Path) -> bool:
    """Whether a folder holds a complete model and its report."""
    model = out / "sparse" / "0"
    return all((model / f"{name}.bin").is_file() for name in MODEL_FILES) and (out / "report.json").is_file()


def forget_matches(out: Path) -> None:
    """Take the matches out of a database, so that the next run makes them anew from the same features."""
    with closing(sqlite3.connect(out / "database.db")) as connection, connection:
        connection.execute("DELETE FROM matches")
        connection.execute("DELETE FROM two_view_geometries")


def difference(expected: Path, found: Path) -> str | None:
    """What is not the same in two output folders, if anything."""
    first, second = contents(expected / "database.db"), contents(found / "database.db")
    for table in first:
        if first[table] != second[table]:
            return f"{table} differ"
    for name in MODEL_FILES:
        paths = [folder / "sparse" / "0" / f"{name}.bin" for folder in (expected, found)]
        if not paths[1].is_file() or paths[0].read_bytes() != paths[1].read_bytes():
            return f"{name}.bin differs"
    left = [path.name for path in found.glob("*") if path.name.endswith((".partial", ".new"))]
    return f"{left[0]} is left over" if left else None
