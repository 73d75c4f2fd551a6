"""The executor protocol, its local default, and the choice between engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from vgpa.config import Engine


@dataclass(frozen=True)
class Outcome:
    """What became of one task.

    Attributes:
        task_idx: its place in the list of tasks.
        result: what the function gave back, or None where it failed.
        error: why it failed, in one line, or None.
    """

    task_idx: int
    result: Any = None
    error: str | None = None


class Executor(Protocol):
    """Maps a function over tasks."""

    @property
    def num_workers(self) -> int:
        """How many tasks run at once."""
        ...

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Outcome]:
        """Run the function on every task; outcomes come as tasks end, in any order, each once."""
        ...


class LocalExecutor:
    """One task after the other in this process; what they call may use all its cores."""

    num_workers = 1

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Outcome]:
        """Run the function on every task, in order."""
        for task_idx, task in enumerate(tasks):
            yield attempt(function, task_idx, task)


def attempt(function: Callable[[Any], Any], task_idx: int, task: Any) -> Outcome:
    """Run one task; whatever goes wrong in it is its outcome."""
    try:
        return Outcome(task_idx, function(task))
    except Exception as error:
        return Outcome(task_idx, error=f"{type(error).__name__}: {error}")


def make_executor(engine: Engine) -> Executor:
    """The executor of an engine; Ray joins the cluster at RAY_ADDRESS, or starts one on this machine."""
    if engine == "local":
        return LocalExecutor()
    from vgpa.compute.ray import RayExecutor

    return RayExecutor()
