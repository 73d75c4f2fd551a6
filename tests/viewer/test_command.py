"""`vgpa view`: it says where it listens, serves until Ctrl-C, and explains what it cannot show."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from tests.report.made_up import model, ring_of_cameras
from vgpa.cli import run
from vgpa.colmap.model import write_model
from vgpa.scene import Keypoints

pytest.importorskip("viser", reason="the viewer needs viser")


def test_it_serves_until_it_is_stopped(tmp_path: Path) -> None:
    keypoints = Keypoints(np.zeros(4, dtype=np.int64), np.zeros((0, 2)))
    write_model(model(ring_of_cameras(3), 0), keypoints, tmp_path / "sparse" / "0")
    command = [sys.executable, "-m", "vgpa", "view", str(tmp_path), "--port", "8123"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            (url,) = re.findall(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
            with urllib.request.urlopen(url, timeout=20) as answer:
                assert answer.status == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()


def test_a_folder_without_a_model_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", str(tmp_path)]) == 2
    assert "no model" in capsys.readouterr().err
