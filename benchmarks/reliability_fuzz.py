"""Many damaged inputs for every parser and type constructor. Part of `reliability.py`.

Inputs are made and tried in a forked process, which counts in shared memory what it is at: when it dies or stands
still, the input is known, and the next process goes on behind it.
"""

from __future__ import annotations

import mmap
import os
import resource
import signal
import struct
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.fuzz.more_parsers import MORE_PARSERS
from tests.fuzz.parsers import PARSERS
from tests.fuzz.targets import Target, is_accepted
from tests.fuzz.types import TYPES
from vgpa.network import weights  # noqa: F401  (torch is loaded once, before the processes fork)

HANG_S = 20.0
MEMORY_BYTES = 6 * 2**30
SECONDS_TO_WEIGH = 2.0
STATE = struct.Struct("<qqq")
"""In shared memory: the input that is tried, and how many were accepted and refused so far."""


@dataclass
class Found:
    """What came of the inputs of one target."""

    num_accepted: int = 0
    num_refused: int = 0
    bugs: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def num_inputs(self) -> int:
        """All inputs that were tried."""
        return self.num_accepted + self.num_refused + sum(self.bugs.values())


def measure(num_inputs: int) -> str:
    """The section of the page."""
    targets = [*PARSERS, *MORE_PARSERS, *TYPES]
    warnings.simplefilter("ignore")
    speed = {target.name: _speed(target) for target in targets}
    share = _shares(speed, num_inputs)
    rows = []
    for target in targets:
        found = fuzz(target, share[target.name])
        rows.append((target.name, found))
        print(f"{target.name}: {found.num_inputs} inputs, {found.seconds:.0f} s, bugs: {dict(found.bugs) or 'none'}")
    total = sum(found.num_inputs for _, found in rows)
    num_bugs = sum(sum(found.bugs.values()) for _, found in rows)
    return "\n".join(
        [
            f"{total:,} inputs, {num_bugs} of which crashed, hung (more than {HANG_S:.0f} s) or raised anything but "
            "the promised error. Inputs are healthy files with a few changes: odd numbers written over them, bytes "
            "flipped, cut out, repeated or cut off; cells and arrays with odd values; arrays of odd shapes and types. "
            "Input k of a target is drawn from seed k.",
            "",
            "| target | inputs | accepted | refused | crashes, hangs, other errors |",
            "|---|---|---|---|---|",
            *(
                f"| {name} | {found.num_inputs:,} | {found.num_accepted:,} | {found.num_refused:,} | "
                f"{'; '.join(f'{what} ({num})' for what, num in found.bugs.items()) or 'none'} |"
                for name, found in rows
            ),
        ]
    )


def _speed(target: Target) -> float:
    """Inputs of the target per second, measured shortly."""
    found = fuzz(target, 10**9, limit_s=SECONDS_TO_WEIGH)
    return max(found.num_inputs / found.seconds, 1.0)


def _shares(speed: dict[str, float], num_inputs: int) -> dict[str, int]:
    """How many inputs each target gets: more for quick ones, but not in proportion, so that slow ones are tried too."""
    weight = {name: value**0.7 for name, value in speed.items()}
    total = sum(weight.values())
    return {name: int(num_inputs * value / total) + 1 for name, value in weight.items()}


def fuzz(target: Target, num_inputs: int, limit_s: float = float("inf")) -> Found:
    """Try inputs 0, 1, ... of a target."""
    found, start = Found(), time.monotonic()
    shared = mmap.mmap(-1, STATE.size)
    scratch = "/dev/shm" if Path("/dev/shm").is_dir() else None
    next_input = 0
    with TemporaryDirectory(dir=scratch) as folder:
        while next_input < num_inputs and time.monotonic() - start < limit_s:
            place = Path(folder) / str(next_input)
            place.mkdir()
            shared[:] = STATE.pack(next_input, 0, 0)
            deadline_s = start + limit_s
            what = _try_from(target, place, shared, num_inputs, deadline_s)
            next_input, num_accepted, num_refused = STATE.unpack(shared[:])
            found.num_accepted += num_accepted
            found.num_refused += num_refused
            if what is None:
                break
            found.bugs[what] += 1
            next_input += 1
    found.seconds = time.monotonic() - start
    return found


def _try_from(target: Target, place: Path, shared: mmap.mmap, num_inputs: int, deadline_s: float) -> str | None:
    """Try inputs from the one in shared memory on, in a process of its own; what stopped it, or None at the end."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        _be_the_trial(target, place, shared, num_inputs, deadline_s, write_end)
    os.close(write_end)
    last, last_s = -1, time.monotonic()
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        current = STATE.unpack(shared[:])[0]
        if current != last:
            last, last_s = current, time.monotonic()
        elif time.monotonic() - last_s > HANG_S:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(read_end)
            return f"hang at input {last}"
        time.sleep(0.01)
    with os.fdopen(read_end) as pipe:
        error = pipe.read()
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        return None
    return error or f"crash with code {code}"


def _be_the_trial(
    target: Target, place: Path, shared: mmap.mmap, num_inputs: int, deadline_s: float, write_end: int
) -> None:
    """What the forked process does; it never returns."""
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        attempt = target.prepare(place)
        k, num_accepted, num_refused = STATE.unpack(shared[:])
        while k < num_inputs and time.monotonic() < deadline_s:
            if is_accepted(target, attempt, Random(k)):
                num_accepted += 1
            else:
                num_refused += 1
            k += 1
            shared[:] = STATE.pack(k, num_accepted, num_refused)
        code = 0
    except BaseException as error:
        first_line = str(error).splitlines()[0] if str(error) else ""
        os.write(write_end, f"{type(error).__name__}: {first_line[:120]}".encode(errors="replace"))
    finally:
        os._exit(code)
