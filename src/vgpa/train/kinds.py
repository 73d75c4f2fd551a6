"""The kinds of places that worlds are made of, and the names of all that view graphs may show.

Touches nothing but torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from torch import Tensor

from vgpa.train.draw import Draw
from vgpa.train.layouts import Layout
from vgpa.train.orbits import orbit, turntable
from vgpa.train.paths import loop, street
from vgpa.train.places import aerial, around, facade, plaza


@dataclass(frozen=True)
class Kind:
    """How places of one kind are made, and how many photos anybody takes of one."""

    make: Callable[[Draw, Tensor, int], Layout]
    max_num_cams: float = inf


KINDS: dict[str, Kind] = {
    "facade": Kind(facade),
    "around": Kind(around),
    "plaza": Kind(plaza),
    "street": Kind(street),
    "loop": Kind(loop),
    "aerial": Kind(aerial),
    "turntable": Kind(turntable, max_num_cams=72),
    "orbit": Kind(orbit, max_num_cams=120),
}

KIND_NAMES = (*KINDS, "cameras", "real")
"""What a view graph may show: a generated place, the cameras of real photos, or real photos."""
