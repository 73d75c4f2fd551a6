"""Only wide products of the network are rounded: never rotations, measurements or poses."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from vgpa.train.precision import wide_products_in_bfloat16

VALUE = torch.rand(5, 64, generator=torch.Generator().manual_seed(0))


def test_wide_products_are_rounded_and_answered_in_float32() -> None:
    layer = nn.Linear(64, 64)
    with wide_products_in_bfloat16():
        rounded = layer(VALUE)
    exact = layer(VALUE)
    assert rounded.dtype == torch.float32
    assert not torch.equal(rounded, exact)
    torch.testing.assert_close(rounded, exact, atol=0.02, rtol=0)


def test_narrow_products_and_rotations_are_exact() -> None:
    head, weight, rotation = nn.Linear(64, 7), torch.rand(64, 6), torch.rand(8, 3, 3)
    with wide_products_in_bfloat16():
        answers = head(VALUE), functional.linear(VALUE[:, :6], weight), rotation @ rotation.mT
        product = torch.einsum("nab,nbc->nac", rotation, rotation)
    assert torch.equal(answers[0], head(VALUE))
    assert torch.equal(answers[1], functional.linear(VALUE[:, :6], weight))
    assert torch.equal(answers[2], rotation @ rotation.mT)
    assert torch.equal(product, torch.einsum("nab,nbc->nac", rotation, rotation))


def test_gradients_are_close_also_where_activations_are_recomputed() -> None:
    layer = nn.Linear(64, 64)

    def gradient(is_recomputed: bool) -> torch.Tensor:
        layer.zero_grad()
        value = checkpoint(layer, VALUE, use_reentrant=False) if is_recomputed else layer(VALUE)
        value.square().sum().backward()
        assert layer.weight.grad is not None
        return layer.weight.grad.clone()

    exact = gradient(False)
    with wide_products_in_bfloat16():
        rounded, recomputed = gradient(False), gradient(True)
    assert torch.equal(rounded, recomputed)
    torch.testing.assert_close(rounded, exact, atol=0.02 * float(exact.abs().max()), rtol=0)
