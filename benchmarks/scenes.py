"""`vgpa map` on every scene of $VGPA_DATA/scenes, scored against its reference. Writes benchmarks/RESULTS.md.

    VGPA_DATA=... python benchmarks/scenes.py [SCENE ...]

Each scene runs in a process of its own, start-up included. Scenes whose reference has known intrinsics run
with --fix-intrinsics.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KNOWN_INTRINSICS = {"fountain-P11", "entry-P10", "dino48"}
TIMEOUT_S = 900
HEADER = "| scene | registered | rotation deg | AUC@1 / 5 / 30 | RA-AUC@5 | seconds |\n|---|---|---|---|---|---|"


def vgpa(*args: str) -> dict[str, object]:
    """The JSON answer of one `vgpa` command."""
    command = [sys.executable, "-m", "vgpa", *args, "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=TIMEOUT_S).stdout)


def run_scene(folder: Path) -> str:
    """One row of the table; every image must have a state."""
    fixed = ["--fix-intrinsics"] if folder.name in KNOWN_INTRINSICS else []
    with tempfile.TemporaryDirectory() as output:
        start = time.perf_counter()
        run = vgpa("map", str(folder / "database.db"), "-o", output, *fixed)
        seconds = time.perf_counter() - start
        scores = vgpa("evaluate", f"{output}/sparse/0", str(folder / "reference"))
        report = json.loads(Path(output, "report.json").read_text())
    assert len(report["images"]) == run["num_images"]
    assert sum(image["state"] == "registered" for image in report["images"]) == run["num_registered"]
    area = " / ".join(f"{value:.3f}" for value in scores["auc"].values())
    return (
        f"| {folder.name} | {run['num_registered']} / {run['num_images']} | {scores['rotation_mean_deg']:.3f} "
        f"| {area} | {scores['ra_auc']['5']:.3f} | {seconds:.1f} |"
    )


def main() -> None:
    """Run the named scenes, or all of them."""
    scenes = Path(os.environ["VGPA_DATA"]) / "scenes"
    wanted = sys.argv[1:] or sorted(path.name for path in scenes.iterdir() if path.is_dir())
    rows = [HEADER]
    print(HEADER)
    for name in wanted:
        rows.append(run_scene(scenes / name))
        print(rows[-1], flush=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, commit {commit.stdout.strip()}, seed 0"
    caption = f"`python benchmarks/scenes.py`: `vgpa map`, default preset, {machine}."
    text = "\n".join(["# Results", "", caption, "", *rows, ""])
    Path(__file__).with_name("RESULTS.md").write_text(text)


if __name__ == "__main__":
    main()
