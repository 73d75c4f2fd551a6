"""A checkpoint brings back every number, holds nothing but numbers, and refuses another network."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from vgpa.errors import InputError
from vgpa.train.checkpoint import TrainState, load_checkpoint, save_checkpoint


class Net(nn.Module):
    def __init__(self, seed: int, width: int = 3) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.layer = nn.Linear(width, 2)
        self.unused = nn.Parameter(torch.zeros(2))  # never has a gradient, so Adam has no state for it
        self.adam = torch.optim.Adam(self.parameters(), lr=0.1)

    def step(self) -> None:
        self.adam.zero_grad()
        self.layer(torch.ones(1, self.layer.in_features)).square().sum().backward()
        self.adam.step()


def test_going_on_from_a_checkpoint_is_going_on(tmp_path: Path) -> None:
    path = tmp_path / "last.safetensors"
    net, other = Net(0), Net(1)
    net.step()
    state = TrainState(step=7, elapsed_s=1 / 3, lowest_loss=0.1, num_without_gain=2)
    save_checkpoint(path, net, net.adam, state)
    assert load_checkpoint(path.read_bytes(), other, other.adam) == state
    for _ in range(3):
        net.step()
        other.step()
    torch.testing.assert_close(other.layer.weight, net.layer.weight, atol=0, rtol=0)
    assert [file.name for file in tmp_path.iterdir()] == ["last.safetensors"], "nothing half-written is left"


def test_names_say_what_the_numbers_are(tmp_path: Path) -> None:
    net = Net(0)
    net.step()
    save_checkpoint(tmp_path / "last.safetensors", net, net.adam, TrainState(step=1))
    tensors = load_file(tmp_path / "last.safetensors")
    assert tensors["state.step"] == 1
    assert tensors["state.lowest_loss"] == math.inf
    assert {"net.layer.weight", "adam.layer.weight.exp_avg", "adam.layer.weight.exp_avg_sq"} <= set(tensors)


def test_another_network_is_refused(tmp_path: Path) -> None:
    net, wider = Net(0), Net(0, width=5)
    net.step()
    save_checkpoint(tmp_path / "last.safetensors", net, net.adam, TrainState())
    with pytest.raises(InputError, match="not a checkpoint of this network"):
        load_checkpoint((tmp_path / "last.safetensors").read_bytes(), wider, wider.adam)
    with pytest.raises(InputError, match="not a checkpoint"):
        load_checkpoint(b"something else", net, net.adam)


def test_only_a_lower_loss_is_a_gain() -> None:
    state = TrainState().validated(1.0)
    assert (state.lowest_loss, state.num_without_gain) == (1.0, 0)
    state = state.validated(1.0).validated(1.5).validated(math.nan)
    assert (state.lowest_loss, state.num_without_gain) == (1.0, 3)
    assert state.validated(0.5) == TrainState(lowest_loss=0.5)
