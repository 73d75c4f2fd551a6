"""The building blocks of the pose network: MLPs and one edge-conditioned message-passing layer.

A graph is given as directed edges: edge k belongs to camera `receiver[k]` (i in the paper) and tells
it about its neighbour `sender[k]` (j) with the feature e_ij. Memory grows with the number of edges
times the width; nothing is ever as large as cameras x cameras.

Touches nothing but torch.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional


def make_mlp(*widths: int) -> nn.Sequential:
    """Linear layers between the given widths with ReLU in between (none after the last)."""
    modules: list[nn.Module] = []
    for width_in, width_out in pairwise(widths):
        modules += [nn.Linear(width_in, width_out), nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def mean_by_index(value: Tensor, index: Tensor, num_groups: int) -> Tensor:
    """Means (num_groups, ...) of the rows of `value` (n, ...) with equal `index` (n,); 0 if none."""
    total = value.new_zeros((num_groups, *value.shape[1:])).index_add(0, index, value)
    count = value.new_zeros(num_groups).index_add(0, index, value.new_ones(len(index)))
    return total / count.clamp(min=1.0).view(-1, *(1,) * (value.dim() - 1))


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

    def forward(self, h: Tensor, e: Tensor, receiver: Tensor, sender: Tensor) -> Tensor:
        """Camera features (N, d) and directed edge features (M, d) to camera features (N, d)."""
        m = self._mean_message(h, e, receiver, sender)
        update = self.psi(torch.cat((self.norm_in(h), m), dim=-1))
        h_next: Tensor = self.norm_out(h + self.dropout(update))
        return h_next

    def _mean_message(self, h: Tensor, e: Tensor, receiver: Tensor, sender: Tensor) -> Tensor:
        # The first linear map of phi_m acts on (h_i, h_j, e_ij) side by side, so its camera parts
        # are computed once per camera; the last one commutes with the mean. Per edge one d x d
        # product is left.
        weight_i, weight_j, weight_e = self.phi_m_first.weight.chunk(3, dim=1)
        part_i = functional.linear(h, weight_i, self.phi_m_first.bias)
        part_j = functional.linear(h, weight_j)
        part_e = functional.linear(e, weight_e)
        hidden = functional.relu(part_i[receiver] + part_j[sender] + part_e)
        m: Tensor = self.phi_m_last(mean_by_index(hidden, receiver, len(h)))
        return m
