"""Commands of the `vgpa` program, each in a process of its own with limits on time and memory.

One process loads the program once and forks for every command, so that hundreds of them take seconds, a crash is
seen as one, and a hang is ended. Where the tests run as root, permissions would bind nobody: then the process gives
up the right to pass over them, if the system has a tool for that.

    python -m tests.hostile.runner      reads commands as lines of JSON, and answers with lines of JSON
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
GIVE_UP_RIGHTS = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
IS_BOUND = os.getuid() != 0 or shutil.which(GIVE_UP_RIGHTS[0]) is not None
"""Whether file permissions hold in the commands."""


@dataclass(frozen=True)
class Command:
    """What is run: the arguments of `vgpa`, and the limits it runs under (None: no limit on memory)."""

    arguments: tuple[str, ...]
    limit_s: float = 60.0
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (minus the signal that killed it; None: it hung), its words, its cost."""

    exit_code: int | None
    stdout: str
    stderr: str
    seconds: float
    peak_mb: float


def run_commands(commands: Sequence[Command]) -> Iterator[Ended]:
    """Run commands one after the other, and give back how each of them ended."""
    prefix = GIVE_UP_RIGHTS if os.getuid() == 0 and IS_BOUND else ()
    server = subprocess.Popen(
        [*prefix, sys.executable, "-m", "tests.hostile.runner"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        for command in commands:
            server.stdin.write(json.dumps(asdict(command)) + "\n")
            server.stdin.flush()
            yield Ended(**json.loads(server.stdout.readline()))
    finally:
        server.stdin.close()
        server.wait()
        server.stdout.close()


def complaint_about(ended: Ended) -> str | None:
    """What a user would have to complain about, whatever the input was: None if nothing."""
    if ended.exit_code is None:
        return "it hangs"
    if ended.exit_code < 0:
        return f"it crashes with signal {-ended.exit_code}"
    if "Traceback" in ended.stderr:
        return "it shows a traceback: " + ended.stderr.strip().splitlines()[-1]
    if ended.exit_code not in (0, 2, 3, 4, 5, 6):
        return f"it ends with the code {ended.exit_code}"
    lines = ended.stderr.splitlines()
    if any(not line.startswith("vgpa: ") or not line.isprintable() for line in lines):
        return f"it says {lines[0]!r}"
    if ended.exit_code not in (0, 5) and len(lines) != 1:
        return f"it fails with {len(lines)} sentences"
    return None


def _serve() -> None:
    # Loaded here once, for all commands.
    import vgpa.averaging.finetune
    import vgpa.frontend.hloc
    import vgpa.pipeline  # noqa: F401
    from vgpa.cli import run

    for line in sys.stdin:
        fields = json.loads(line)
        sys.stdout.write(json.dumps(asdict(_fork(run, Command(**fields)))) + "\n")
        sys.stdout.flush()


def _fork(run: object, command: Command) -> Ended:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        pid = os.fork()
        if pid == 0:
            _be_the_command(run, command, out.fileno(), err.fileno())
        status, usage = None, None
        while status is None and time.monotonic() - start < command.limit_s:
            done, code, usage = os.wait4(pid, os.WNOHANG)
            status = code if done else None
            if status is None:
                time.sleep(0.005)
        if status is None:
            os.kill(pid, signal.SIGKILL)
            _, _, usage = os.wait4(pid, 0)
        seconds = time.monotonic() - start
        words = []
        for file in (out, err):
            file.seek(0)
            words.append(file.read().decode("utf-8", errors="replace"))
        exit_code = None if status is None else os.waitstatus_to_exitcode(status)
        return Ended(exit_code, words[0], words[1], seconds, usage.ru_maxrss / 1024)


def _be_the_command(run: object, command: Command, out: int, err: int) -> None:
    """What the forked process does; it never returns."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    code = 1
    try:
        if command.memory_bytes is not None:
            resource.setrlimit(resource.RLIMIT_AS, (command.memory_bytes,) * 2)
        code = run(list(command.arguments))  # type: ignore[operator]
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
