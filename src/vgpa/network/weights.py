"""Network weights as safetensors files: save, load, and find the ones shipped with the package.

What kind of network it is and its size (its config) are stored in the file's metadata, so a file is all that is
needed to build the network. No pickles: a weights file can hold numbers only.

Touches the disk, torch and safetensors.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib import resources
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import nn

from vgpa.errors import InputError
from vgpa.network.attention import AttentionConfig, AttentionNet
from vgpa.network.posenet import PoseNet, PoseNetConfig
from vgpa.network.refine import RefineConfig, RefineNet

NetworkConfig = PoseNetConfig | AttentionConfig | RefineConfig

KINDS: dict[str, tuple[type[NetworkConfig], type[nn.Module]]] = {
    "paper": (PoseNetConfig, PoseNet),
    "attention": (AttentionConfig, AttentionNet),
    "refine": (RefineConfig, RefineNet),
}
"""Every kind of network: its config and its class, which is called with a config and then with a graph."""

_SUFFIX = ".safetensors"


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


def load_network(name_or_path: str | Path = "paper") -> nn.Module:
    """The network of a shipped name ("paper") or of a `.safetensors` file, in eval mode, on the CPU."""
    path = _find(name_or_path)
    try:
        metadata, state = _read(path)
        net = make_network(_config_of(metadata))
        net.load_state_dict(state)
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{path} does not hold the weights of a VGPA network ({error})",
            "use a file written by `vgpa train`, or a shipped name: " + ", ".join(_shipped_names()),
        ) from error
    return net.eval()


def _config_of(metadata: dict[str, str]) -> NetworkConfig:
    config_type, _ = KINDS[metadata["kind"]]
    return config_type(**json.loads(metadata["config"]))


def _kind_of(config: NetworkConfig) -> str:
    return next(kind for kind, (config_type, _) in KINDS.items() if isinstance(config, config_type))


def _find(name_or_path: str | Path) -> Path:
    is_path = isinstance(name_or_path, Path) or name_or_path.endswith(_SUFFIX)
    path = Path(name_or_path) if is_path else _shipped_folder() / f"{name_or_path}{_SUFFIX}"
    if not path.is_file():
        raise InputError(
            f"there are no network weights called {str(name_or_path)!r}",
            f"give a {_SUFFIX} file or a shipped name: " + ", ".join(_shipped_names()),
        )
    return path


def _read(path: Path) -> tuple[dict[str, str], dict[str, torch.Tensor]]:
    with safe_open(path, framework="pt") as file:
        state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return file.metadata() or {}, state


def _shipped_folder() -> Path:
    return Path(str(resources.files("vgpa.network"))) / "weights"


def _shipped_names() -> list[str]:
    return sorted(path.stem for path in _shipped_folder().glob(f"*{_SUFFIX}"))
