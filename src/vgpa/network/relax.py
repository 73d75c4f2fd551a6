"""A whole graph relaxed at once: the least-squares update of all cameras under given edge weights.

Every edge (i, j) asks for x_j - x_i = target; how much it asks along its direction d and across it are two weights.
Messages travel one edge per layer, but the solution of

    minimise  sum over edges of (x_j - x_i - target)^T W (x_j - x_i - target)  +  damping sum of a_i |x_i|^2,
    W = across (I - d d^T) + along d d^T,       a_i = the weight of all edges at camera i,

carries a correction around a whole loop or down a whole street in one step. It is found by preconditioned conjugate
gradients with a sparse matrix, in O(E) memory. Gradients with respect to weights and targets come from the implicit
function theorem: one more solve with the same matrix, whatever the number of iterations.

Touches nothing but torch.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from vgpa.network.graph import GraphTensors

DAMPING = 1e-4
_TINY = 1e-20


@dataclass(frozen=True)
class EdgeWeights:
    """How much each edge asks for: W = across I, or across I + surplus d d^T with along = across + surplus.

    Attributes:
        across: (E,) positive.
        surplus: (E,) or None: above -across.
        direction: (E, 3) or None: unit vectors d.
    """

    across: Tensor
    surplus: Tensor | None = None
    direction: Tensor | None = None

    def apply(self, vector: Tensor) -> Tensor:
        """W times vectors (E, 3)."""
        product = self.across[:, None] * vector
        if self.surplus is None or self.direction is None:
            return product
        along = (self.direction * vector).sum(-1) * self.surplus
        return product.addcmul_(along[:, None], self.direction)


@dataclass(frozen=True)
class Pattern:
    """Where the non-zeros of a graph's matrices stand: compressed rows, for one number and for 3 x 3 numbers per edge.

    Attributes:
        graph: the graph.
        row_start, column: of the (N, N) matrix.
        edge: (2E,) the edge behind each of its values.
        row_start_3, column_3: of the (3N, 3N) matrix.
        entry: (18E,) the entry behind each of its values, in (E, 3, 3) flattened.
    """

    graph: GraphTensors
    row_start: Tensor
    column: Tensor
    edge: Tensor
    row_start_3: Tensor
    column_3: Tensor
    entry: Tensor

    @staticmethod
    def of(graph: GraphTensors) -> Pattern:
        """The pattern of a graph, the same for all weights."""
        i, j = graph.edge_index
        row, order = torch.cat((i, j)).sort(stable=True)
        column, edge = torch.cat((j, i))[order], order % graph.num_edges
        degree = torch.bincount(row, minlength=graph.num_cams)
        end = degree.cumsum(0)
        start = (end - degree)[row]
        # Scalar row 3 r + a holds, for every edge at camera r in turn, the three numbers of row a of its 3 x 3 block.
        axis = torch.arange(3, device=row.device)
        place = torch.arange(len(row), device=row.device) - start
        slot = (9 * start + 3 * place)[:, None, None] + (3 * degree[row])[:, None, None] * axis[:, None] + axis
        column_3 = torch.empty(18 * graph.num_edges, dtype=torch.int32, device=row.device)
        column_3[slot] = (3 * column[:, None, None] + axis).expand_as(slot).int()
        entry = torch.empty_like(column_3, dtype=torch.int64)
        entry[slot] = 9 * edge[:, None, None] + 3 * axis[:, None] + axis
        end_3 = (3 * degree).repeat_interleave(3).cumsum(0)
        # Sparse products work with 32-bit indices and would convert any others every time.
        starts = [torch.cat((end.new_zeros(1), ends)).int() for ends in (end, end_3)]
        return Pattern(graph, starts[0], column.int(), edge, starts[1], column_3, entry)


def relax(pattern: Pattern, weights: EdgeWeights, target: Tensor, num_iterations: int) -> Tensor:
    """Updates x (N, 3) for targets (E, 3); differentiable in the weights and the targets, not in the directions."""
    update: Tensor = _Relax.apply(  # type: ignore[no-untyped-call]
        weights.across, weights.surplus, target, weights.direction, pattern, num_iterations
    )
    return update


class _Relax(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        across: Tensor,
        surplus: Tensor | None,
        target: Tensor,
        direction: Tensor | None,
        pattern: Pattern,
        num_iterations: int,
    ) -> Tensor:
        weights = EdgeWeights(across, surplus, direction)
        update = _solve(pattern, weights, _gather(pattern.graph, weights.apply(target)), num_iterations)
        ctx.save_for_backward(across, surplus, target, direction, update)
        ctx.pattern, ctx.num_iterations = pattern, num_iterations
        return update

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        across, surplus, target, direction, update = ctx.saved_tensors
        weights, graph = EdgeWeights(across, surplus, direction), ctx.pattern.graph
        pull = _along_edges(graph, _solve(ctx.pattern, weights, grad, ctx.num_iterations))
        miss = target - _along_edges(graph, update)
        to_surplus = None if surplus is None else (pull * direction).sum(-1) * (miss * direction).sum(-1)
        return (pull * miss).sum(-1), to_surplus, weights.apply(pull), None, None, None


class _Matrix:
    """The matrix of the least-squares problem, damping included: diagonal blocks minus the edges'."""

    def __init__(self, pattern: Pattern, weights: EdgeWeights) -> None:
        graph = pattern.graph
        mean = weights.across if weights.surplus is None else weights.across + weights.surplus / 3
        self.scale = _sum_at_cams(graph, mean)[:, None].clamp(min=_TINY)
        """(N, 1) the mean of each camera's diagonal, and the preconditioner."""
        if weights.surplus is None or weights.direction is None:
            self._diagonal = (1 + DAMPING) * self.scale
            self._edges = _compressed(pattern.row_start, pattern.column, weights.across[pattern.edge])
            return
        eye = torch.eye(3, dtype=mean.dtype, device=mean.device)
        outer = weights.direction[:, :, None] * weights.direction[:, None, :]
        block = weights.across[:, None, None] * eye + weights.surplus[:, None, None] * outer
        self._diagonal = _sum_at_cams(graph, block) + DAMPING * self.scale[:, :, None] * eye
        self._edges = _compressed(pattern.row_start_3, pattern.column_3, block.flatten()[pattern.entry])

    def apply(self, x: Tensor) -> Tensor:
        """The matrix times x (N, 3)."""
        if self._diagonal.dim() == 2:
            return self._diagonal * x - self._edges @ x
        return (self._diagonal @ x[:, :, None] - (self._edges @ x.reshape(-1, 1)).view(-1, 3, 1)).squeeze(-1)


