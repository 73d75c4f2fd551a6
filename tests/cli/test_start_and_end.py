"""How the process of a command starts and ends: without what only holds it up, and without losing anything."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vgpa.cli.loading import loading

SELDOM = """
import sys
from vgpa.cli.loading import loading
with loading():
    import vgpa.pipeline
print("numpy.f2py.crackfortran" in sys.modules, "unittest" in sys.modules)
import numpy.f2py
numpy.testing.assert_allclose(1.0, 1.0)
print(numpy.testing.assert_allclose.__name__, callable(numpy.f2py.get_include))
"""
LAST_WORDS = """
import atexit, sys, tempfile, threading, time
from vgpa import cli
class Model:
    def __del__(self): print("taken apart")
model = Model()
def work(*args):
    global folder
    folder = tempfile.TemporaryDirectory()
    print(folder.name)
    atexit.register(print, "last words")
    threading.Timer(0.2, print, ["thread is done"]).start()
    {ending}
cli.run = work
cli.main()
"""


def run_code(code: str) -> subprocess.CompletedProcess[str]:
    """What a program prints into a pipe, which Python buffers unless it is told not to."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)


class TestLoading:
    """Large imports."""

    def test_what_is_seldom_used_is_loaded_when_it_is_used(self) -> None:
        assert run_code(SELDOM).stdout == "False False\nassert_allclose True\n"

    def test_garbage_is_collected_again_afterwards(self) -> None:
        code = "import gc\nfrom vgpa.cli.loading import loading\n"
        code += "with loading(): print(gc.isenabled())\nprint(gc.isenabled(), gc.get_freeze_count() > 10_000)"
        assert run_code(code).stdout == "False\nTrue True\n"

    def test_a_program_that_uses_numpy_already_is_left_as_it_is(self) -> None:
        assert "numpy" in sys.modules
        before = gc.get_freeze_count()
        with loading():
            assert gc.isenabled()
        assert gc.get_freeze_count() == before

    def test_a_run_in_json_loads_no_libraries_for_drawing(self, tmp_path: Path) -> None:
        code = "import sys\nfrom vgpa.cli import run\n"
        code += f"run(['map', '{tmp_path}/none.db', '-o', '{tmp_path}', '--json'])\n"
        code += "print({'rich', 'PIL', 'plotly', 'torch', 'importlib.metadata'} & set(sys.modules))"
        assert run_code(code).stdout == "set()\n"


class TestEnd:
    """The end of a process."""

    @pytest.mark.parametrize("exit_code", [0, 5])
    def test_everybody_says_their_last_words_but_nothing_is_taken_apart(self, exit_code: int) -> None:
        done = run_code(LAST_WORDS.format(ending=f"return {exit_code}"))
        folder, *lines = done.stdout.splitlines()
        assert lines == ["thread is done", "last words"]
        assert not Path(folder).exists(), "temporary folders are cleared away"
        assert (done.returncode, done.stderr) == (exit_code, "")

    def test_a_bug_is_not_hidden(self) -> None:
        done = run_code(LAST_WORDS.format(ending="raise RuntimeError('a bug')"))
        assert done.returncode == 1
        assert "RuntimeError: a bug" in done.stderr
        assert done.stdout.splitlines()[1:] == ["thread is done", "last words", "taken apart"]

    def test_a_reader_that_has_seen_enough(self) -> None:
        code = "from vgpa import cli\ncli.run = lambda args: print('x' * 100) or 0\ncli.main()"
        process = subprocess.Popen([sys.executable, "-c", code], stdout=-1, stderr=-1, env={"PATH": ""})
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait() == 0

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
    def test_a_disk_that_is_full(self) -> None:
        code = "from vgpa import cli\ncli.run = lambda args: print('x' * 100) or 0\ncli.main()"
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=-1, env={"PATH": ""})
        assert done.returncode == 3
        assert done.stderr.startswith(b"vgpa: The result cannot be printed (")
        assert done.stderr.count(b"\n") == 1

    def test_a_program_that_calls_the_command_goes_on_afterwards(self) -> None:
        code = "from vgpa import cli\ntry: cli.main(['--version'])\nexcept SystemExit: print('and on')\n"
        done = run_code(code + "raise SystemExit(7)")
        assert done.stdout.endswith("and on\n")
        assert done.returncode == 7

    def test_help_into_a_closed_pipe_is_no_error(self) -> None:
        command = f"'{sys.executable}' -m vgpa map --help | true; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
