"""All there is to choose about a training run, and what cannot be chosen together.

Touches nothing but the output folder, to see whether it can be used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd
from pathlib import Path

import torch

from vgpa.config import Device
from vgpa.errors import InputError, OutputError
from vgpa.network.device import torch_device
from vgpa.network.posenet import PoseNetConfig
from vgpa.network.refine import RefineConfig
from vgpa.network.weights import NetworkConfig, make_network
from vgpa.train.checkpoint import load_checkpoint
from vgpa.train.objectives import Target
from vgpa.train.schedule import Schedule
from vgpa.train.worlds import WorldOptions


@dataclass(frozen=True)
class TrainOptions:
    """All there is to choose about a training run."""

    out: Path
    network: NetworkConfig = field(default_factory=PoseNetConfig)
    schedule: Schedule = field(default_factory=Schedule)
    worlds: WorldOptions = field(default_factory=WorldOptions)
    target: Target = "measured"
    """What poses of the paper's networks shall agree with: edges as measured or, in generated worlds, the true ones."""
    num_uses: int = 1
    """How often every generated world is used: making them takes longer than learning from them on a GPU."""
    init: Path | None = None
    """Weights to start from, of the kind and size of `network`; random ones without it."""
    data: Path | None = None
    """Folder of view graphs to train on; generated worlds without it."""
    val_data: Path | None = None
    """Folder of view graphs set aside for validation; generated worlds without it."""
    batch_size: int = 8
    """View graphs per step and process."""
    share_size: int = 8
    """View graphs that are made together; a batch is made of whole shares."""
    num_val_graphs: int = 40
    num_steps_between_validations: int = 500
    patience: int | None = None
    """Validations without a lower loss after which training ends; None never ends it early."""
    seed: int = 20
    device: Device = "auto"
    num_processes: int = 1
    """Processes to start on this machine; ignored under torchrun, which starts them itself."""
    bf16: bool = False
    resume: bool = False

    @property
    def needs_truth(self) -> bool:
        """Whether the loss compares with true poses, which view graphs at hand may not have."""
        return self.target == "true" or isinstance(self.network, RefineConfig)


def check_options(options: TrainOptions) -> None:
    """Say in one sentence what cannot work, before any process is started, and make the output folder."""
    if options.batch_size % options.share_size:
        raise InputError(
            f"a batch of {options.batch_size} view graphs is not made of whole shares of {options.share_size}",
            f"give a --batch-size that is a multiple, or --share-size {gcd(options.batch_size, options.share_size)}",
        )
    _check_device(options)
    _check_files(options)
    last = options.out / "last.safetensors"
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{options.out} cannot be written ({error.strerror})", "give another folder") from error
    if last.is_file() and not options.resume:
        raise InputError(
            f"{options.out} already holds a training run", "add --resume to go on with it, or give another folder"
        )
    if last.is_file():
        net = make_network(options.network)
        load_checkpoint(last.read_bytes(), net, torch.optim.Adam(net.parameters()))


def _check_files(options: TrainOptions) -> None:
    missing = [path for path in options.worlds.cameras if not path.is_file()]
    missing += [path for path in (options.data, options.val_data) if path is not None and not path.is_dir()]
    if missing:
        raise InputError(f"there is no {missing[0]}", "check --cameras (files), --data and --val-data (folders)")


def _check_device(options: TrainOptions) -> None:
    if torch_device(options.device).type != "cuda":
        return
    num_gpus = torch.cuda.device_count()
    if num_gpus < options.num_processes:
        raise InputError(
            f"training on GPUs takes one for each of the {options.num_processes} processes, and there are {num_gpus}",
            "give fewer --processes, or --device cpu",
        )
