"""Training lowers the loss, keeps the best network, repeats itself, and ends when it should."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from vgpa.network.posenet import PoseNet, PoseNetConfig
from vgpa.network.weights import load_posenet
from vgpa.train.__main__ import parse_options
from vgpa.train.checkpoint import BestCheckpoint
from vgpa.train.loop import LogLine, Schedule, TrainOptions, train
from vgpa.train.worlds import WorldOptions

NETWORK = PoseNetConfig(width=32, num_layers=2, dropout=0.0)


def short_training(out: Path, num_steps: int = 30) -> list[LogLine]:
    return train(
        TrainOptions(
            out=out,
            network=NETWORK,
            schedule=Schedule(learning_rate=3e-3, num_steps=num_steps, num_warmup_steps=5),
            worlds=WorldOptions(num_cams=(8, 16), num_cams_small=(6, 8), num_points=200),
            batch_size=4,
            num_val_graphs=8,
            num_steps_between_validations=10,
        )
    )


def test_thirty_steps_lower_the_loss(tmp_path: Path) -> None:
    log = short_training(tmp_path)
    assert [line.step for line in log] == [10, 20, 30]
    assert log[-1].loss < log[0].loss
    assert log[-1].val_loss < log[0].val_loss
    assert 0 <= log[-1].val_pose_auc_30 <= log[-1].val_rotation_auc_30 <= 1

    written = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in written] == [10, 20, 30]
    assert load_posenet(tmp_path / "best.safetensors").config == NETWORK


def test_same_seed_same_training(tmp_path: Path) -> None:
    first, again = short_training(tmp_path / "a", 4), short_training(tmp_path / "b", 4)
    assert [line.loss for line in first] == [line.loss for line in again]
    assert [line.val_loss for line in first] == [line.val_loss for line in again]


def test_learning_rate_warms_up_and_decays_to_zero_by_steps() -> None:
    schedule = Schedule(learning_rate=1.0, num_steps=100, num_warmup_steps=10)
    rates = [schedule.learning_rate_at(step, elapsed_s=0.0) for step in range(101)]
    assert rates[0] == pytest.approx(0.1)
    assert max(rates) == pytest.approx(rates[9], rel=0.03)
    assert all(a >= b for a, b in pairwise(rates[10:]))
    assert rates[100] == pytest.approx(0, abs=1e-9)


def test_the_clock_ends_the_schedule() -> None:
    schedule = Schedule(learning_rate=1.0, num_steps=None, num_minutes=2)
    assert schedule.progress(step=10**6, elapsed_s=60) == 0.5
    assert schedule.learning_rate_at(10**6, 60) == pytest.approx(0.5)
    assert schedule.progress(step=1, elapsed_s=120) == 1
    both = Schedule(num_steps=10, num_minutes=2)
    assert both.progress(step=10, elapsed_s=1) == 1


def test_only_a_lower_loss_replaces_the_best(tmp_path: Path) -> None:
    torch.manual_seed(0)
    first, second = PoseNet(NETWORK), PoseNet(NETWORK)
    best = BestCheckpoint(tmp_path / "best.safetensors")
    assert best.offer(first, 1.0)
    assert not best.offer(second, 1.5)
    assert not best.offer(second, float("nan"))
    torch.testing.assert_close(load_posenet(best.path).token, first.token)
    assert best.offer(second, 0.5)
    torch.testing.assert_close(load_posenet(best.path).token, second.token)


def test_command_line() -> None:
    default = parse_options(["--out", "runs/a"])
    assert default.schedule == Schedule()
    assert default.network == PoseNetConfig()
    assert default.worlds == WorldOptions()
    assert default.seed == 20
    by_clock = parse_options(["--out", "runs/a", "--minutes", "8"])
    assert by_clock.schedule.num_steps is None
    assert by_clock.schedule.num_minutes == 8
