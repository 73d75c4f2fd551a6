"""vgpa beside COLMAP, GLOMAP and Theia on the same databases, in one run on one machine.

    VGPA_DATA=... python benchmarks/mapping.py [SCENE ...] [--methods default fast paper colmap glomap theia]
                                               [--repeat N] [--resume FILE] [--out FOLDER]
    VGPA_DATA=... python benchmarks/mapping.py corrupt SCENE ... [the same options]

Every method runs on every scene of $VGPA_DATA/scenes in a process of its own, start included, in an order that turns
from scene to scene and repeat to repeat. Measured: wall time, processor time and peak memory of the process and its
children, registered images, and all scores against the reference. Repeat k has seed k. Intrinsics that are known stay
fixed, for every method alike. Every run is a line in FILE (a new one below runs/ unless given); what it holds already
is not run again, but is in the tables. These are written to RESULTS.md in FOLDER (benchmarks/ unless given); those of
`corrupt`, where part of each scene's verified pairs is wrong or missing, to robustness.md with its plots (docs/).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mapping_robustness
from mapping_tables import comparison_page

from vgpa.benchmark.measure import measure

PRESETS, PEERS = ("default", "fast", "paper"), ("colmap", "glomap", "theia")
KNOWN_INTRINSICS = {"fountain-P11", "entry-P10", "dino48"}
HERE = Path(__file__).parent
Record = dict[str, Any]


@dataclass(frozen=True)
class Scene:
    """A database, the model to compare with, and whether the intrinsics of its cameras are known.

    A scene that was damaged by chance has draws: one database for every repeat, the first of them `database`.
    """

    name: str
    database: Path
    reference: Path
    draws: tuple[Path, ...] = ()

    @property
    def flags(self) -> list[str]:
        """What a mapper is told about the intrinsics."""
        return ["--fix-intrinsics"] if self.name.split("/")[0] in KNOWN_INTRINSICS else []

    @property
    def reference_kind(self) -> str:
        """Where the reference comes from, if the scene's info.json tells."""
        info = self.reference.with_name("info.json")
        return str(json.loads(info.read_text()).get("reference_kind", "")) if info.exists() else ""

    @property
    def num_images(self) -> int:
        """Images of the database."""
        connection = sqlite3.connect(f"{self.database.resolve().as_uri()}?immutable=1", uri=True)
        (number,) = connection.execute("SELECT COUNT(*) FROM images").fetchone()
        connection.close()
        return int(number)


def run_once(scene: Scene, method: str, seed: int) -> Record:
    """One method on one scene: what it cost and what it is worth."""
    with tempfile.TemporaryDirectory() as folder:
        database = scene.draws[seed] if scene.draws else scene.database
        common = [str(database), "-o", folder, "--seed", str(seed), "--json", *scene.flags]
        verb = ["map", *common, "--preset", method] if method in PRESETS else ["baseline", method, *common]
        cost = measure([sys.executable, "-m", "vgpa", *verb])
        record: Record = {"wall_s": cost.seconds, "cpu_s": cost.cpu_seconds, "peak_mb": cost.peak_mb}
        record |= {"load_before": cost.load_before, "error": cost.last_words if cost.exit_code else None}
        record |= {"scene": scene.name, "method": method, "seed": seed}
        record |= {"num_images": scene.num_images, "reference": scene.reference_kind}
        if record["error"] is None:
            model = Path(folder, "sparse", "0")
            floor = ["--floor"] if method == "default" and seed == 0 else []
            command = [str(HERE / "mapping_score.py"), str(model), str(scene.reference), *floor, *scene.flags]
            done = subprocess.run([sys.executable, *command], check=True, stdout=subprocess.PIPE)
            record |= json.loads(done.stdout)
            if method in PRESETS:
                report = json.loads(Path(folder, "report.json").read_text())
                assert len(report["images"]) == record["num_images"], "every image must have a state"
                record["stages"] = report["stages"]
    return record


def plan(scenes: list[Scene], methods: list[str], num_repeats: int) -> Iterator[tuple[Scene, str, int]]:
    """Every run, in an order that gives no method the same place in every turn."""
    for seed in range(num_repeats):
        for number, scene in enumerate(scenes):
            first = (seed + number) % len(methods)
            for method in methods[first:] + methods[:first]:
                yield scene, method, seed


