"""Hostile photos: each is used, or left out with a reason, and those beside it do not suffer."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import pytest

from tests.hostile.commands import make_hostile_photos
from tests.hostile.corpus import End, Hostile
from tests.hostile.runner import IS_BOUND, Command, Ended, complaint_about, run_commands


@dataclass(frozen=True)
class Run:
    """A run on a folder of hostile photos and six healthy ones: the photos, its end, and the fate of each by name."""

    photos: dict[str, Hostile]
    ended: Ended
    state: dict[str, str]
    num_keypoints: dict[str, int]


@pytest.fixture(scope="module")
def hostile_run(demo_photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("hostile_photos")
    photos, out = folder / "photos", folder / "out"
    hostile = {h.path.relative_to(photos).as_posix(): h for h in make_hostile_photos(photos)}
    (photos / "healthy").mkdir()
    healthy = sorted(path.name for path in demo_photos.iterdir())
    for name in healthy:
        (photos / "healthy" / name).write_bytes((demo_photos / name).read_bytes())
    listed = folder / "pairs.txt"
    listed.write_text("".join(f"healthy/{a} healthy/{b}\n" for a, b in combinations(healthy, 2)))
    arguments = ("reconstruct", str(photos), "-o", str(out), "-q", "--preset", "fast", "--pairs", str(listed))
    (ended,) = run_commands([Command(arguments, limit_s=200)])
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    with closing(sqlite3.connect(out / "database.db")) as connection:
        rows = connection.execute("SELECT name, rows FROM images JOIN keypoints USING (image_id)").fetchall()
    return Run(hostile, ended, {row["name"]: row["state"] for row in report["images"]}, dict(rows))


def test_there_are_hundreds_of_them(hostile_run: Run) -> None:
    assert len(hostile_run.photos) >= 200
    assert len(Counter(photo.kind for photo in hostile_run.photos.values())) >= 15


def test_the_run_ends_well_and_says_that_photos_are_missing(hostile_run: Run) -> None:
    assert complaint_about(hostile_run.ended) is None
    assert hostile_run.ended.exit_code == 5


def test_every_photo_ends_as_it_must(hostile_run: Run) -> None:
    wrong = {name: photo.end for name, photo in hostile_run.photos.items() if not _ended_well(hostile_run, name)}
    if not IS_BOUND:
        wrong.pop("names/locked.jpg", None)
    assert wrong == {}


def _ended_well(run: Run, name: str) -> bool:
    state, is_used = run.state.get(name), run.num_keypoints.get(name, 0) > 0
    is_refused = state == "unreadable"
    match run.photos[name].end:
        case End.USED:
            return is_used
        case End.REFUSED:
            return is_refused
        case End.EITHER:
            return is_used != is_refused or state in ("no_matches", "no_features")
        case End.IGNORED:
            return state is None


def test_every_photo_that_is_left_out_has_its_reason(hostile_run: Run) -> None:
    for name, state in hostile_run.state.items():
        assert (state == "unreadable") == (f"{name!r} cannot be read and is left out" in hostile_run.ended.stderr)


def test_healthy_photos_do_not_suffer(hostile_run: Run) -> None:
    healthy = [state for name, state in hostile_run.state.items() if name.startswith("healthy/")]
    assert healthy == ["registered"] * 6


def test_bombs_are_not_unpacked(hostile_run: Run) -> None:
    assert hostile_run.ended.peak_mb < 1500
