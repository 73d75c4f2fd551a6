"""Training, as the paper does it: unsupervised, with the relative-pose loss, on one view graph after another.

Every step makes a few fresh worlds, predicts their poses in one forward pass and follows the gradient
of the loss on the measured edges; the truth is never used. Every so often the network is tried on
worlds set aside, one line is added to the log, and the best network so far is written.

    OUT/best.safetensors   the network with the lowest validation loss
    OUT/log.jsonl          step, seconds, learning_rate, loss, val_loss, val_rotation_auc_30, val_pose_auc_30

Touches the disk (OUT), torch, `vgpa.network` and the rest of this room.
"""

from __future__ import annotations

import json
import logging
import math
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from vgpa.network.losses import relative_pose_loss
from vgpa.network.posenet import PoseNet, PoseNetConfig
from vgpa.train.checkpoint import BestCheckpoint
from vgpa.train.scores import score_pairs
from vgpa.train.worlds import WorldBatch, WorldOptions, make_worlds

_LOG = logging.getLogger(__name__)
_MAX_GRADIENT_NORM = 1.0
# Validation worlds come from a seed of their own, the same whatever the training seed is.
_VALIDATION_SEED = 1_000_003
_VALIDATION_BATCH_SIZE = 8


@dataclass(frozen=True)
class Schedule:
    """Warm-up, then cosine decay to zero at the end, which is a number of steps, of minutes, or both.

    With minutes the decay follows the clock, so it is complete when the time is up.
    """

    learning_rate: float = 1e-3
    num_steps: int | None = 10_000
    num_minutes: float | None = None
    num_warmup_steps: int = 200

    def progress(self, step: int, elapsed_s: float) -> float:
        """How much of the training is done: 0 at the start, 1 and above at the end."""
        by_steps = step / self.num_steps if self.num_steps else 0.0
        by_clock = elapsed_s / (60 * self.num_minutes) if self.num_minutes else 0.0
        return max(by_steps, by_clock)

    def learning_rate_at(self, step: int, elapsed_s: float) -> float:
        """The learning rate of a step (counted from 0)."""
        warmup = min(1.0, (step + 1) / self.num_warmup_steps)
        decay = 0.5 * (1 + math.cos(math.pi * min(1.0, self.progress(step, elapsed_s))))
        return self.learning_rate * warmup * decay


@dataclass(frozen=True)
class TrainOptions:
    """All there is to choose about a training run."""

    out: Path
    network: PoseNetConfig = field(default_factory=PoseNetConfig)
    schedule: Schedule = field(default_factory=Schedule)
    worlds: WorldOptions = field(default_factory=WorldOptions)
    batch_size: int = 8
    num_val_graphs: int = 40
    num_steps_between_validations: int = 500
    seed: int = 20
    device: str = "cpu"


@dataclass(frozen=True)
class LogLine:
    """One line of the log; `loss` is the mean over the steps since the line before."""

    step: int
    seconds: float
    learning_rate: float
    loss: float
    val_loss: float
    val_rotation_auc_30: float
    val_pose_auc_30: float


def train(options: TrainOptions) -> list[LogLine]:
    """Train a network; writes the best one and the log into `options.out` and returns the log."""
    start = time.perf_counter()
    torch.manual_seed(options.seed)
    net = PoseNet(options.network).to(options.device)
    optimizer = torch.optim.Adam(net.parameters(), lr=options.schedule.learning_rate)
    generator = torch.Generator(options.device).manual_seed(options.seed)
    validation = _validation_worlds(options)
    best = BestCheckpoint(options.out / "best.safetensors")
    log: list[LogLine] = []
    total_loss, num_summed, step = torch.zeros((), device=options.device), 0, 0
    is_done = False
    while not is_done:
        learning_rate = options.schedule.learning_rate_at(step, time.perf_counter() - start)
        optimizer.param_groups[0]["lr"] = learning_rate
        worlds = make_worlds(options.batch_size, generator, options.worlds)
        total_loss += _take_step(net, optimizer, worlds)
        num_summed += 1
        step += 1
        elapsed_s = time.perf_counter() - start
        is_done = options.schedule.progress(step, elapsed_s) >= 1
        if is_done or step % options.num_steps_between_validations == 0:
            line = LogLine(step, elapsed_s, learning_rate, float(total_loss) / num_summed, *_validate(net, validation))
            best.offer(net, line.val_loss)
            _write_line(options.out / "log.jsonl", line, is_first=not log)
            log.append(line)
            total_loss, num_summed = torch.zeros_like(total_loss), 0
    return log


def _validation_worlds(options: TrainOptions) -> list[WorldBatch]:
    """Worlds set aside, the same for every batch size of training, so that runs can be compared."""
    generator = torch.Generator(options.device).manual_seed(_VALIDATION_SEED)
    num_batches = math.ceil(options.num_val_graphs / _VALIDATION_BATCH_SIZE)
    return [make_worlds(_VALIDATION_BATCH_SIZE, generator, options.worlds) for _ in range(num_batches)]


def _take_step(net: PoseNet, optimizer: torch.optim.Optimizer, worlds: WorldBatch) -> torch.Tensor:
    """One gradient step; returns the loss, detached and still on the device."""
    net.train()
    quaternion_wxyz, translation = net(worlds.graph)
    loss = relative_pose_loss(quaternion_wxyz, translation, worlds.graph)
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    torch.nn.utils.clip_grad_norm_(net.parameters(), _MAX_GRADIENT_NORM)
    optimizer.step()
    return loss.detach()


@torch.no_grad()
def _validate(net: PoseNet, validation: list[WorldBatch]) -> tuple[float, float, float]:
    """Mean loss, rotation AUC@30 and pose AUC@30 of one forward pass (before any refinement)."""
    net.eval()
    rows = []
    for worlds in validation:
        quaternion_wxyz, translation = net(worlds.graph)
        loss = relative_pose_loss(quaternion_wxyz, translation, worlds.graph)
        scores = score_pairs(quaternion_wxyz, translation, worlds)
        rows.append((float(loss), scores.rotation_auc_30, scores.pose_auc_30))
    loss_mean, rotation_auc, pose_auc = torch.tensor(rows, dtype=torch.float64).mean(0).tolist()
    return loss_mean, rotation_auc, pose_auc


def _write_line(path: Path, line: LogLine, is_first: bool) -> None:
    text = json.dumps({k: round(v, 6) for k, v in asdict(line).items()})
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w" if is_first else "a") as file:
        file.write(text + "\n")
    _LOG.info(text)
