"""What a command costs is measured, whatever the measuring process itself has in memory."""

from __future__ import annotations

import sys

import numpy as np

from vgpa.benchmark.measure import measure


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def test_time_and_processor_time_are_told_apart() -> None:
    asleep = measure(python("import time; time.sleep(0.5)"))
    busy = measure(python("import time\nwhile time.process_time() < 0.4: pass"))
    assert asleep.exit_code == busy.exit_code == 0
    assert asleep.seconds >= 0.5
    assert asleep.cpu_seconds < 0.3
    assert 0.4 <= busy.cpu_seconds <= busy.seconds + 0.1


def test_memory_is_the_commands_own() -> None:
    ballast = np.ones(2**25)  # 256 MiB here must not be seen there
    small, large = measure(python("pass")), measure(python("block = bytearray(2**27)"))
    assert ballast.nbytes > 2**27
    assert small.peak_mb < 100
    assert small.peak_mb + 100 < large.peak_mb < 256


def test_a_failure_brings_its_last_words_and_its_code() -> None:
    cost = measure(python("import sys; print('first\\nlast', file=sys.stderr); sys.exit(4)"))
    assert (cost.exit_code, cost.last_words) == (4, "last")
    assert measure(python("import os; os.kill(os.getpid(), 9)")).exit_code == -9
