"""A function beside: the same result wherever it runs, its own error, and nothing left behind."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from vgpa.compute import beside as room
from vgpa.compute.beside import beside

CORES = 2


def forking(code: str) -> str:
    """What a fresh process without threads prints, which is one that may fork."""
    lines = "import os, sys, time, threading\nimport numpy as np\nfrom vgpa.compute.beside import beside\n"
    env = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    script = lines + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("cores", [1, CORES])
def test_the_result_is_the_functions(cores: int) -> None:
    wanted = np.arange(12.0).reshape(3, 4)
    with beside(lambda: wanted, cores) as result:
        np.testing.assert_array_equal(result(), wanted)


def test_with_one_core_nothing_is_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("forked"))
    with beside(lambda: np.array(os.getpid()), 1) as result:
        assert result() == os.getpid()


def test_where_nothing_can_be_forked_it_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_can_fork", lambda: False)
    with beside(lambda: np.array(os.getpid()), CORES) as result:
        assert result() == os.getpid()


def test_it_runs_in_another_process() -> None:
    code = """
    with beside(lambda: np.array(os.getpid()), 2) as result:
        print(result() != os.getpid())
    """
    assert forking(code) == "True"


def test_it_runs_while_the_block_goes_on() -> None:
    code = """
    start = time.monotonic()
    with beside(lambda: (time.sleep(2.0), np.zeros(1))[1], 2) as result:
        time.sleep(2.0)
        result()
    print(time.monotonic() - start < 3.5)
    """
    assert forking(code) == "True"


def test_a_process_with_threads_is_not_forked() -> None:
    code = """
    stop = threading.Event()
    threading.Thread(target=stop.wait).start()
    with beside(lambda: np.array(os.getpid()), 2) as result:
        print(result() == os.getpid())
    stop.set()
    """
    assert forking(code) == "True"


def test_results_larger_than_a_pipe_arrive() -> None:
    code = """
    with beside(lambda: np.arange(1_000_000), 2) as result:
        print(result().sum())
    """
    assert forking(code) == str(sum(range(1_000_000)))


def test_an_error_is_raised_where_the_result_is_asked_for() -> None:
    code = """
    def fail():
        raise ValueError(f"in {os.getpid() == here}")
    here = os.getpid()
    with beside(fail, 2) as result:
        try:
            result()
        except ValueError as error:
            print(error)
    """
    assert forking(code) == "in True"


def test_nobody_is_left_when_nobody_asks() -> None:
    code = """
    start = time.monotonic()
    try:
        with beside(lambda: (time.sleep(30), np.zeros(1))[1], 2):
            raise KeyError
    except KeyError:
        pass
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        print(time.monotonic() - start < 10)
    """
    assert forking(code) == "True"


def test_where_the_system_has_no_process_to_give_it_runs_here() -> None:
    code = """
    def refuse():
        raise BlockingIOError("no more processes")
    num_open = len(os.listdir("/proc/self/fd"))
    os.fork = refuse
    with beside(lambda: np.array(os.getpid()), 2) as result:
        print(result() == os.getpid(), len(os.listdir("/proc/self/fd")) == num_open)
    """
    assert forking(code) == "True True"


def test_a_process_that_dies_over_its_result_is_made_up_for() -> None:
    whole = io.BytesIO()
    np.save(whole, np.arange(100_000))
    for num_sent in (0, 5, 60, 70_000):
        assert room._received(whole.getvalue()[:num_sent], lambda: np.array(7)) == 7


def test_a_program_that_forgets_its_processes_gets_the_result() -> None:
    code = """
    import signal
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with beside(lambda: np.arange(3), 2) as result:
        print(result().sum())
        time.sleep(0.2)
    """
    assert forking(code) == "3"


def test_an_interrupt_is_heard_by_the_block_alone() -> None:
    code = """
    import signal
    os.setpgrp()
    try:
        with beside(lambda: (time.sleep(30), np.zeros(1))[1], 2):
            os.killpg(0, signal.SIGINT)
            time.sleep(5)
    except KeyboardInterrupt:
        print("once", flush=True)
    """
    assert forking(code) == "once"


def test_it_ends_with_the_process_that_wants_its_result() -> None:
    code = """
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(read)
        with beside(lambda: (time.sleep(30), np.zeros(1))[1], 2):
            time.sleep(0.5)
            os.kill(os.getpid(), 9)
    os.close(write)
    start = time.monotonic()
    os.read(read, 1)  # the end of the pipe, which every process that is left holds open
    print(time.monotonic() - start < 10)
    """
    assert forking(code) == "True"
