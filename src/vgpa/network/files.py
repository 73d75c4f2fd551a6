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
        return WeightsFile(path, metadata["kind"], json.loads(metadata["config"]), arrays)
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise not_weights(path, error) from error


def not_weights(path: Path, reason: Exception) -> InputError:
    """The error of a file that is not what it should be."""
    return InputError(
        f"{path} does not hold the weights of a VGPA network ({reason})",
        "use a file written by `vgpa train`, or a shipped name: " + ", ".join(_shipped_names()),
    )


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