def run_all(scenes: list[Scene], methods: list[str], num_repeats: int, log: Path) -> list[Record]:
    """The records of all runs, those that the log already holds included; each new one is added to it at once."""
    known = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    records = {(r["scene"], r["method"], r["seed"]): r for r in known}
    commit = describe_commit()
    for scene, method, seed in plan(scenes, methods, num_repeats):
        if (scene.name, method, seed) in records:
            continue
        record = run_once(scene, method, seed) | {"commit": commit}
        records[scene.name, method, seed] = record
        with log.open("a") as file:
            file.write(json.dumps(record) + "\n")
        outcome = record["error"] or f"{record['num_registered']} / {record['num_images']} images"
        print(f"{scene.name}  {method}  seed {seed}  {record['wall_s']:.1f} s  {outcome}", flush=True)
    return list(records.values())


def find_scenes(names: list[str]) -> list[Scene]:
    """The named scenes; all, if none is named."""
    root = Path(os.environ["VGPA_DATA"]) / "scenes"
    names = names or sorted(path.name for path in root.iterdir() if path.is_dir())
    return [Scene(name, root / name / "database.db", root / name / "reference") for name in names]


def damage_scenes(scenes: list[Scene], num_draws: int, folder: Path) -> list[Scene]:
    """Copies of each scene with wrong or missing pairs, drawn anew for every repeat."""
    command = [sys.executable, str(HERE / "mapping_corrupt.py")]
    damaged = []
    for scene in scenes:
        folders = [folder / scene.name / f"draw-{draw}" for draw in range(num_draws)]
        for draw, into in enumerate(folders):
            subprocess.run([*command, str(scene.database), str(into), str(draw)], check=True)
        for path in sorted(folders[0].glob("*.db")):
            draws = tuple(into / path.name for into in folders)
            damaged.append(Scene(f"{scene.name}/{path.stem}", path, scene.reference, draws))
    return damaged


def caption(given: argparse.Namespace, records: list[Record]) -> str:
    """How the figures came about."""
    methods = [] if len(given.methods) == len(PRESETS + PEERS) else ["--methods", *given.methods]
    command = ["python benchmarks/mapping.py", *given.scenes, *methods, f"--repeat {given.repeat}"]
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    commits = ", ".join(sorted({record["commit"] for record in records}))
    load = max(record["load_before"] for record in records)
    repeats = {record["method"]: 1 + record["seed"] for record in sorted(records, key=lambda record: record["seed"])}
    counts = ", ".join(f"{method} {num}" for method, num in sorted(repeats.items()))
    return (
        f"`{' '.join(command)}` on {machine}, commit {commits}; repeat k has seed k. Repeats: {counts}. "
        f"Other load on the machine before a run was at most {load:.1f} (one-minute average)."
    )


def describe_commit() -> str:
    """The commit that is measured, marked where files differ from it."""
    done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main() -> None:
    """Run what is asked for and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help="'corrupt' first runs on damaged copies")
    parser.add_argument("--methods", nargs="+", choices=PRESETS + PEERS, default=[*PRESETS, *PEERS])
    parser.add_argument("--repeat", type=int, default=1, metavar="N")
    parser.add_argument("--resume", type=Path, metavar="FILE")
    parser.add_argument("--out", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    log = given.resume or Path("runs", time.strftime("mapping-%Y%m%d-%H%M%S.jsonl"))
    log.parent.mkdir(parents=True, exist_ok=True)
    print(f"every run is written to {log}", flush=True)
    is_corrupt = given.scenes[:1] == ["corrupt"]
    scenes = find_scenes(given.scenes[is_corrupt:])
    if is_corrupt:
        scenes += damage_scenes(scenes, given.repeat, log.parent / "corrupt")
    records = run_all(scenes, given.methods, given.repeat, log)
    if is_corrupt:
        mapping_robustness.write_page(records, caption(given, records), given.out or mapping_robustness.DOCS)
    else:
        (given.out or HERE).joinpath("RESULTS.md").write_text(comparison_page(records, caption(given, records)))


if __name__ == "__main__":
    main()
