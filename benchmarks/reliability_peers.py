"""The hostile photos through pycolmap's own pipeline, beside ours. Part of `reliability.py`."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.hostile.commands import make_hostile_photos
from tests.hostile.corpus import End
from tests.hostile.originals import make_walk
from tests.hostile.runner import ROOT

LIMIT_S = 1200
NUM_HEALTHY = 6
PYCOLMAP = """
import sys
from pathlib import Path
import pycolmap
images, out = map(Path, sys.argv[1:])
out.mkdir()
pycolmap.extract_features(out / "database.db", images)
pycolmap.match_exhaustive(out / "database.db")
(out / "sparse").mkdir()
pycolmap.incremental_mapping(out / "database.db", images, out / "sparse")
"""


@dataclass(frozen=True)
class Outcome:
    """What a pipeline made of a folder of photos."""

    end: str
    seconds: float
    with_features: set[str]
    registered: set[str]
    num_reasons: int


def measure() -> str:
    """The section of the page."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        photos = folder / "photos"
        hostile = {h.path.relative_to(photos).as_posix(): h for h in make_hostile_photos(photos)}
        make_walk(photos / "healthy", range(NUM_HEALTHY))
        # pycolmap stops at the first link that leads nowhere, so it gets the folder without such links, too.
        ours = [sys.executable, "-m", "vgpa", "reconstruct", str(photos)]
        theirs = [sys.executable, "-c", PYCOLMAP, str(photos)]
        outcomes = {
            "VGPA": _run([*ours, "-o", str(folder / "ours"), "-q"], folder / "ours"),
            "pycolmap": _run([*theirs, str(folder / "theirs")], folder / "theirs"),
        }
        for name_, photo in hostile.items():
            if photo.end is End.IGNORED and (photos / name_).is_symlink():
                (photos / name_).unlink()
        outcomes["pycolmap, without the links"] = _run([*theirs, str(folder / "again")], folder / "again")
    usable = {name for name, photo in hostile.items() if photo.end is End.USED}
    rows = [
        f"| {who} | {o.end} | {o.seconds:.0f} s | {len(o.with_features & usable)} of {len(usable)} | {o.num_reasons} | "
        f"{sum(name.startswith('healthy/') for name in o.registered)} of {NUM_HEALTHY} |"
        for who, o in outcomes.items()
    ]
    return "\n".join(
        [
            f"The {len(hostile)} hostile photos and {NUM_HEALTHY} healthy ones in one folder, through "
            "`vgpa reconstruct` and through pycolmap (extract_features, match_exhaustive, incremental_mapping), both "
            "with default settings.",
            "",
            "| pipeline | how it ended | time | odd but usable photos with features | photos left out, with a reason | "
            "healthy photos registered |",
            "|---|---|---|---|---|---|",
            *rows,
        ]
    )


def _run(command: list[str], out: Path) -> Outcome:
    start = time.monotonic()
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=LIMIT_S, check=False)
        words = done.stderr.decode(errors="replace").strip()
        end = _describe(done.returncode, words)
    except subprocess.TimeoutExpired:
        words, end = "", f"did not end in {LIMIT_S} s"
    seconds = time.monotonic() - start
    reasons = words.count("cannot be read and is left out")
    return Outcome(end, seconds, _with_features(out / "database.db"), _registered(out), reasons)


def _describe(code: int, words: str) -> str:
    if code in (0, 5):
        return "a model"
    if code < 0:
        return f"a crash (signal {-code}) with a stack trace"
    last = re.sub(r"/\S*/photos/", "", words.splitlines()[-1])[:160] if words else "no word"
    how = "a traceback" if "Traceback" in words else f"exit code {code}"
    return f"{how}: `{last}`".replace("|", "/")


def _with_features(database: Path) -> set[str]:
    if not database.is_file():
        return set()
    with closing(sqlite3.connect(database)) as connection:
        connection.text_factory = lambda raw: raw.decode(errors="replace")
        query = "SELECT name FROM images JOIN keypoints USING (image_id) WHERE rows > 0"
        return {name for (name,) in connection.execute(query)}


def _registered(out: Path) -> set[str]:
    report = out / "report.json"
    if report.is_file():
        rows = json.loads(report.read_text(encoding="utf-8"))["images"]
        return {row["name"] for row in rows if row["state"] == "registered"}
    import pycolmap

    models = [pycolmap.Reconstruction(path) for path in (out / "sparse").glob("[0-9]*")]
    return {model.images[k].name for model in models for k in model.reg_image_ids()}
