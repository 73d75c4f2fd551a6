"""Network weights as safetensors files: save, load, and find the ones shipped with the package.

The size of the network (PoseNetConfig) is stored in the file's metadata as JSON, so a file is all
that is needed to build the network. No pickles: a weights file can hold numbers only.

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

from vgpa.errors import InputError
from vgpa.network.posenet import PoseNet, PoseNetConfig

_SUFFIX = ".safetensors"


def save_weights(net: PoseNet, path: Path) -> None:
    """Write the weights and the configuration of `net` to `path`, replacing it in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    state = {name: value.detach().cpu().contiguous() for name, value in net.state_dict().items()}
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(save(state, metadata={"config": json.dumps(asdict(net.config))}))
    partial.replace(path)


def load_posenet(name_or_path: str | Path = "paper") -> PoseNet:
    """The network of a shipped name ("paper") or of a `.safetensors` file, in eval mode, on the CPU."""
    path = _find(name_or_path)
    try:
        config_json, state = _read(path)
        net = PoseNet(PoseNetConfig(**json.loads(config_json)))
        net.load_state_dict(state)
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{path} does not hold the weights of a VGPA network ({error})",
            "use a file written by `vgpa train`, or a shipped name: " + ", ".join(_shipped_names()),
        ) from error
    return net.eval()


def _find(name_or_path: str | Path) -> Path:
    is_path = isinstance(name_or_path, Path) or name_or_path.endswith(_SUFFIX)
    path = Path(name_or_path) if is_path else _shipped_folder() / f"{name_or_path}{_SUFFIX}"
    if not path.is_file():
        raise InputError(
            f"there are no network weights called {str(name_or_path)!r}",
            f"give a {_SUFFIX} file or a shipped name: " + ", ".join(_shipped_names()),
        )
    return path


def _read(path: Path) -> tuple[str, dict[str, torch.Tensor]]:
    with safe_open(path, framework="pt") as file:
        state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return (file.metadata() or {})["config"], state


def _shipped_folder() -> Path:
    return Path(str(resources.files("vgpa.network"))) / "weights"


def _shipped_names() -> list[str]:
    return sorted(path.stem for path in _shipped_folder().glob(f"*{_SUFFIX}"))
