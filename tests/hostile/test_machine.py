"""Faults of the machine: no room, no memory, no right to write, a signal. A sentence, and nothing done is lost.

`benchmarks/reliability.py faults` does the same to whole runs, many times.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.hostile.originals import make_database
from tests.hostile.runner import IS_BOUND, ROOT, Command, complaint_about, run_commands
from tests.synthetic import make_problem
from vgpa.cli.screen import DIED
from vgpa.colmap.model import read_model, write_model
from vgpa.colmap.model_files import check_binary_files
from vgpa.colmap.silence import logging_to
from vgpa.errors import InputError, OutputError, ResourceError, VgpaError, faults_explained, require_memory
from vgpa.network.weights import load_network
from vgpa.report.ply import write_ply
from vgpa.scene import Keypoints, Poses, Reconstruction, Tracks


@pytest.fixture
def database(tmp_path: Path) -> Path:
    make_database(tmp_path / "scene.db", num_images=5)
    return tmp_path / "scene.db"


def small_model(num_points: int = 200) -> tuple[Reconstruction, Keypoints]:
    truth = make_problem(4, num_points)
    seen = np.tile(np.arange(4), num_points)
    tracks = Tracks(4 * np.arange(num_points + 1), seen, np.repeat(np.arange(num_points), 4))
    grey = np.full((num_points, 3), 128, dtype=np.uint8)
    poses, images = Poses.of_all(truth.cam_from_world), truth.problem.images
    model = Reconstruction(images, poses, truth.xyz, tracks, np.zeros(num_points), grey)
    return model, truth.problem.keypoints


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (MemoryError("Unable to allocate 9 GiB"), ResourceError, "memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), ResourceError, "memory"),
        (ImportError("libx.so: failed to map segment from shared object"), ResourceError, "memory"),
        (OSError(errno.ENOSPC, "No space left", "/out/report.json"), OutputError, "disk is full at /out/report.json"),
        (OSError(errno.EROFS, "Read-only file system", "/out"), OutputError, "Read-only"),
        (FileNotFoundError(errno.ENOENT, "No such file", "a.jpg"), OutputError, r"a\.jpg"),
        (sqlite3.OperationalError("database is locked"), OutputError, "no other run"),
        (RuntimeError("No registered database factory succeeded."), OutputError, "disk is not full"),
    ],
)
def test_faults_of_the_machine_become_sentences(error: Exception, kind: type[VgpaError], words: str) -> None:
    with pytest.raises(kind, match=words), faults_explained():
        raise error


@pytest.mark.parametrize("error", [RuntimeError("a bug"), ValueError("a bug"), ImportError("no module"), KeyError("k")])
def test_bugs_stay_bugs(error: Exception) -> None:
    with pytest.raises(type(error), match=r"bug|module|k"), faults_explained():
        raise error


def test_too_little_memory_is_said_before_anything_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (300 * 2**20, 300 * 2**20))
    with pytest.raises(ResourceError, match="limited to 300 MB"):
        require_memory()
    for enough in (2**40, resource.RLIM_INFINITY):
        monkeypatch.setattr(resource, "getrlimit", lambda _, enough=enough: (enough, enough))
        require_memory()


BLAS_WITHOUT_ROOM = """
import resource
from pathlib import Path
from scipy.linalg.blas import dtrsv
import numpy as np
from vgpa.errors import require_memory

def leave(room):
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))

leave(2**31)
require_memory()
leave(2**20)
dtrsv(np.eye(90), np.eye(90) @ np.ones(90))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="needs /proc")
def test_openblas_does_not_ask_for_memory_for_ever() -> None:
    done = subprocess.run([sys.executable, "-c", BLAS_WITHOUT_ROOM], cwd=ROOT, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="needs /proc")
@pytest.mark.parametrize("num_layers", [3, 4096])
def test_what_weights_claim_is_never_allocated(num_layers: int, tmp_path: Path) -> None:
    path, tokens = tmp_path / "wide.safetensors", np.zeros(4096, dtype=np.float32)
    config = json.dumps({"width": 4096, "num_layers": num_layers})  # gigabytes
    save_file({"token": tokens}, path, metadata={"kind": "paper", "config": config})
    pid = os.fork()
    if pid == 0:
        try:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + 2**27, resource.RLIM_INFINITY))
            load_network(path)
        except InputError:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


