"""Every command that README and documentation show works: it is run here as it stands, or another test runs it."""

from __future__ import annotations

import io
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path

import pytest

from tests.docs.commands import ELSEWHERE, PAGES, ROOT, collect, covering_test
from tests.docs.small_forms import small_form
from vgpa.cli import VERBS, run
from vgpa.demo import DemoCameras
from vgpa.scene import ImageState

SHOWN = collect()
RUN_HERE = [command for command in SHOWN if covering_test(command) is None and small_form(command) is None]


@pytest.fixture
def here(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it to work in."""
    folder = tmp_path / "here"
    shutil.copytree(finished, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("command", RUN_HERE)
def test_command(command: str, here: Path, demo_cameras: DemoCameras, monkeypatch: pytest.MonkeyPatch) -> None:
    # The demo with few small photos, which are rendered already.
    monkeypatch.setattr("vgpa.demo.run.NUM_VIEWS", 6)
    monkeypatch.setattr("vgpa.demo.run.loop_cameras", lambda num_views, seed: demo_cameras)
    monkeypatch.setattr("vgpa.demo.run.make_world", lambda seed: None)
    monkeypatch.setattr("vgpa.demo.run.write_photos", lambda world, cameras, to: shutil.copytree(here / "photos", to))
    program, *args = shlex.split(command)
    assert program == "vgpa", f"{command!r} in {SHOWN[command]} is run by no test: see commands.py and small_forms.py"
    assert run(args) == 0


def test_shares(here: Path) -> None:
    """The shares of a batch system, as the pages tell, with two instead of eight of them."""
    shutil.rmtree(here / "out")
    steps = [command for command in SHOWN if "--shard 1/8" in command]
    assert [command.split()[-1] for command in steps] == ["features", "pairs"]
    for step in steps:
        for number in (1, 2):
            assert run(shlex.split(step.replace("1/8", f"{number}/2"))[1:]) == 0
    assert run(["reconstruct", "photos", "-o", "out", "-q"]) == 0


def test_torchrun(tmp_path: Path) -> None:
    """Two processes that torchrun starts train one network."""
    pytest.importorskip("lightning_fabric")
    small = "--width 8 --layers 1 --cams 8 12 --small-cams 6 8 --val-graphs 4 --steps 2 --validate-every 1 --device cpu"
    command = f"-m torch.distributed.run --standalone --nproc-per-node 2 -m vgpa.train -o {tmp_path} {small}"
    done = subprocess.run([sys.executable, *command.split()], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "best.safetensors").is_file()


@pytest.mark.parametrize("page", ["README.md", "docs/quick-start.md"])
def test_python(page: str, here: Path) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "6 of 6 images" in done.stdout


@pytest.mark.parametrize("command", SHOWN)
def test_shown_options_exist(command: str) -> None:
    """Also of commands that are run elsewhere, with other options, or that take too long to be run at all."""
    words = re.sub(r"[\[\]]|^VGPA_DATA=\S+ ", "", command).split()
    options = {word for word in words if word.startswith("--")}
    known = options_of(words)
    if known is not None:
        assert options <= known, f"{SHOWN[command]} shows options that do not exist"


def options_of(words: list[str]) -> set[str] | None:
    """The options of a command of ours."""
    if words[0] == "vgpa":
        return {"--help"} if words[1] == "COMMAND" else help_options(words[1])
    if "vgpa.train" in words:
        return help_options("train") | {"--nproc-per-node", "--nnodes", "--rdzv-backend", "--rdzv-endpoint"}
    if words[0] == "python":
        return set(re.findall(r'"(--[a-z-]+)"', (ROOT / words[1]).read_text()))
    return None


@cache
def help_options(verb: str) -> set[str]:
    """The options that a verb's help lists."""
    assert verb in VERBS, f"there is no vgpa {verb}"
    with redirect_stdout(io.StringIO()) as printed, pytest.raises(SystemExit) as ending:
        run([verb, "--help"])
    assert ending.value.code == 0
    return set(re.findall(r"--[a-z][a-z0-9-]*", printed.getvalue()))


@pytest.mark.parametrize("place", sorted(set(ELSEWHERE.values())))
def test_covering_tests_exist(place: str) -> None:
    path, _, name = place.partition("::")
    assert (ROOT / path).is_file()
    assert not name or f"def {name}(" in (ROOT / path).read_text()


def test_every_pattern_is_needed() -> None:
    unused = [pattern for pattern in ELSEWHERE if not any(re.fullmatch(pattern, command) for command in SHOWN)]
    assert unused == []


def test_make_has_the_targets_and_installs_as_the_pages_say() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for command in SHOWN:
        if command.startswith("make "):
            assert f"\n{command.split()[1]}:" in makefile
    assert "pip install -q -c constraints.txt torch\n" in makefile
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {extra for command in SHOWN for extra in re.findall(r"vgpa\[(\w+)\]", command)} <= set(extras)
    assert "torch==2.13.0" in (ROOT / "constraints.txt").read_text()


def test_named_code_exists() -> None:
    """`vgpa.room.module.name` in the pages is something that can be imported."""
    for page in PAGES:
        for name in sorted(set(re.findall(r"`(vgpa(?:\.\w+)+)`", page.read_text()))):
            assert resolves(name), f"{page.name} speaks of {name}, which does not exist"


def test_every_reason_for_a_missing_image_is_explained() -> None:
    explained = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "faq.md").read_text(), re.MULTILINE))
    assert explained == {state.value for state in ImageState} - {"registered"}


def resolves(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (AttributeError, ImportError):
        return False
    return True
