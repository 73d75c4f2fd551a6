"""Random numbers for worlds: one seeded generator, drawing on the device it lives on.

Touches nothing but torch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Draw:
    """Draws tensors of a given shape from a seeded generator."""

    generator: torch.Generator

    def uniform(self, low: float, high: float, *shape: int) -> Tensor:
        """Uniform between low and high."""
        unit = torch.rand(shape, generator=self.generator, device=self.generator.device)
        return low + (high - low) * unit

    def log_uniform(self, low: float, high: float, *shape: int) -> Tensor:
        """Between low and high, each octave equally likely."""
        return self.uniform(math.log(low), math.log(high), *shape).exp()

    def normal(self, std: float, *shape: int) -> Tensor:
        """Normal with mean zero."""
        return std * torch.randn(shape, generator=self.generator, device=self.generator.device)

    def log_normal(self, median: float, spread: float, *shape: int) -> Tensor:
        """Log-normal; `spread` is the standard deviation of the natural logarithm."""
        return median * self.normal(spread, *shape).exp()

    def chance(self, probability: float | Tensor, *shape: int) -> Tensor:
        """True with the given probability."""
        return self.uniform(0.0, 1.0, *shape) < probability

    def unit_vector(self, *shape: int) -> Tensor:
        """Uniform on the unit sphere, (*shape, 3)."""
        return torch.nn.functional.normalize(self.normal(1.0, *shape, 3), dim=-1)
