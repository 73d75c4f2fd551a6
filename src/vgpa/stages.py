"""What a run is doing and what it has cost: a list of stages with their seconds and peak memory.

The pipeline opens a stage around each of its steps. Whoever wants to show progress listens.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class StageRecord:
    """One finished stage: its name, its wall time, and the peak memory of the process by its end."""

    name: str
    seconds: float
    peak_memory_mb: float


class StageLog:
    """The stages of one run, in order.

    Attributes:
        records: the finished stages.
        warnings: sentences the user should see, in order.
    """

    def __init__(self, on_start: Callable[[str], None] | None = None) -> None:
        """`on_start` is called with a stage's name when it begins."""
        self.records: list[StageRecord] = []
        self.warnings: list[str] = []
        self._on_start = on_start

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what happens in this block. A stage that fails is not recorded."""
        if self._on_start is not None:
            self._on_start(name)
        start = time.perf_counter()
        yield
        peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.records.append(StageRecord(name, time.perf_counter() - start, peak_kib / 1024))

    def warn(self, sentence: str) -> None:
        """Keep a sentence for the user."""
        self.warnings.append(sentence)

    @property
    def seconds(self) -> float:
        """Wall time of all stages."""
        return sum(record.seconds for record in self.records)
