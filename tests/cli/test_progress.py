"""What a run shows while it works: bars and a table on a terminal, lines of JSON for programs, a log on disk."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.cli.conftest import NUM_MANY_IMAGES
from vgpa.cli import run
from vgpa.cli.show import finish

STAGES = ["read database", "average poses", "build tracks", "bundle adjust", "check cameras", "write model"]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
BAR = re.compile(r"([a-z ]+?) +[━╸╺ ]{20,} *(\d+ of \d+)? *\d+(\.\d)? s(, \d+:\d\d:\d\d left)? *")


def run_in_terminal(*args: str) -> tuple[int, str]:
    """Exit code of a `vgpa` command whose input, output and errors are a terminal, and all that it printed there."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "vgpa", *args]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | {"COLUMNS": "120"})
    os.close(theirs)
    pieces = []
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # nobody holds the other end any more
            break
        pieces.append(piece)
    os.close(ours)
    return process.wait(), b"".join(pieces).decode()


@pytest.fixture(scope="module")
def shown(many_images: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    output = tmp_path_factory.mktemp("shown")
    code, text = run_in_terminal("map", str(many_images), "-o", str(output), "--preset", "fast")
    assert code == 0, text
    return text, output


class TestTerminal:
    """A run on more than a hundred images in a terminal."""

    def test_nothing_but_bars_and_the_table_is_printed(self, shown: tuple[str, Path]) -> None:
        text, output = shown
        bars, table = text.split("\x1b[?25h")  # where the cursor comes back
        bars = ESCAPES.sub("", bars)
        assert {match[1] for match in BAR.finditer(bars)} == set(STAGES)
        assert BAR.sub("", bars).strip() == ""
        rows = [re.split(r"  +", line.strip())[0] for line in ESCAPES.sub("", table).splitlines() if line.strip()]
        facts = ["images registered", "points", "mean track length", "median error"]
        assert [row for row in rows if row != "warning"] == [*facts, *STAGES, "total", "model", "report"]
        assert f"{NUM_MANY_IMAGES} / {NUM_MANY_IMAGES}" in table
        assert str(output / "report.html") in table

    def test_the_bars_are_gone_when_the_table_comes(self, shown: tuple[str, Path]) -> None:
        _, table = shown[0].split("\x1b[?25h")
        num_cleared = table.count("\x1b[1A")
        assert num_cleared == len(STAGES), "as many lines are wiped as there were bars"

    def test_the_log_has_every_stage_with_its_time(self, shown: tuple[str, Path]) -> None:
        log = (shown[1] / "log.txt").read_text()
        for name in STAGES:
            assert re.search(
                rf"^\d+-\d\d-\d\d \d\d:\d\d:\d\d vgpa: {name}: \d+\.\d\d s, peak memory \d+ MB$", log, re.M
            )

    def test_quiet_prints_nothing(self, synthetic_database: tuple[Path, Path], tmp_path: Path) -> None:
        code, text = run_in_terminal("map", str(synthetic_database[0]), "-o", str(tmp_path), "-q", "--preset", "fast")
        assert (code, text) == (0, "")

    def test_an_error_is_one_sentence_and_the_cursor_is_back(self, tmp_path: Path) -> None:
        (tmp_path / "database.db").write_text("no database")
        code, text = run_in_terminal("map", str(tmp_path / "database.db"), "-o", str(tmp_path / "out"))
        assert code == 2
        assert text.count("\x1b[?25l") == text.count("\x1b[?25h")
        assert ESCAPES.sub("", text).splitlines()[-1].startswith("vgpa: ")
        assert "vgpa: error: " in (tmp_path / "out" / "log.txt").read_text()


class TestJson:
    """`--json`: the result on standard output, what happens meanwhile on standard error, one object a line."""

    def test_every_line_is_an_object(
        self, many_images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["map", str(many_images), "-o", str(tmp_path), "--json", "--preset", "fast"]) == 0
        printed = capsys.readouterr()
        (result,) = [json.loads(line) for line in printed.out.splitlines()]
        events = [json.loads(line) for line in printed.err.splitlines()]
        assert result["num_registered"] == NUM_MANY_IMAGES
        assert [event["stage"] for event in events if event["event"] == "start"] == STAGES
        ends = [event for event in events if event["event"] == "end"]
        assert [(end["stage"], end["seconds"]) for end in ends] == [
            (stage["name"], stage["seconds"]) for stage in result["stages"]
        ]
        assert {event["event"] for event in events} <= {"start", "progress", "end", "warning"}

    def test_progress_of_features_is_told(self, demo_photos: Path, tmp_path: Path) -> None:
        command = ["reconstruct", str(demo_photos), "-o", str(tmp_path), "--json", "--preset", "fast"]
        done = subprocess.run([sys.executable, "-m", "vgpa", *command], capture_output=True, text=True, check=True)
        events = [json.loads(line) for line in done.stderr.splitlines()]
        told = [event for event in events if event["event"] == "progress" and event["stage"] == "extract features"]
        assert told[-1]["num_total"] == 6
        assert [event["num_done"] for event in told] == sorted(event["num_done"] for event in told)

    def test_an_error_is_an_object_too(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["reconstruct", str(tmp_path), "-o", str(tmp_path / "out"), "--json"]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        (error,) = [json.loads(line) for line in printed.err.splitlines()]
        assert error["event"] == "error"
        assert error["exit_code"] == 2
        assert "no photos" in error["what"]
        assert error["hint"]


def test_names_of_files_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[2Jgone\n.jpg"
    summary = {
        "num_registered": 2,
        "num_images": 3,
        "num_points": 5,
        "mean_track_length": 2.0,
        "median_error_px": 0.5,
        "seconds": 1.0,
        "stages": [],
        "images": [{"name": evil, "state": "no_matches"}],
        "warnings": [],
        "models": [{"folder": "sparse/0", "num_registered": 2}],
    }
    result = SimpleNamespace(summary=summary, states={}, folder=Path("out"))
    assert finish(cast(Any, result), is_json=False, is_quiet=False) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "missing" in printed
    assert len(printed.splitlines()) == 8
