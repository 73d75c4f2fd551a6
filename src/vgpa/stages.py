"""What a run is doing and what it has cost: a list of stages with their seconds and peak memory.

The pipeline opens a stage around each of its steps, and a step that knows how far it is calls `advance`. Whoever
wants to show any of it gives the log a function to call with every event.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

SECONDS_BETWEEN_ADVANCES = 0.5
"""Progress is told about no more often than this."""


@dataclass(frozen=True)
class StageStart:
    """A stage has begun."""

    name: str


@dataclass(frozen=True)
class StageProgress:
    """The running stage has done `num_done` of its `num_total` pieces of work."""

    name: str
    num_done: int
    num_total: int


@dataclass(frozen=True)
class StageRecord:
    """One finished stage: its name, its wall time, and the peak memory of the process by its end."""

    name: str
    seconds: float
    peak_memory_mb: float


@dataclass(frozen=True)
class StageWarning:
    """A sentence that the user should see."""

    sentence: str


Event = StageStart | StageProgress | StageRecord | StageWarning


class StageLog:
    """The stages of one run, in order.

    Attributes:
        records: the finished stages.
        warnings: sentences the user should see, in order.
    """

    def __init__(self, listen: Callable[[Event], None] | None = None) -> None:
        """`listen` is called with everything that happens, in order."""
        self.records: list[StageRecord] = []
        self.warnings: list[str] = []
        self._listen = listen or (lambda event: None)
        self._last_advance_s = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what happens in this block. A stage that fails is not recorded."""
        self._listen(StageStart(name))
        start = time.perf_counter()
        token = _running.set((self, name))
        try:
            yield
        finally:
            _running.reset(token)
        peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        record = StageRecord(name, time.perf_counter() - start, peak_kib / 1024)
        self.records.append(record)
        self._listen(record)

    def warn(self, sentence: str) -> None:
        """Keep a sentence for the user."""
        self.warnings.append(sentence)
        self._listen(StageWarning(sentence))

    @property
    def seconds(self) -> float:
        """Wall time of all stages."""
        return sum(record.seconds for record in self.records)

    def _advance(self, name: str, num_done: int, num_total: int) -> None:
        now_s = time.monotonic()
        if num_done == num_total or now_s - self._last_advance_s >= SECONDS_BETWEEN_ADVANCES:
            self._last_advance_s = now_s
            self._listen(StageProgress(name, num_done, num_total))


def advance(num_done: int, num_total: int) -> None:
    """Say how far the running stage is. Outside of any stage nobody listens."""
    running = _running.get()
    if running is not None:
        log, name = running
        log._advance(name, num_done, num_total)


_running: ContextVar[tuple[StageLog, str] | None] = ContextVar("running_stage", default=None)
