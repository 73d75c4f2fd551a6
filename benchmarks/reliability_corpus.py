"""Hostile inputs, each met by the command that a user would give. Part of `reliability.py`."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.hostile.commands import make_cases, make_hostile_photos
from tests.hostile.corpus import End
from tests.hostile.originals import make_walk
from tests.hostile.photo_sets import PHOTO_SETS
from tests.hostile.runner import Command, complaint_about, run_commands


@dataclass
class Row:
    """What became of the inputs of one kind."""

    ends: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    complaints: list[str] = field(default_factory=list)

    def add(self, end: str, complaint: str | None) -> None:
        """Count one input."""
        self.ends[end] += 1
        if complaint is not None:
            self.complaints.append(complaint)


def measure() -> str:
    """The section of the page."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        photos = measure_photos(folder / "photos")
        files, slowest_s, peak_mb = measure_files(folder / "files")
        sets = measure_sets(folder / "sets")
    rows = [*photos.items(), *files.items()]
    num_bad = sum(len(row.complaints) for _, row in rows)
    num = sum(sum(row.ends.values()) for kind, row in rows if not kind.startswith("healthy"))
    return "\n".join(
        [
            f"{num} hostile files, {num_bad} complaints (a hang, a crash, a traceback, more than one sentence, or an "
            "end that is not the right one).",
            "",
            "Photos, all of them in one folder beside six healthy ones, which were all registered:",
            "",
            *_table(photos),
            "",
            f"Other files, one command each; the slowest took {slowest_s:.1f} s, the largest {peak_mb:.0f} MB:",
            "",
            *_table(files),
            "",
            "Folders of healthy photos that hold no model, or several:",
            "",
            "| folder | models it holds | what came out |",
            "|---|---|---|",
            *(f"| {name} | {wanted} | {got} |" for name, wanted, got in sets),
        ]
    )


def _table(rows: dict[str, Row]) -> list[str]:
    lines = ["| input | files | used | refused, with a reason | not opened | complaints |", "|---|---|---|---|---|---|"]
    for kind, row in rows.items():
        counts = " | ".join(str(row.ends[end] or "") for end in ("used", "refused", "ignored"))
        complaints = "; ".join(sorted(set(row.complaints))).replace("|", "/") or "none"
        lines.append(f"| {kind} | {sum(row.ends.values())} | {counts} | {complaints} |")
    return lines


def measure_photos(folder: Path) -> dict[str, Row]:
    """All hostile photos in one run, with six healthy ones beside them."""
    photos, out = folder / "photos", folder / "out"
    hostile = make_hostile_photos(photos)
    make_walk(photos / "healthy", range(6))
    healthy = sorted(path.relative_to(photos).as_posix() for path in (photos / "healthy").iterdir())
    (folder / "pairs.txt").write_text("".join(f"{a} {b}\n" for a, b in combinations(healthy, 2)))
    arguments = ("reconstruct", str(photos), "-o", str(out), "-q", "--pairs", str(folder / "pairs.txt"))
    (ended,) = run_commands([Command(arguments, limit_s=600)])
    rows: dict[str, Row] = defaultdict(Row)
    whole = complaint_about(ended)
    if whole is not None:
        rows["the run itself"].add("refused", whole)
        return rows
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    state = {row["name"]: row["state"] for row in report["images"]}
    with closing(sqlite3.connect(out / "database.db")) as connection:
        query = "SELECT name FROM images JOIN keypoints USING (image_id) WHERE rows > 0"
        with_features = {name for (name,) in connection.execute(query)}
    for photo in hostile:
        name = photo.path.relative_to(photos).as_posix()
        end = "ignored" if name not in state else "refused" if state[name] == "unreadable" else "used"
        is_right = photo.end is End.EITHER or photo.end == end
        if end == "used" and photo.end is End.USED:
            is_right = name in with_features
        rows[photo.kind].add(end, None if is_right else f"{name!r} is {end}")
    rows["healthy photos"].add("used", None)
    for name in healthy:
        if state[name] != "registered":
            rows["healthy photos"].complaints.append(f"{name} is {state[name]}")
    rows["healthy photos"].ends["used"] = len(healthy)
    return rows


def measure_files(folder: Path) -> tuple[dict[str, Row], float, float]:
    """Every other hostile file with its own command; the longest time and the largest memory of one."""
    cases = make_cases(folder)
    rows: dict[str, Row] = defaultdict(Row)
    slowest_s = peak_mb = 0.0
    for case, ended in zip(cases, run_commands([case.command for case in cases]), strict=True):
        complaint = case.complaint(ended)
        what = None if complaint is None else f"{case.hostile.path.name!r}: {complaint}"
        rows[case.hostile.kind].add("used" if ended.exit_code in (0, 5) else "refused", what)
        slowest_s, peak_mb = max(slowest_s, ended.seconds), max(peak_mb, ended.peak_mb)
    return rows, slowest_s, peak_mb


def measure_sets(folder: Path) -> list[tuple[str, int, str]]:
    """Name, models that the photos hold, and what came out, of every folder of healthy photos."""
    commands = []
    for number, chosen in enumerate(PHOTO_SETS):
        chosen.make(folder / f"photos-{number}")
        arguments = ("reconstruct", str(folder / f"photos-{number}"), "-o", str(folder / f"out-{number}"), "-q")
        commands.append(Command(arguments, limit_s=600))
    rows = []
    for number, (chosen, ended) in enumerate(zip(PHOTO_SETS, run_commands(commands), strict=True)):
        got = complaint_about(ended) or ended.stderr.strip().removeprefix("vgpa: ")
        if ended.exit_code == 0:
            report = json.loads((folder / f"out-{number}" / "report.json").read_text(encoding="utf-8"))
            sizes = " and ".join(str(model["num_registered"]) for model in report["models"])
            got = f"{len(report['models'])} model(s), of {sizes} of {report['num_images']} images"
        rows.append((chosen.name, chosen.num_models, got))
    return rows
