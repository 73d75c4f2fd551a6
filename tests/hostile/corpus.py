"""The corpus of hostile inputs: what each file is, and how a run that meets it must end.

The modules beside this one make one kind of file each, from healthy originals; `commands` puts them together, with the
command that meets each. The same folder comes out on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class End(StrEnum):
    """How an input must end."""

    USED = "used"
    """It is odd, but a photo (or a file) like any other: it must be used."""
    REFUSED = "refused"
    """It must be refused in a sentence."""
    EITHER = "either"
    """Damage that a reader may or may not notice."""
    IGNORED = "ignored"
    """It only looks like an input, and must not be opened."""


@dataclass(frozen=True)
class Hostile:
    """One hostile input.

    Attributes:
        kind: what is wrong with it, in two or three words; many inputs share one.
        path: where it is.
        end: how a run that meets it must end.
    """

    kind: str
    path: Path
    end: End
