"""Weights files: found by name or path and read as plain arrays, without torch.

What kind of network it is and its size (its config) are stored in the file's metadata, so a file is all that is
needed to build the network. No pickles: a weights file can hold numbers only.

Touches the disk.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from vgpa.errors import InputError

SUFFIX = ".safetensors"
MAX_SIZE = 4096
"""Width, layers or steps of a network beyond which a file is broken or hostile."""


@dataclass(frozen=True, eq=False)
class WeightsFile:
    """What a weights file holds: where it is, the kind of network, its config as it was given, and its arrays."""

    path: Path
    kind: str
    config: dict[str, Any]
    arrays: dict[str, NDArray[np.float32]]


def read_weights(name_or_path: str | Path) -> WeightsFile:
    """Read the weights of a shipped name ("default", "paper") or of a `.safetensors` file."""
    path = _find(name_or_path)
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return WeightsFile(path, metadata["kind"], _checked(json.loads(metadata["config"]), arrays), arrays)
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise not_weights(path, error) from error


def not_weights(path: Path, reason: Exception) -> InputError:
    """The error of a file that is not what it should be."""
    first_line = str(reason).splitlines()[0] if str(reason) else type(reason).__name__
    return InputError(
        f"{path} does not hold the weights of a VGPA network ({first_line})",
        "use a file written by `vgpa train`, or a shipped name: " + ", ".join(_shipped_names()),
    )


def _checked(config: Any, arrays: dict[str, NDArray[np.float32]]) -> dict[str, Any]:
    """The config, if it can be that of a network with these arrays: nobody builds a network of a billion layers."""
    most = min(sum(array.size for array in arrays.values()), MAX_SIZE)
    if not isinstance(config, dict):
        raise ValueError("its config is not a table")
    for name, value in config.items():
        if isinstance(value, int | float) and not 0 <= value <= most:
            raise ValueError(f"{name} is {value}")
    if config.get("num_layers", 0) > len(arrays):
        raise ValueError(f"{config['num_layers']} layers cannot have {len(arrays)} arrays")
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds numbers that are not finite")
    return config


def _find(name_or_path: str | Path) -> Path:
    is_path = isinstance(name_or_path, Path) or name_or_path.endswith(SUFFIX)
    path = Path(name_or_path) if is_path else _shipped_folder() / f"{name_or_path}{SUFFIX}"
    if not path.is_file():
        raise InputError(
            f"there are no network weights called {str(name_or_path)!r}",
            f"give a {SUFFIX} file or a shipped name: " + ", ".join(_shipped_names()),
        )
    return path


def _shipped_folder() -> Path:
    return Path(str(resources.files("vgpa.network"))) / "weights"


def _shipped_names() -> list[str]:
    return sorted(path.stem for path in _shipped_folder().glob(f"*{SUFFIX}"))
