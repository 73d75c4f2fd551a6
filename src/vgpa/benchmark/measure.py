"""One command in a process of its own: what it costs, and how it ended.

This file is also the program that does the measuring: a child's peak memory starts from its parent's, so the parent
must be small, and is this file alone, with nothing imported but Python's own library.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass

TIMEOUT_S = 4 * 3600.0


@dataclass(frozen=True)
class Cost:
    """What a command cost.

    Attributes:
        seconds: wall time.
        cpu_seconds: processor time of the process and its children.
        peak_mb: peak memory of the largest of them.
        exit_code: 0 where all went well; negative where a signal ended it.
        last_words: the last line that it wrote to its error output.
        load_before: load of the machine (one-minute average) before the start.
    """

    seconds: float
    cpu_seconds: float
    peak_mb: float
    exit_code: int
    last_words: str
    load_before: float


def measure(command: list[str]) -> Cost:
    """Run a command to its end, or to `TIMEOUT_S`."""
    launcher = [sys.executable, "-I", __file__, *command]
    done = subprocess.run(launcher, stdout=subprocess.PIPE, check=True)
    return Cost(**json.loads(done.stdout))


def _run(command: list[str]) -> Cost:
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        timer = threading.Timer(TIMEOUT_S, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        lines = errors.read().strip().splitlines()
    cpu_seconds, peak_mb = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    return Cost(seconds, cpu_seconds, peak_mb, process.returncode, lines[-1] if lines else "", load_before)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(_run(sys.argv[1:]))))
