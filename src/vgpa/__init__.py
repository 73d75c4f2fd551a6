"""VGPA: photos in, camera poses and a sparse 3D model out, by learned view-graph pose averaging.

The public API and nothing else. Names load on first use, because importing torch takes seconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vgpa.colmap.model import read_model
    from vgpa.config import Config, default, fast, paper
    from vgpa.errors import VgpaError
    from vgpa.network.posenet import PoseNet
    from vgpa.pipeline import Result, map_database, reconstruct
    from vgpa.scene import ImageSet, Poses, Reconstruction, Tracks, ViewGraph

_HOME = {
    "Config": "vgpa.config",
    "ImageSet": "vgpa.scene",
    "PoseNet": "vgpa.network.posenet",
    "Poses": "vgpa.scene",
    "Reconstruction": "vgpa.scene",
    "Result": "vgpa.pipeline",
    "Tracks": "vgpa.scene",
    "VgpaError": "vgpa.errors",
    "ViewGraph": "vgpa.scene",
    "default": "vgpa.config",
    "fast": "vgpa.config",
    "map_database": "vgpa.pipeline",
    "paper": "vgpa.config",
    "read_model": "vgpa.colmap.model",
    "reconstruct": "vgpa.pipeline",
}

__all__ = [
    "Config",
    "ImageSet",
    "PoseNet",
    "Poses",
    "Reconstruction",
    "Result",
    "Tracks",
    "VgpaError",
    "ViewGraph",
    "default",
    "fast",
    "map_database",
    "paper",
    "read_model",
    "reconstruct",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'vgpa' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
