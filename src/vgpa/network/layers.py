"""The building blocks of the pose network: MLPs, means over edges, and one edge-conditioned message-passing layer.

A graph is given as directed edges: edge k belongs to camera `receiver[k]` (i in the paper) and tells it about its
neighbour `sender[k]` (j) with the feature e_ij. Memory grows with the number of edges times the width at most;
nothing is ever as large as cameras x cameras. Edges go through a layer in pieces of `EDGES_PER_CHUNK`, so a forward
pass never holds all of them at full width; nor does training on a large graph, where what backpropagation needs of a
piece is computed once more.

Touches nothing but torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

EDGES_PER_CHUNK = {"cpu": 1 << 14, "cuda": 1 << 17}
"""Directed edges that a layer works on at once, by device: few enough for a CPU's cache, enough to keep a GPU busy."""
MAX_STORED_EDGES = 1 << 18
"""Directed edges up to which training stores what it needs per edge instead of computing it again, which is faster."""
EDGES_PER_RECOMPUTED_CHUNK = 1 << 16
"""Directed edges computed again at once. What a large piece needs (64 MB an array at width 256) goes back to the system
when it is done; of many small ones, what training keeps in between would leave holes that nothing fits into."""


def make_mlp(*widths: int) -> nn.Sequential:
    """Linear layers between the given widths with ReLU in between (none after the last)."""
    modules: list[nn.Module] = []
    for width_in, width_out in pairwise(widths):
        modules += [nn.Linear(width_in, width_out), nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def mean_by_index(value: Tensor, index: Tensor, num_groups: int) -> Tensor:
    """Means (num_groups, ...) of the rows of `value` (n, ...) with equal `index` (n,); 0 if none."""
    total = value.new_zeros((num_groups, *value.shape[1:])).index_add(0, index, value)
    return total / _count(value, index, num_groups).view(-1, *(1,) * (value.dim() - 1))


@dataclass(frozen=True)
class DirectedEdges:
    """Every edge of a graph from both of its ends: M = 2E directed edges.

    Attributes:
        feature: (M, F) what is fed to phi_e.
        receiver, sender: (M,) int64, the cameras i and j of e_ij.
    """

    feature: Tensor
    receiver: Tensor
    sender: Tensor


def mean_message(message: Callable[[DirectedEdges], Tensor], edges: DirectedEdges, like: Tensor) -> Tensor:
    """Means (N, d) of `message` over the edges of each receiver, shaped `like` (N, d); 0 for cameras without edges.

    `message` maps m edges to (m, d); it is called with one piece of the edges after another.
    """
    is_recomputed = torch.is_grad_enabled() and len(edges.receiver) > MAX_STORED_EDGES
    num_per_chunk = EDGES_PER_RECOMPUTED_CHUNK if is_recomputed else EDGES_PER_CHUNK[like.device.type]
    total = torch.zeros_like(like)
    for piece in _split(edges, num_per_chunk):
        value: Tensor = checkpoint(message, piece, use_reentrant=False) if is_recomputed else message(piece)
        # Unlike index_add_, scatter_add_ does not keep the values for backpropagation. The sum is not taken in bf16,
        # where the last of many edges would add nothing.
        total.scatter_add_(0, piece.receiver[:, None].expand_as(value), value.to(total.dtype))
    return total / _count(total, edges.receiver, len(like))[:, None]


class MessageLayer(nn.Module):
    """One round of message passing with degree-normalised mean aggregation.

    m_i = mean over j in N(i) of phi_m(h_i, h_j, e_ij), then h_i <- LN(h_i + Drop(psi(LN(h_i), m_i))).
    """

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.phi_m_first = nn.Linear(3 * width, width)
        self.phi_m_last = nn.Linear(width, width)
        self.psi = make_mlp(2 * width, width, width)
        self.norm_in = nn.LayerNorm(width)
        self.norm_out = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, h: Tensor, edges: DirectedEdges, phi_e: nn.Sequential) -> Tensor:
        """Camera features (N, d) to camera features (N, d), with e_ij = phi_e(feature), phi_e an MLP of two layers."""
        m = self._mean_message(h, edges, phi_e)
        update = self.psi(torch.cat((self.norm_in(h), m), dim=-1))
        h_next: Tensor = self.norm_out(h + self.dropout(update))
        return h_next

    def _mean_message(self, h: Tensor, edges: DirectedEdges, phi_e: nn.Sequential) -> Tensor:
        # The first linear map of phi_m acts on (h_i, h_j, e_ij) side by side, so its camera parts are computed once
        # per camera; its edge part follows the last linear map of phi_e directly, so the two are one map, and e_ij
        # itself is never needed; the last linear map of phi_m commutes with the mean. Per edge one d x d product is
        # left.
        weight_i, weight_j, weight_e = self.phi_m_first.weight.chunk(3, dim=1)
        phi_e_first, phi_e_last = (module for module in phi_e if isinstance(module, nn.Linear))
        weight_hidden = weight_e @ phi_e_last.weight
        part_i = functional.linear(h, weight_i, self.phi_m_first.bias + weight_e @ phi_e_last.bias)
        part_j = functional.linear(h, weight_j)

        def message(edges: DirectedEdges) -> Tensor:
            with torch.autocast(h.device.type, enabled=False):  # measured angles need more digits than bf16 has
                hidden_e = phi_e_first(edges.feature).relu_()
            hidden = functional.linear(hidden_e, weight_hidden)
            hidden += part_i.index_select(0, edges.receiver)
            hidden += part_j.index_select(0, edges.sender)
            return hidden.relu_()

        m: Tensor = self.phi_m_last(mean_message(message, edges, like=h))
        return m


def _split(edges: DirectedEdges, num_edges: int) -> list[DirectedEdges]:
    """The edges in pieces of at most `num_edges`."""
    parts = (torch.split(x, num_edges) for x in (edges.feature, edges.receiver, edges.sender))
    return [DirectedEdges(*piece) for piece in zip(*parts, strict=True)]


def _count(value: Tensor, index: Tensor, num_groups: int) -> Tensor:
    """How often each group occurs (num_groups,), at least 1, in the type of `value`."""
    return value.new_zeros(num_groups).index_add(0, index, value.new_ones(len(index))).clamp(min=1.0)
