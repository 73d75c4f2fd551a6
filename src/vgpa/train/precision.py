"""Faster training where it is safe: the wide matrix products of a network in bfloat16, everything else in float32.

bfloat16 keeps 8 bits of a number, about 0.2 degrees of an angle. That is fine inside a network and not for what goes
in and comes out: products with a narrow side (measurements in, poses out), means over neighbours, rotations and
losses stay in float32. Plain autocast would round 3 x 3 rotations as well, since they are matrix products too.

Touches nothing but torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor
from torch.nn import functional

_MIN_WIDTH = 32


@contextmanager
def wide_products_in_bfloat16() -> Iterator[None]:
    """Within this context linear layers with wide weights multiply in bfloat16 and answer in float32.

    torch's own function is replaced for the time of the context. A function mode would be tidier, but torch leaves
    it for the way back, and layers that are recomputed there would be recomputed in another precision.
    """
    exact = functional.linear

    def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        if min(weight.shape) < _MIN_WIDTH:
            return exact(input, weight, bias)
        product = exact(input.bfloat16(), weight.bfloat16()).float()
        return product if bias is None else product + bias

    functional.linear = linear
    try:
        yield
    finally:
        functional.linear = exact
