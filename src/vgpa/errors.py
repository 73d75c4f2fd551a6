"""What can go wrong, said to a person: one sentence on what happened and where, and a hint on what to try.

Every error that a user can cause is a `VgpaError`. The command line prints it as one line and exits with its
code; from Python it is an ordinary exception. Anything else that escapes is a bug.
"""

from __future__ import annotations


class VgpaError(Exception):
    """An error with a sentence for the user.

    Attributes:
        what: what happened and where, a full sentence without the final stop.
        hint: what to try next, a full sentence without the final stop.
    """

    exit_code = 1

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"{what}. {hint}.")
        self.what = what
        self.hint = hint


class InputError(VgpaError):
    """Something given to us cannot be used: a folder, a photo, a database, a model, an option."""

    exit_code = 2


class OutputError(VgpaError):
    """The output folder cannot be written."""

    exit_code = 3


class NoModelError(VgpaError):
    """The input was readable, but no reconstruction came out of it."""

    exit_code = 4
