"""Where a training run stands, in one safetensors file: enough to go on as if it had never stopped.

The file holds numbers only, under names that say what they are:

    net.NAME                        the weights
    adam.NAME.exp_avg, ...          Adam's running means of each of them
    state.step, state.elapsed_s ... the fields of `TrainState`

Touches torch, safetensors and the disk.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from vgpa.errors import InputError


@dataclass(frozen=True)
class TrainState:
    """How far a training run has come."""

    step: int = 0
    elapsed_s: float = 0.0
    lowest_loss: float = math.inf
    num_without_gain: int = 0
    """Validations since the one with the lowest loss."""

    def validated(self, val_loss: float) -> TrainState:
        """The state after a validation; it was the best so far if `num_without_gain` is then 0."""
        if val_loss < self.lowest_loss:
            return replace(self, lowest_loss=val_loss, num_without_gain=0)
        return replace(self, num_without_gain=self.num_without_gain + 1)


def save_checkpoint(path: Path, net: nn.Module, adam: torch.optim.Adam, state: TrainState) -> None:
    """Write the weights, Adam's state and the state of the run to `path`, replacing it in one step."""
    tensors = {f"net.{name}": value for name, value in net.state_dict().items()}
    for name, parameter in net.named_parameters():
        tensors |= {f"adam.{name}.{key}": value for key, value in adam.state[parameter].items()}
    tensors |= {f"state.{key}": torch.tensor(value, dtype=torch.float64) for key, value in asdict(state).items()}
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(save({name: value.detach().cpu().contiguous() for name, value in tensors.items()}))
    partial.replace(path)


def load_checkpoint(data: bytes, net: nn.Module, adam: torch.optim.Adam) -> TrainState:
    """Bring `net` and `adam` (in place) to where the checkpoint was written; `data` are the bytes of the file."""
    try:
        tensors = load(data)
        net.load_state_dict(_below("net", tensors))
        moments = _below("adam", tensors)
        # Adam knows parameters by their number; one that never had a gradient has no state.
        of_parameter = {k: _below(name, moments) for k, (name, _) in enumerate(net.named_parameters())}
        adam.load_state_dict({"state": of_parameter, "param_groups": adam.state_dict()["param_groups"]})
        state = {key: value.item() for key, value in _below("state", tensors).items()}
        return TrainState(int(state["step"]), state["elapsed_s"], state["lowest_loss"], int(state["num_without_gain"]))
    except (SafetensorError, KeyError, RuntimeError, ValueError) as error:
        raise InputError(
            "last.safetensors in the output folder is not a checkpoint of this network",
            "resume with the network options that the run was started with, or train into another folder",
        ) from error


def _below(room: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose name starts with `room`, named without it."""
    return {name.removeprefix(f"{room}."): value for name, value in tensors.items() if name.startswith(f"{room}.")}