class TestModelOnDisk:
    """A model is replaced as a whole, or not at all."""

    def test_what_is_written_is_whole(self, tmp_path: Path) -> None:
        model, keypoints = small_model()
        write_model(model, keypoints, tmp_path / "0")
        check_binary_files(tmp_path / "0")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["0"]

    @pytest.mark.parametrize("name", ["cameras", "images", "points3D", "frames", "rigs"])
    def test_every_missing_byte_is_noticed(self, name: str, tmp_path: Path) -> None:
        model, keypoints = small_model(5)
        write_model(model, keypoints, tmp_path)
        whole = (tmp_path / f"{name}.bin").read_bytes()
        for length in [*range(min(len(whole), 400)), len(whole) - 1]:
            (tmp_path / f"{name}.bin").write_bytes(whole[:length])
            with pytest.raises(ValueError, match="is damaged"):
                check_binary_files(tmp_path)

    def test_an_old_model_stays_when_the_disk_is_full(self, tmp_path: Path) -> None:
        old, keypoints = small_model(10)
        write_model(old, keypoints, tmp_path / "0")
        large, keypoints = small_model(2000)
        pid = os.fork()
        if pid == 0:
            try:
                resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
                write_model(large, keypoints, tmp_path / "0")
            except OutputError:
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert read_model(tmp_path / "0")[0].num_points == 10
        assert sorted(path.name for path in tmp_path.iterdir()) == ["0"]


def test_points_on_disk_stay_when_the_disk_is_full(tmp_path: Path) -> None:
    path, color = tmp_path / "points.ply", np.zeros((2000, 3), dtype=np.uint8)
    write_ply(np.ones((10, 3)), color[:10], path)
    whole = path.read_bytes()
    pid = os.fork()
    if pid == 0:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
            write_ply(np.ones((2000, 3)), color, path)
        except OSError:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert path.read_bytes() == whole


def test_a_folder_that_cannot_be_written(database: Path, tmp_path: Path) -> None:
    if not IS_BOUND:
        pytest.skip("permissions bind nobody here")
    (tmp_path / "out").mkdir(mode=0o555)
    (ended,) = run_commands([Command(("map", str(database), "-o", str(tmp_path / "out"), "-q"))])
    assert complaint_about(ended) is None
    assert ended.exit_code == 3


def test_sigterm_ends_a_run_without_a_stack_trace(tmp_path: Path) -> None:
    """pycolmap would print one."""
    code = (
        "import os, pathlib, signal, sys, pycolmap; from vgpa.colmap.silence import logging_to\n"
        "with logging_to(pathlib.Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGTERM)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "log.txt")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == -signal.SIGTERM
    assert done.stderr == b""


@pytest.mark.parametrize("handler", ["SIG_IGN", "SIG_DFL", "default_int_handler"])
def test_a_run_that_dies_is_spoken_for(handler: str, tmp_path: Path) -> None:
    """Also in the background of a script, where Ctrl-C is ignored."""
    code = (
        "import os, pathlib, signal, sys; from vgpa.cli.screen import opened_screen\n"
        f"signal.signal(signal.SIGINT, signal.{handler})\n"
        "with opened_screen(pathlib.Path(sys.argv[1]), 'nothing'): os.abort()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "log.txt")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGABRT
    assert done.stderr == DIED + "\n"


def test_a_dead_ray_worker_is_no_part_of_the_result() -> None:
    """Ray would tell of it on standard output, where programs look for the result."""
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    code = (
        "import os, time; from vgpa.compute import make_executor\n"
        "def die(task): os.kill(os.getpid(), 9)\n"
        "(outcome,) = make_executor('ray').run(die, [0])\n"
        "time.sleep(1)\n"
        "print('the worker died' in outcome.error)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "True\n"


def test_warnings_of_libraries_go_to_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with logging_to(tmp_path / "log.txt"):
        warnings.warn("odd photo", UserWarning, stacklevel=1)
    assert "odd photo" in (tmp_path / "log.txt").read_text()
    assert capfd.readouterr().err == ""


INTERRUPTED_WHILE_LOADED = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "vgpa.cli.parse":
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Finder())
import vgpa.cli
"""


def test_ctrl_c_while_the_program_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_WHILE_LOADED], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "vgpa: stopped before anything was done\n")


def test_an_interrupt_that_a_library_hides_is_one_again() -> None:
    """Ctrl-C while pycolmap is loaded comes out of it as an error of another kind."""
    hidden = ImportError("initialization failed")
    hidden.__cause__ = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt), faults_explained():
        raise RuntimeError("Cannot import the C++ backend") from hidden