def _solve(pattern: Pattern, weights: EdgeWeights, rhs: Tensor, num_iterations: int) -> Tensor:
    """Conjugate gradients, each graph with step lengths of its own, preconditioned by the diagonal."""
    graph, matrix = pattern.graph, _Matrix(pattern, weights)
    inverse = matrix.scale.reciprocal()
    x, residual = torch.zeros_like(rhs), rhs.clone()
    direction = inverse * residual
    rho = _dot(graph, residual, direction)
    for _ in range(num_iterations):
        applied = matrix.apply(direction)
        step = (rho / _dot(graph, direction, applied).clamp_(min=_TINY))[graph.graph_idx, None]
        x.addcmul_(step, direction)
        residual.addcmul_(step, applied, value=-1)
        z = inverse * residual
        rho, rho_before = _dot(graph, residual, z), rho
        direction = z.addcmul_((rho / rho_before.clamp_(min=_TINY))[graph.graph_idx, None], direction)
    return x


def _compressed(row_start: Tensor, column: Tensor, value: Tensor) -> Tensor:
    size = (len(row_start) - 1,) * 2
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
        return torch.sparse_csr_tensor(row_start, column, value, size, check_invariants=False)


def _along_edges(graph: GraphTensors, x: Tensor) -> Tensor:
    """x_j - x_i (E, 3)."""
    at_i, at_j = x[graph.edge_index]
    return at_j - at_i


def _gather(graph: GraphTensors, value: Tensor) -> Tensor:
    """The transpose of `_along_edges`: (E, 3) to (N, 3)."""
    i, j = graph.edge_index
    return value.new_zeros(graph.num_cams, 3).index_add_(0, j, value).index_add_(0, i, value, alpha=-1)


def _sum_at_cams(graph: GraphTensors, value: Tensor) -> Tensor:
    """Sums (N, ...) over the edges at each camera of values (E, ...)."""
    i, j = graph.edge_index
    return value.new_zeros(graph.num_cams, *value.shape[1:]).index_add_(0, i, value).index_add_(0, j, value)


def _dot(graph: GraphTensors, a: Tensor, b: Tensor) -> Tensor:
    """Inner products (num_graphs,)."""
    product = (a * b).sum(-1)
    if graph.num_graphs == 1:
        return product.sum(0, keepdim=True)
    return a.new_zeros(graph.num_graphs).index_add_(0, graph.graph_idx, product)
