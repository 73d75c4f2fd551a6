"""Training lowers the loss, repeats itself, goes on where it stopped, ends when it should, and divides its work."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from vgpa.errors import InputError, VgpaError
from vgpa.network.posenet import PoseNetConfig
from vgpa.network.refine import RefineConfig
from vgpa.network.weights import load_network
from vgpa.train import Schedule, TrainOptions, WorldOptions, loop, train
from vgpa.train.batches import cut_worlds
from vgpa.train.log import LogLine
from vgpa.train.real import load_view_graph, save_view_graph
from vgpa.train.worlds import make_worlds

SMALL = TrainOptions(
    out=Path(),
    network=PoseNetConfig(width=32, num_layers=2, dropout=0.1),
    schedule=Schedule(learning_rate=3e-3, num_steps=50, num_warmup_steps=5),
    worlds=WorldOptions(num_cams=(8, 16), num_cams_small=(6, 8), num_points=200),
    batch_size=4,
    share_size=4,
    num_val_graphs=8,
    num_steps_between_validations=10,
    device="cpu",
)


def short(out: Path, num_steps: int, **changes: object) -> TrainOptions:
    schedule = replace(SMALL.schedule, num_steps=num_steps)
    return replace(SMALL, out=out, schedule=schedule, num_steps_between_validations=2, **changes)  # type: ignore[arg-type]


def curve(log: list[LogLine]) -> list[LogLine]:
    """The log without its clock."""
    return [replace(line, seconds=0.0) for line in log]


def untrained_loss(out: Path) -> float:
    """The validation loss before the first step: that of a step of length zero."""
    return train(replace(SMALL, out=out, schedule=Schedule(learning_rate=0.0, num_steps=1)))[0].val_loss


def test_fifty_steps_lower_the_loss(tmp_path: Path) -> None:
    log = train(replace(SMALL, out=tmp_path))
    assert [line.step for line in log] == [10, 20, 30, 40, 50]
    assert log[-1].loss < log[0].loss
    assert log[-1].val_loss < 0.95 * untrained_loss(tmp_path / "untrained")
    assert 0 <= log[-1].val_pose_auc_30 <= log[-1].val_rotation_auc_30 <= 1

    written = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [LogLine(**row) for row in written] == log
    best = load_network(tmp_path / "best.safetensors")
    assert best.config == SMALL.network
    assert "rotation AUC@30" in (tmp_path / "curve.html").read_text()


def test_same_seed_same_training(tmp_path: Path) -> None:
    first, again, other = (train(short(tmp_path / name, 4, seed=seed)) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    assert curve(first) == curve(again)
    assert curve(first) != curve(other)


def test_a_resumed_run_equals_one_that_never_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(short(tmp_path / "whole", 8))

    class PowerCutError(Exception):
        pass

    def fail_at_step_five(run: loop._Run, step: int, learning_rate: float) -> torch.Tensor:
        if step == 5:
            raise PowerCutError
        return take_step(run, step, learning_rate)

    take_step = loop._take_step
    with monkeypatch.context() as patch:
        patch.setattr(loop, "_take_step", fail_at_step_five)
        with pytest.raises(PowerCutError):
            train(short(tmp_path / "parts", 8))
    resumed = train(short(tmp_path / "parts", 8, resume=True))

    assert curve(resumed) == curve(whole), "training and validation lines"
    for name in ("best.safetensors", "last.safetensors"):
        ours, theirs = (load_file(tmp_path / run / name) for run in ("parts", "whole"))
        ours.pop("state.elapsed_s", None)
        for key, value in ours.items():
            torch.testing.assert_close(value, theirs[key], atol=0, rtol=0, msg=f"{name}: {key}")


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    first = train(short(tmp_path, 4))
    assert train(short(tmp_path, 4, resume=True)) == first


def test_a_line_without_its_checkpoint_is_written_again(tmp_path: Path) -> None:
    whole = train(short(tmp_path, 4))
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write(json.dumps(vars(replace(whole[-1], step=6))) + "\n")
    assert train(short(tmp_path, 4, resume=True)) == whole


def test_a_run_is_not_overwritten_by_mistake(tmp_path: Path) -> None:
    train(short(tmp_path, 2))
    with pytest.raises(InputError, match="--resume"):
        train(short(tmp_path, 2))


def test_training_stops_when_nothing_gets_better(tmp_path: Path) -> None:
    standing_still = replace(short(tmp_path, 100, patience=3), schedule=Schedule(learning_rate=0.0, num_steps=100))
    log = train(standing_still)
    assert [line.step for line in log] == [2, 4, 6, 8], "one best, then three that are not better"
    assert train(replace(standing_still, resume=True)) == log, "still at its end"


def test_minutes_end_a_training_with_a_validation(tmp_path: Path) -> None:
    log = train(replace(SMALL, out=tmp_path, schedule=Schedule(num_steps=None, num_minutes=1e-9)))
    assert [line.step for line in log] == [1]


def test_a_loss_that_is_not_a_number_is_said(tmp_path: Path) -> None:
    hopeless = replace(short(tmp_path, 4), schedule=Schedule(learning_rate=float("inf"), num_steps=4))
    with pytest.raises(VgpaError, match="not a number"):
        train(hopeless)
    assert not (tmp_path / "best.safetensors").exists()


def test_bfloat16_starts_from_the_same_loss_and_lowers_it(tmp_path: Path) -> None:
    # Later losses may differ more: a little rounding sends a training along another path.
    exact, rounded = (train(short(tmp_path / str(bf16), 1, bf16=bf16))[0].loss for bf16 in (False, True))
    assert rounded == pytest.approx(exact, rel=0.01)
    assert rounded != exact
    log = train(replace(SMALL, out=tmp_path / "more", bf16=True))
    assert log[-1].val_loss < 0.95 * untrained_loss(tmp_path / "untrained")


class TestStoredGraphs:
    """`data` and `val_data`: view graphs at hand, with or without their true cameras."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        (tmp_path / "data").mkdir()
        worlds = cut_worlds(make_worlds(3, torch.Generator().manual_seed(0), SMALL.worlds), 1)
        for k, graph in enumerate(worlds):
            save_view_graph(graph, tmp_path / "data" / f"{k}.npz")
        return tmp_path / "data"

    def test_they_are_trained_on(self, folder: Path) -> None:
        log = train(short(folder.parent / "out", 4, data=folder, val_data=folder))
        assert [line.step for line in log] == [2, 4]
        assert math.isfinite(log[-1].val_loss)
        assert 0 <= log[-1].val_pose_auc_30 <= 1

    def test_without_truth_there_is_a_loss_and_no_score(self, folder: Path) -> None:
        forget_truth(folder / "1.npz", folder / "0.npz", folder / "2.npz")
        log = train(short(folder.parent / "out", 2, data=folder, val_data=folder))
        assert math.isfinite(log[0].val_loss)
        assert math.isnan(log[0].val_pose_auc_30)
        row = json.loads((folder.parent / "out" / "log.jsonl").read_text())
        assert row["val_pose_auc_30"] is None

    @pytest.mark.parametrize("change", [{"target": "true"}, {"network": RefineConfig(width=8, num_steps=2)}])
    def test_what_learns_from_the_truth_refuses_graphs_without(self, folder: Path, change: dict[str, object]) -> None:
        forget_truth(folder / "1.npz")
        with pytest.raises(InputError, match="without their true cameras"):
            train(short(folder.parent / "out", 2, data=folder, **change))

    def test_what_cannot_be_read_is_one_sentence(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="no view graphs"):
            train(short(tmp_path / "out", 2, data=tmp_path))


def forget_truth(*paths: Path) -> None:
    for path in paths:
        graph = load_view_graph(path)
        save_view_graph(replace(graph, centre=torch.full_like(graph.centre, torch.nan)), path)


def test_two_processes_equal_one_with_the_doubled_batch(tmp_path: Path) -> None:
    # In double precision, so that the tolerance of 1e-9 leaves room for rounding and for nothing else.
    script = Path(__file__).with_name("train_in_double.py")
    # The fault handler says where a process was if it is ever aborted from outside Python.
    command = [sys.executable, "-X", "faulthandler", str(script), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    one, two = (load_file(tmp_path / name / "last.safetensors") for name in ("one", "two"))
    one.pop("state.elapsed_s")
    for key, value in one.items():
        torch.testing.assert_close(value, two[key], atol=1e-9, rtol=0, msg=lambda text, key=key: f"{key}: {text}")
