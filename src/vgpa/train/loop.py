"""Training: one step after another, on one device or on many, until the schedule ends or nothing gets better.

Every step predicts the poses of a few view graphs in one forward pass and follows the gradient of the training
objective. Every so often the network is tried on graphs set aside, a line is added to the log, and the best network
so far is written. Lightning Fabric runs the same loop on a CPU, on a GPU, or on several of them, each with its own
share of every batch (DDP). All that is random depends on the seed and the number of the step alone, so a run that is
resumed gives the curve of one that was never stopped.

    OUT/best.safetensors   the network with the lowest validation loss
    OUT/last.safetensors   where the run stands, for `resume`
    OUT/log.jsonl          step, seconds, learning_rate, loss, val_loss, val_rotation_auc_30, val_pose_auc_30
    OUT/curve.html         the log as a picture

Touches the disk (OUT), the terminal, torch, lightning_fabric, `vgpa.network` and the rest of this room.
"""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import torch
from torch import Tensor, nn

from vgpa.errors import InputError, VgpaError
from vgpa.network.weights import load_network, make_network, save_weights
from vgpa.train.batches import move_worlds
from vgpa.train.checkpoint import TrainState, load_checkpoint, save_checkpoint
from vgpa.train.log import LogLine, append_line, read_log, write_log
from vgpa.train.objectives import Target, training_loss
from vgpa.train.options import TrainOptions, check_options
from vgpa.train.plot import write_curve
from vgpa.train.precision import wide_products_in_bfloat16
from vgpa.train.processes import leave_together, make_fabric
from vgpa.train.progress import training_bar
from vgpa.train.scores import score_pairs
from vgpa.train.sources import Deal, GeneratedWorlds, StoredWorlds, WorldSource, load_stored, mix_seed
from vgpa.train.worlds import WorldBatch, make_worlds

if TYPE_CHECKING:
    from lightning_fabric import Fabric

_MAX_GRADIENT_NORM = 1.0
# Graphs set aside come from a seed of their own, the same whatever the training seed and the batch size are.
_VALIDATION_SEED = 1_000_003
_VALIDATION_BATCH_SIZE = 8

Ending = Literal["complete", "no gain", "not finite"] | tuple[str, str]
"""How a training came to its end; two sentences, what happened and what to try, if it could not begin."""


def train(options: TrainOptions) -> list[LogLine]:
    """Train a network; writes the files above into `options.out` and returns the log (in the first process)."""
    check_options(options)
    fabric = make_fabric(options)
    ending: Ending = fabric.launch(partial(_run, options=options))
    if isinstance(ending, tuple):
        raise InputError(*ending)
    if ending == "not finite":
        raise VgpaError(
            f"the training in {options.out} came to a loss that is not a number",
            "lower --learning-rate; best.safetensors is the best network before that",
        )
    if not fabric.is_global_zero:
        return []
    log = read_log(options.out / "log.jsonl")
    write_curve(options.out / "curve.html", log)
    return log


class Objective(nn.Module):
    """A network together with what it is trained for, so that the whole step goes through one (distributed) module."""

    def __init__(self, net: nn.Module, target: Target) -> None:
        super().__init__()
        self.net = net
        self.target = target

    def forward(self, worlds: WorldBatch) -> Tensor:
        """The loss of a batch, a scalar."""
        return training_loss(self.net, worlds, self.target)


@dataclass(frozen=True)
class _Run:
    """What one process trains with."""

    fabric: Fabric
    options: TrainOptions
    net: nn.Module
    adam: torch.optim.Adam
    objective: Any  # Fabric's wrapper of Objective, which averages gradients over the processes
    optimizer: Any  # Fabric's wrapper of adam
    source: WorldSource
    held_out: dict[int, WorldBatch]
    num_held_out: int


def _run(fabric: Fabric, options: TrainOptions) -> Ending:
    """The loop, as it runs in every process."""
    try:
        run = _set_up(fabric, options)
    except InputError as error:
        return error.what, error.hint  # an exception would leave a started process as a traceback
    state = _find_start(run)
    start_s = time.perf_counter() - state.elapsed_s
    losses: list[Tensor] = []
    with training_bar(fabric.is_global_zero) as bar:
        while (ending := _find_ending(options, state)) is None:
            learning_rate = options.schedule.learning_rate_at(state.step, state.elapsed_s)
            losses.append(_take_step(run, state.step, learning_rate))
            state = replace(state, step=state.step + 1, elapsed_s=_read_clock(run, start_s))
            part_done = options.schedule.progress(state.step, state.elapsed_s)
            bar.stepped(state.step, part_done, losses[-1])
            if part_done < 1 and state.step % options.num_steps_between_validations:
                continue
            loss = float(cast(Tensor, fabric.all_reduce(torch.stack(losses).mean(), reduce_op="mean")))
            line = LogLine(state.step, state.elapsed_s, learning_rate, loss, *_validate(run))
            if not math.isfinite(line.loss + line.val_loss):
                return "not finite"
            state = _record(run, state.validated(line.val_loss), line)
            bar.validated(part_done, line)
            losses.clear()
    leave_together(fabric)
    return ending


