"""Networks of all kinds: made from a config, saved to and loaded from weights files (`files`).

Touches the disk, torch and safetensors.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save
from torch import nn

from vgpa.network.attention import AttentionConfig, AttentionNet
from vgpa.network.files import not_weights, read_weights
from vgpa.network.posenet import PoseNet, PoseNetConfig
from vgpa.network.refine import RefineConfig, RefineNet

NetworkConfig = PoseNetConfig | AttentionConfig | RefineConfig

KINDS: dict[str, tuple[type[NetworkConfig], type[nn.Module]]] = {
    "paper": (PoseNetConfig, PoseNet),
    "attention": (AttentionConfig, AttentionNet),
    "refine": (RefineConfig, RefineNet),
}
"""Every kind of network: its config and its class, which is called with a config and then with a graph."""


def make_network(config: NetworkConfig) -> nn.Module:
    """A new network of the kind and the size that the config says; its weights come from torch's random state."""
    _, network = KINDS[_kind_of(config)]
    return network(config)


def save_weights(net: nn.Module, path: Path) -> None:
    """Write the weights, the kind and the config of `net` to `path`, replacing it in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    config = net.config
    assert isinstance(config, NetworkConfig), f"{type(net).__name__} is not a network of a known kind"
    state = {name: value.detach().cpu().contiguous() for name, value in net.state_dict().items()}
    metadata = {"kind": _kind_of(config), "config": json.dumps(asdict(config))}
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(save(state, metadata=metadata))
    partial.replace(path)


def load_network(name_or_path: str | Path) -> nn.Module:
    """The network of a shipped name ("default", "paper") or of a `.safetensors` file, in eval mode, on the CPU.

    It is built without memory of its own and takes the file's arrays: what a file claims costs no more than its bytes.
    """
    file = read_weights(name_or_path)
    try:
        config_type, _ = KINDS[file.kind]
        with torch.device("meta"):
            net = make_network(config_type(**file.config))
        arrays = {name: torch.from_numpy(array).float() for name, array in file.arrays.items()}
        net.load_state_dict(arrays, assign=True)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise not_weights(file.path, error) from error
    return net.eval()


def _kind_of(config: NetworkConfig) -> str:
    return next(kind for kind, (config_type, _) in KINDS.items() if isinstance(config, config_type))
