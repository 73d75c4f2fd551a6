"""What a network says about a view graph: where to start averaging from, and which edges to believe."""

from __future__ import annotations

from dataclasses import dataclass

from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray


@dataclass(frozen=True, eq=False)
class Prediction:
    """cam_from_world of every image, and how much each edge is trusted, (num_edges,) 0 to 1, where that is known."""

    cam_from_world: Rigid
    trust: FloatArray | None = None
