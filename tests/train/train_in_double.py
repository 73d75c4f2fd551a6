"""A script for a test: the same training in one process and in two, in double precision, where rounding is no excuse.

Usage: train_in_double.py OUT. Writes OUT/one and OUT/two. The started process imports this file too, so that what
is replaced below is replaced there as well.
"""

from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from vgpa.network.posenet import PoseNet, PoseNetConfig
from vgpa.train import Schedule, TrainOptions, WorldBatch, WorldOptions, loop, make_worlds, sources, train

OPTIONS = TrainOptions(
    out=Path(),
    network=PoseNetConfig(width=16, num_layers=2, dropout=0.0),
    schedule=Schedule(learning_rate=3e-3, num_steps=8, num_warmup_steps=2),
    worlds=WorldOptions(num_cams=(8, 16), num_cams_small=(6, 8), num_points=200),
    share_size=4,
    num_val_graphs=16,
    num_steps_between_validations=4,
    device="cpu",
)


def in_double(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.double()
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: in_double(getattr(value, field.name)) for field in fields(value)})
    return value


def make_worlds_in_double(num_graphs: int, generator: torch.Generator, options: WorldOptions) -> WorldBatch:
    worlds: WorldBatch = in_double(make_worlds(num_graphs, generator, options))
    return worlds


def make_network_in_double(config: PoseNetConfig) -> nn.Module:
    return PoseNet(config).double()


loop.make_network = make_network_in_double
loop.make_worlds = make_worlds_in_double
sources.make_worlds = make_worlds_in_double

if __name__ == "__main__":
    out = Path(sys.argv[1])
    train(replace(OPTIONS, out=out / "one", batch_size=8))
    train(replace(OPTIONS, out=out / "two", batch_size=4, num_processes=2))
