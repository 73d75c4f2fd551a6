"""Where a network runs."""

from __future__ import annotations

import torch

from vgpa.config import Device


def torch_device(device: Device) -> torch.device:
    """The named device; "auto" is the GPU where there is one."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)