def _set_up(fabric: Fabric, options: TrainOptions) -> _Run:
    torch.manual_seed(options.seed)
    net = make_network(options.network) if options.init is None else load_network(options.init)
    adam = torch.optim.Adam(net.parameters(), lr=options.schedule.learning_rate)
    objective, optimizer = fabric.setup(Objective(net, options.target), adam)
    deal = Deal.to_process(fabric.global_rank, fabric.world_size, options.batch_size, options.share_size)
    held_out, num_held_out = _set_aside(fabric, options)
    return _Run(
        fabric, options, net, adam, objective, optimizer, _find_source(fabric, options, deal), held_out, num_held_out
    )


def _find_source(fabric: Fabric, options: TrainOptions, deal: Deal) -> WorldSource:
    if options.data is None:
        return GeneratedWorlds(options.worlds, options.seed, fabric.device, deal, options.num_uses)
    return StoredWorlds(load_stored(options.data, options.needs_truth), options.seed, fabric.device, deal)


def _set_aside(fabric: Fabric, options: TrainOptions) -> tuple[dict[int, WorldBatch], int]:
    """The validation batches of this process by their number, and how many there are in all processes."""
    if options.val_data is not None:
        stored = load_stored(options.val_data, options.needs_truth)
        own = range(fabric.global_rank, len(stored), fabric.world_size)
        return {k: move_worlds(stored[k], fabric.device) for k in own}, len(stored)
    num_batches = math.ceil(options.num_val_graphs / _VALIDATION_BATCH_SIZE)
    worlds = {}
    for k in range(fabric.global_rank, num_batches, fabric.world_size):
        generator = torch.Generator(fabric.device).manual_seed(mix_seed(_VALIDATION_SEED, k))
        worlds[k] = make_worlds(_VALIDATION_BATCH_SIZE, generator, options.worlds)
    return worlds, num_batches


def _find_start(run: _Run) -> TrainState:
    """Where to begin: at the checkpoint if there is one to resume from, else at zero, with an empty log."""
    out, is_first = run.options.out, run.fabric.is_global_zero
    last = out / "last.safetensors"
    data = run.fabric.broadcast(last.read_bytes() if run.options.resume and is_first and last.is_file() else None)
    state = TrainState() if data is None else load_checkpoint(data, run.net, run.adam)
    if is_first:
        # A run killed between writing the log and the checkpoint will write its last line again.
        write_log(out / "log.jsonl", [line for line in read_log(out / "log.jsonl") if line.step <= state.step])
    return state


def _find_ending(options: TrainOptions, state: TrainState) -> Ending | None:
    if options.schedule.progress(state.step, state.elapsed_s) >= 1:
        return "complete"
    if options.patience is not None and state.num_without_gain >= options.patience:
        return "no gain"
    return None


def _read_clock(run: _Run, start_s: float) -> float:
    """Seconds of training; where the learning rate follows the clock, the first process's clock is everyone's."""
    elapsed_s = time.perf_counter() - start_s
    if run.options.schedule.num_minutes is None:
        return elapsed_s
    return float(run.fabric.broadcast(elapsed_s))


def _take_step(run: _Run, step: int, learning_rate: float) -> Tensor:
    """One gradient step; returns the loss, detached and still on the device."""
    torch.manual_seed(mix_seed(run.options.seed, step, run.fabric.global_rank))
    worlds = run.source.batch(step)
    run.net.train()
    run.adam.param_groups[0]["lr"] = learning_rate
    run.optimizer.zero_grad()
    with wide_products_in_bfloat16() if run.options.bf16 else nullcontext():
        loss: Tensor = run.objective(worlds)
        run.fabric.backward(loss)
    run.fabric.clip_gradients(run.objective, run.optimizer, max_norm=_MAX_GRADIENT_NORM, error_if_nonfinite=False)
    run.optimizer.step()
    return loss.detach()


@torch.no_grad()
def _validate(run: _Run) -> tuple[float, float, float]:
    """Mean loss, rotation AUC@30 and pose AUC@30 of one forward pass (before any refinement)."""
    run.net.eval()
    rows = torch.zeros(run.num_held_out, 3, dtype=torch.float64, device=run.fabric.device)
    for k, worlds in run.held_out.items():
        torch.manual_seed(mix_seed(_VALIDATION_SEED, k))
        loss = float(training_loss(run.net, worlds, run.options.target))
        quaternion_wxyz, translation = run.net(worlds.graph)
        scores = score_pairs(quaternion_wxyz, translation, worlds)
        rows[k] = rows.new_tensor((loss, scores.rotation_auc_30, scores.pose_auc_30))
    # Every process fills in its own rows; the others' are zero.
    rows = cast(Tensor, run.fabric.all_reduce(rows, reduce_op="sum"))
    rotation_auc, pose_auc = rows[:, 1:].nanmean(0).tolist()  # graphs without true cameras have no score
    return float(rows[:, 0].mean()), rotation_auc, pose_auc


def _record(run: _Run, state: TrainState, line: LogLine) -> TrainState:
    """Write the line, the network if it is the best so far, and, last of all, the checkpoint."""
    out: Path = run.options.out
    if run.fabric.is_global_zero:
        append_line(out / "log.jsonl", line)
        if state.num_without_gain == 0:
            save_weights(run.net, out / "best.safetensors")
        save_checkpoint(out / "last.safetensors", run.net, run.adam, state)
    return state
