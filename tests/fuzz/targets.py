"""What is fuzzed: every parser and every type constructor, each with a generator of inputs.

A target is prepared once, in a folder of its own, and then tried as often as one likes. A try ends well when the
input is accepted, or refused with the error that the target promises. Every other exception, a crash of the process
or a hang is a bug.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

Try = Callable[[Random], None]


@dataclass(frozen=True)
class Target:
    """One thing that is fuzzed.

    Attributes:
        name: what it reads or makes.
        prepare: makes the try of this target; the folder is its own, and empty.
        refusal: what it may raise.
    """

    name: str
    prepare: Callable[[Path], Try]
    refusal: type[Exception]


def is_accepted(target: Target, attempt: Try, random: Random) -> bool:
    """Try one input: True if it was accepted, False if it was refused as promised. Anything else is raised."""
    try:
        attempt(random)
    except target.refusal:
        return False
    return True
