"""Commands that take minutes to days work too: the same scripts and options, with small values on small data."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import shutil
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.docs.commands import ROOT, collect, covering_test
from tests.docs.small_data import SCENE, write_cameras
from tests.docs.small_forms import RULES, options, small_form
from vgpa.cli import run
from vgpa.network.posenet import PoseNetConfig
from vgpa.network.weights import make_network, save_weights
from vgpa.train.real import save_view_graph
from vgpa.train.worlds import WorldOptions, make_worlds

FORMS = {
    command: form
    for command in collect()
    if covering_test(command) is None and (form := small_form(command)) is not None
}
TRAININGS = [command for command in FORMS if command.startswith("vgpa train")]
SCRIPTS: dict[str, list[str]] = defaultdict(list)
for command in FORMS:
    for script in re.findall(r"benchmarks/(\w+)\.py", command):
        SCRIPTS[script].append(command)
SMALL_WORLDS = WorldOptions(num_cams=(8, 12), small_part=0.0, num_points=200)


@pytest.fixture
def here(tmp_path: Path, small_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the commands name, in which they are given."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VGPA_DATA", str(small_data))
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    for page in ("network-results.md", "worlds.md"):
        shutil.copy(ROOT / "docs" / page, tmp_path)
    return tmp_path


def give(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a command, in this process."""
    program, *arguments = shlex.split(form)
    if program == "vgpa":
        assert run(arguments) == 0
    else:
        monkeypatch.setattr(sys, "argv", arguments)
        importlib.import_module(Path(arguments[0]).stem).main()


@pytest.mark.parametrize("command", TRAININGS)
def test_training(command: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_cameras(here / "cameras.npz")
    (here / "A").mkdir()
    if "-o A" not in command:
        save_weights(make_network(PoseNetConfig(width=8, num_layers=1)), here / "A" / "best.safetensors")
    (here / "graphs").mkdir()
    save_view_graph(make_worlds(1, torch.Generator().manual_seed(0), SMALL_WORLDS), here / "graphs" / "world.npz")
    give(FORMS[command], monkeypatch)
    (weights,) = (path for path in here.rglob("best.safetensors") if path.parent.name != "A" or "-o A" in command)
    assert weights.stat().st_size > 0


@pytest.mark.parametrize("script", SCRIPTS)
def test_script(script: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """All commands of a script, in the order in which they are shown."""
    PREPARE.get(script, lambda here, monkeypatch: None)(here, monkeypatch)
    before = shipped()
    for command in SCRIPTS[script]:
        give(FORMS[command], monkeypatch)
        assert re.search(RESULTS[script], capsys.readouterr().out + "".join(contents(here).values())), command
    assert shipped() == before, "what is documented has been changed"


def shipped() -> dict[str, str]:
    """The files that the scripts write unless they are told where."""
    pages = ("network-results", "reliability", "reintegration", "robustness", "simulated", "worlds")
    names = (*(f"{page}.md" for page in pages), "worlds")
    paths = [*(ROOT / "docs" / name for name in names), ROOT / "benchmarks" / "RESULTS.md"]
    return {str(path): path.read_text() if path.is_file() else str(sorted(path.iterdir())) for path in paths}


RESULTS = {
    "ablation": r"1 of 1 done|Random init|REAL\.npz",
    "network": r"`python benchmarks/network\.py \w+ .*--out",
    "worlds": r"\*\*worlds\*\*|street\.png",
    "reliability": r"\d+ inputs, 0 of which crashed",
    "frontend": r"\| \d+",
    "calibration": r"\| demo \| ",
    "mapping": r"# Robustness|# Results",
    "reintegration": r"demo \| taken out \| \d+ \| \d+[^*]*0024-12-0 \| taken out",
    "simulated": r"\| 0024-12-0 \| \d+, 0\.\d+ \|",
}
"""What must have been printed or written."""


def contents(folder: Path) -> dict[str, str]:
    """The text files of a folder by their names, and the names of others."""
    texts = {".md", ".py", ".jsonl"}
    return {
        str(path): path.read_text() if path.suffix in texts else path.name
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def prepare_ablation(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "DIR").mkdir()
    monkeypatch.setattr(importlib.import_module("ablation"), "SEEDS", (20,))


def prepare_network(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = partial(WorldOptions, num_cams=(8, 12), num_points=200, kinds=("around", "street"))
    monkeypatch.setattr(importlib.import_module("graphs"), "WorldOptions", small)
    # Processes would load torch anew for every command; those of the ablation are real.
    monkeypatch.setattr(importlib.import_module("network"), "ProcessPoolExecutor", lambda *_: ThreadPoolExecutor(1))


def prepare_worlds(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worlds = importlib.import_module("worlds")

    def make_few(num_graphs: int, generator: torch.Generator, options: WorldOptions) -> Any:
        return make_worlds(min(num_graphs, 3), generator, replace(options, num_cams=(16, 24)))

    monkeypatch.setattr(worlds, "make_worlds", make_few)
    monkeypatch.setattr(worlds, "NUM_WORLDS", 10)
    monkeypatch.setattr(worlds, "FITTING_SCENES", (SCENE,))


def prepare_reliability(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("reliability_fuzz"), "SECONDS_TO_WEIGH", 0.0)


def prepare_mapping(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All runs on damaged copies but one are in the records already."""
    mapping = importlib.import_module("mapping")
    monkeypatch.setattr(mapping, "describe_commit", lambda: "now")
    copies = [
        copy
        for kind in (mapping.mapping_robustness.WRONG, mapping.mapping_robustness.MISSING)
        for copy in kind.copies.values()
    ]
    scores = {"ra_auc": {"1": 0.5, "5": 0.6, "30": 0.7}}
    record = {"method": "default", "seed": 0, "num_images": 6, "num_registered": 6, "wall_s": 1.0, "load_before": 0.0}
    record |= {"error": None, "scores": scores, "commit": "before"}
    names = [f"{SCENE}/{copy}" if copy else SCENE for copy in copies]
    lines = [json.dumps(record | {"scene": name}) for name in names if name != f"{SCENE}/wrong-40"]
    (here / "runs").mkdir()
    (here / "runs" / "records.jsonl").write_text("".join(f"{line}\n" for line in lines))


PREPARE = {
    "ablation": prepare_ablation,
    "network": prepare_network,
    "worlds": prepare_worlds,
    "reliability": prepare_reliability,
    "mapping": prepare_mapping,
}


@pytest.mark.parametrize("command", FORMS)
def test_small_forms_show_the_same_options(command: str) -> None:
    assert options(command) <= options(FORMS[command])


def test_every_rule_is_needed() -> None:
    """Each is the first one to fit some command."""
    plain = [re.sub(r"^VGPA_DATA=\S+ |[\[\]]", "", command) for command in FORMS]
    first = {next(rule.pattern for rule in RULES if re.fullmatch(rule.pattern, command)) for command in plain}
    assert [rule.pattern for rule in RULES if rule.pattern not in first] == []
