"""`vgpa train` and `python -m vgpa.train`: one parser, its defaults, and one clear sentence for what cannot be."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from vgpa.cli import run
from vgpa.errors import InputError
from vgpa.network.attention import AttentionConfig
from vgpa.network.posenet import PoseNetConfig
from vgpa.network.refine import RefineConfig
from vgpa.train.__main__ import parse_options
from vgpa.train.options import TrainOptions
from vgpa.train.schedule import Schedule

Capture = pytest.CaptureFixture[str]

SMALL = "--width 8 --layers 1 --cams 8 12 --small-cams 6 8 --val-graphs 4 --steps 2 --validate-every 1 --device cpu"


def test_defaults_are_those_of_the_options() -> None:
    assert parse_options(["-o", "runs/a"]) == TrainOptions(out=Path("runs/a"))
    assert parse_options(["-o", "runs/a"]).seed == 20


def test_minutes_alone_mean_until_the_time_is_up() -> None:
    assert parse_options(["-o", "a", "--minutes", "8"]).schedule == Schedule(num_steps=None, num_minutes=8)
    assert parse_options(["-o", "a", "--minutes", "8", "--steps", "9"]).schedule.num_steps == 9


def test_places_can_be_chosen_and_weighed() -> None:
    worlds = parse_options(["-o", "a", "--kinds", "street", "street", "plaza", "--max-wrong", "0.5"]).worlds
    assert (worlds.kinds, worlds.max_wrong_part) == (("street", "street", "plaza"), 0.5)
    with pytest.raises(InputError, match="castle"):
        parse_options(["-o", "a", "--kinds", "castle"])


def test_every_kind_of_network_can_be_chosen() -> None:
    sizes = ["-o", "a", "--width", "64", "--layers", "5"]
    assert parse_options(sizes).network == PoseNetConfig(width=64, num_layers=5)
    attention = parse_options([*sizes, "--network", "attention", "--dropout", "0.2"]).network
    assert attention == AttentionConfig(width=64, num_layers=5, dropout=0.2)
    assert parse_options([*sizes, "--network", "refine"]).network == RefineConfig(width=64, num_steps=5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--steps none", "--steps: 'none' is not a whole number"),
        ("--batch-size 0", "--batch-size: '0' is not"),
        ("--network deep", "invalid choice: 'deep'"),
        ("--colour red", "unrecognized arguments: --colour red"),
        ("--batch-size 12", "shares of 8.*--share-size 4"),
        ("--network refine --dropout 0.5", "no dropout"),
        ("--data nowhere", "there is no nowhere"),
        ("--cameras nothing.npz", "there is no nothing.npz"),
    ],
)
def test_a_bad_option_gives_one_sentence(arguments: str, words: str, tmp_path: Path, capsys: Capture) -> None:
    assert run(["train", "-o", str(tmp_path), *arguments.split()]) == InputError.exit_code
    error = capsys.readouterr().err
    assert error.startswith("vgpa: ")
    assert error.count("\n") == 1
    assert re.search(words, error), error


def test_a_folder_that_cannot_be_written(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "file").write_text("in the way")
    assert run(["train", "-o", str(tmp_path / "file" / "out")]) == 3
    assert "cannot be written" in capsys.readouterr().err


def test_help_names_every_option(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        run(["train", "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    for option in ("--resume", "--network", "--learning-rate", "--patience", "--processes", "--bf16", "--data"):
        assert option in text


def test_the_verb_is_listed(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        run(["--help"])
    assert "train" in capsys.readouterr().out


def test_vgpa_train_says_what_it_made(tmp_path: Path, capsys: Capture) -> None:
    assert run(["train", "-o", str(tmp_path), *SMALL.split()]) == 0
    printed = capsys.readouterr()
    assert "pose AUC@30" in printed.out
    assert str(tmp_path / "best.safetensors") in printed.out
    assert printed.err == "", "quiet where there is no terminal"


def test_it_runs_where_the_mapper_and_the_fine_clothes_are_missing(tmp_path: Path) -> None:
    missing = ("pycolmap", "rich", "plotly", "h5py", "PIL", "torch_geometric")
    hide = f"import sys, runpy; sys.modules.update(dict.fromkeys({missing}))"
    code = f"{hide}; runpy.run_module('vgpa.train', run_name='__main__')"
    command = [sys.executable, "-c", code, "-o", str(tmp_path), *SMALL.split()]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert {file.name for file in tmp_path.iterdir()} == {"best.safetensors", "last.safetensors", "log.jsonl"}
