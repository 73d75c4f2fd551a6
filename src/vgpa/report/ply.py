"""A point cloud as binary PLY, which every 3D viewer opens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

VERTEX = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("red", "u1"), ("green", "u1"), ("blue", "u1")])


def write_ply(xyz: NDArray[np.float64], color: NDArray[np.uint8], path: Path) -> None:
    """Write points (n, 3) with their colours (n, 3), replacing the file in one step."""
    vertices = np.empty(len(xyz), dtype=VERTEX)
    for k, axis in enumerate("xyz"):
        vertices[axis] = xyz[:, k]
    for k, channel in enumerate(("red", "green", "blue")):
        vertices[channel] = color[:, k]
    kinds = {"<f4": "float", "|u1": "uchar"}
    fields = "".join(f"property {kinds[VERTEX[name].str]} {name}\n" for name in VERTEX.names or ())
    header = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(xyz)}\n{fields}end_header\n"
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(header.encode("ascii") + vertices.tobytes())
    partial.replace(path)
