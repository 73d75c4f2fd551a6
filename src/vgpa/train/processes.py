"""Where a training run takes place: one process, several on this machine, or those that torchrun has started.

Touches the environment variables of torchrun, and lightning_fabric.
"""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING

import torch

from vgpa.errors import InputError
from vgpa.network.device import torch_device
from vgpa.train.options import TrainOptions

if TYPE_CHECKING:
    from lightning_fabric import Fabric

TIME_TO_SETTLE_S = 0.3
"""A thread that waits for nothing but Python's lock has it within milliseconds; this is for busy machines."""

# Every process would otherwise introduce itself on standard error. Said here because it must hold in all of them.
for _name in ("distributed", "rank_zero"):
    logging.getLogger(f"lightning_fabric.utilities.{_name}").setLevel(logging.WARNING)


def make_fabric(options: TrainOptions) -> Fabric:
    """The Fabric that runs the loop in all processes, each with a device of its own."""
    try:
        from lightning_fabric import Fabric
    except ModuleNotFoundError as error:
        raise InputError("training needs lightning-fabric", "install it with: pip install 'vgpa[train]'") from error

    accelerator = torch_device(options.device).type
    if torch.distributed.is_available() and torch.distributed.is_torchelastic_launched():
        num_local = int(os.environ["LOCAL_WORLD_SIZE"])
        num_machines = int(os.environ["WORLD_SIZE"]) // num_local
        return Fabric(accelerator=accelerator, strategy="ddp", devices=num_local, num_nodes=num_machines)
    strategy = "ddp_spawn" if options.num_processes > 1 else "auto"
    return Fabric(accelerator=accelerator, strategy=strategy, devices=options.num_processes)


def leave_together(fabric: Fabric) -> None:
    """End the connection between the processes in order; Fabric itself does so on GPUs only.

    Gloo's thread puts the barrier away after everybody has passed it, and needs Python's lock for that. The end of the
    group waits for this thread with the lock held, for ever if it comes first; asleep, we leave the lock to it.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        fabric.barrier()
        time.sleep(TIME_TO_SETTLE_S)
        torch.distributed.destroy_process_group()
