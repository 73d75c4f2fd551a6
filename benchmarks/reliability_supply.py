"""The package as a stranger gets it: built, installed where there is no checkout, and used. Part of `reliability.py`.

Everything happens in a temporary folder: a wheel from the checkout, an sdist and a wheel from that, a new virtual
environment with the versions of `constraints.txt`, the demo to its end, and a stranger's program that mypy checks
against the installed package alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.hostile.packages import build, files_in_wheel, files_of_package, unpack
from tests.hostile.runner import ROOT

LIMIT_S = 1800
STRANGER = """
from pathlib import Path
from vgpa import Config, Reconstruction, Result, VgpaError, fast, map_database, read_model, reconstruct

def centres(photos: Path, out: Path) -> list[list[float]]:
    config: Config = fast()
    try:
        result: Result = reconstruct(photos, out, config)
    except VgpaError as error:
        print(error.what, error.hint, error.exit_code)
        result = map_database(out / "database.db", out, config)
    model: Reconstruction = read_model(out / "sparse" / "0")[0]
    reveal_type(result.reconstruction.poses.cam_from_world.centre)
    return [list(centre) for centre in model.poses.cam_from_world.centre]
"""
WRONG_STRANGER = STRANGER.replace("reconstruct(photos, out, config)", "reconstruct(photos, 3, config)")
FIND_CHECKOUT = "import vgpa, sys; sys.exit(not vgpa.__file__.startswith(sys.prefix))"


@dataclass(frozen=True)
class Step:
    """One thing a stranger does: what, how it ended (the first words of what is wrong, or nothing), and seconds."""

    what: str
    wrong: str
    seconds: float


def measure() -> str:
    """The section of the page."""
    with TemporaryDirectory() as name:
        steps = take_steps(Path(name))
    return "\n".join(
        [
            "Built, installed and used in a folder outside the checkout, with a new virtual environment and the "
            "versions of `constraints.txt`:",
            "",
            "| step | outcome | time |",
            "|---|---|---|",
            *(f"| {step.what} | {step.wrong or 'as it should be'} | {step.seconds:.0f} s |" for step in steps),
        ]
    )


def take_steps(folder: Path) -> list[Step]:
    """All steps in order, up to the first that fails."""
    venv, out = folder / "venv", folder / "demo"
    python, program = str(venv / "bin" / "python"), str(venv / "bin" / "vgpa")
    wheel = build("wheel", folder / "dist")
    pip = [python, "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt")]
    for name, text in (("right.py", STRANGER), ("wrong.py", WRONG_STRANGER)):
        (folder / name).write_text(text)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python]
    commands = {
        "a new virtual environment": [sys.executable, "-m", "venv", str(venv)],
        "torch, pinned": [*pip, "torch"],
        "the wheel and what it needs": [*pip, str(wheel)],
        "no two packages disagree (`pip check`)": [python, "-m", "pip", "check"],
        "the package comes from the environment": [python, "-c", FIND_CHECKOUT],
        "`vgpa --help`": [program, "--help"],
        "`vgpa demo` to its end": [program, "demo", "-o", str(out), "-q"],
        "a stranger's program passes `mypy --strict`": [*mypy, "right.py"],
    }
    steps = [_compare_packages(wheel, folder)]
    for what, command in commands.items():
        if not steps[-1].wrong:
            steps.append(_run(what, command, folder))
    if not steps[-1].wrong:
        steps.append(_look_at_demo(out))
        refused = _run("a wrong argument in it is found", [*mypy, "wrong.py"], folder)
        found = "incompatible type" in refused.wrong
        steps.append(Step(refused.what, "" if found else f"not found: {refused.wrong}", refused.seconds))
    return steps


def _compare_packages(wheel: Path, folder: Path) -> Step:
    start = time.monotonic()
    again = build("wheel", folder / "again", unpack(build("sdist", folder / "sdist"), folder / "unpacked"))
    inside, wanted = files_in_wheel(wheel), files_of_package()
    missing = sorted(set(wanted) - set(inside))
    wrong = f"missing: {', '.join(missing[:3])}" if missing else "" if inside == wanted else "files differ"
    if not wrong and files_in_wheel(again) != inside:
        wrong = "the wheel of the sdist is another"
    size_mb = wheel.stat().st_size / 1e6
    what = f"wheel ({len(inside)} files, {size_mb:.1f} MB) and sdist, whose wheel is the same"
    return Step(what, wrong, time.monotonic() - start)


def _look_at_demo(out: Path) -> Step:
    wanted = ("report.html", "report.json", "points.ply", "database.db", *(f"sparse/0/{x}.bin" for x in ("cameras",)))
    missing = [name for name in wanted if not (out / name).is_file() or (out / name).stat().st_size == 0]
    return Step("model, report and points lie in its folder", f"missing: {missing}" if missing else "", 0.0)


def _run(what: str, command: list[str], folder: Path) -> Step:
    """Run a command where the checkout cannot be found."""
    start = time.monotonic()
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    words = (done.stderr.strip() or done.stdout.strip() or "no word").splitlines()
    seconds = time.monotonic() - start
    print(f"{what}: code {done.returncode}, {seconds:.0f} s")
    if done.returncode == 0:
        return Step(what, "", seconds)
    return Step(what, f"code {done.returncode}: {' '.join(words)[:300]}".replace("|", "/"), seconds)
