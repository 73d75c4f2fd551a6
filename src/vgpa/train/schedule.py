"""The learning rate over a training run: a short warm-up, then a cosine down to zero at the end.

Touches nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """Warm-up, then cosine decay to zero at the end, which is a number of steps, of minutes, or both.

    With minutes the decay follows the clock, so it is complete when the time is up.
    """

    learning_rate: float = 1e-3
    num_steps: int | None = 10_000
    num_minutes: float | None = None
    num_warmup_steps: int = 200

    def progress(self, step: int, elapsed_s: float) -> float:
        """How much of the training is done: 0 at the start, 1 and above at the end."""
        by_steps = step / self.num_steps if self.num_steps else 0.0
        by_clock = elapsed_s / (60 * self.num_minutes) if self.num_minutes else 0.0
        return max(by_steps, by_clock)

    def learning_rate_at(self, step: int, elapsed_s: float) -> float:
        """The learning rate of a step (counted from 0)."""
        warmup = min(1.0, (step + 1) / self.num_warmup_steps)
        decay = 0.5 * (1 + math.cos(math.pi * min(1.0, self.progress(step, elapsed_s))))
        return self.learning_rate * warmup * decay
