"""Laws of the relaxation: it is the least-squares solution, and so are its gradients."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from vgpa.network.graph import GraphTensors
from vgpa.network.relax import DAMPING, EdgeWeights, Pattern, relax

NUM_CAMS, NUM_EDGES = 9, 24
ENOUGH_ITERATIONS = 200


def random_system(seed: int, is_isotropic: bool) -> tuple[GraphTensors, EdgeWeights, Tensor]:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    chosen = torch.randperm(NUM_CAMS * (NUM_CAMS - 1) // 2, generator=generator)[:NUM_EDGES]
    graph = GraphTensors(
        edge_index=torch.triu_indices(NUM_CAMS, NUM_CAMS, 1)[:, chosen],
        rotation=torch.eye(3).expand(NUM_EDGES, 3, 3),
        direction=torch.zeros(NUM_EDGES, 3),
        has_direction=torch.ones(NUM_EDGES, dtype=torch.bool),
        num_matches=torch.ones(NUM_EDGES, dtype=torch.int64),
        graph_idx=torch.zeros(NUM_CAMS, dtype=torch.int64),
    )
    across = draw(NUM_EDGES).exp()
    if is_isotropic:
        return graph, EdgeWeights(across), draw(NUM_EDGES, 3)
    direction = torch.nn.functional.normalize(draw(NUM_EDGES, 3), dim=-1)
    return graph, EdgeWeights(across, draw(NUM_EDGES).exp() - 0.9 * across, direction), draw(NUM_EDGES, 3)


def sparse_solution(graph: GraphTensors, weights: EdgeWeights, target: Tensor) -> Tensor:
    return relax(Pattern.of(graph), weights, target, ENOUGH_ITERATIONS)


def dense_solution(graph: GraphTensors, weights: EdgeWeights, target: Tensor) -> Tensor:
    """The same minimum with full matrices."""
    eye = torch.eye(3, dtype=torch.float64)
    matrix = weights.across[:, None, None] * eye
    scale = weights.across
    if weights.surplus is not None and weights.direction is not None:
        outer = weights.direction[:, :, None] * weights.direction[:, None, :]
        matrix = matrix + weights.surplus[:, None, None] * outer
        scale = scale + weights.surplus / 3
    incidence = torch.zeros(graph.num_edges, graph.num_cams, dtype=torch.float64)
    row = torch.arange(graph.num_edges)
    incidence[row, graph.edge_index[0]], incidence[row, graph.edge_index[1]] = -1.0, 1.0
    normal = torch.einsum("en,eab,em->namb", incidence, matrix, incidence)
    rhs = torch.einsum("en,eab,eb->na", incidence, matrix, target)
    # The damping is no function of the weights as far as gradients go: it is only there to pin down the gauge.
    damping = DAMPING * (incidence.abs().T @ scale.detach())
    size = 3 * graph.num_cams
    full = normal.reshape(size, size) + torch.diag(damping.repeat_interleave(3))
    return torch.linalg.solve(full, rhs.flatten()).reshape(-1, 3)


@pytest.mark.parametrize("is_isotropic", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_least_squares_solution_and_so_are_its_gradients(seed: int, is_isotropic: bool) -> None:
    graph, weights, target = random_system(seed, is_isotropic)
    answers, gradients = [], []
    for solve in (sparse_solution, dense_solution):
        across, goal = weights.across.clone().requires_grad_(), target.clone().requires_grad_()
        surplus = None if weights.surplus is None else weights.surplus.clone().requires_grad_()
        answer = solve(graph, replace(weights, across=across, surplus=surplus), goal)
        inputs = [x for x in (across, surplus, goal) if x is not None]
        mix = torch.sin(torch.arange(answer.numel(), dtype=torch.float64)).view_as(answer)
        # Differences between cameras only: the common shift is nearly free.
        gradients.append(torch.autograd.grad(((answer - answer.mean(0)) * mix).sum(), inputs))
        answers.append(answer - answer.mean(0))
    torch.testing.assert_close(answers[0], answers[1], atol=1e-6, rtol=1e-6)
    for ours, dense in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, dense, atol=1e-5, rtol=1e-5)


def test_graphs_side_by_side_do_not_see_each_other() -> None:
    (first, weights_1, target_1), (second, weights_2, target_2) = (random_system(seed, True) for seed in (1, 2))
    together = relax(
        Pattern.of(GraphTensors.join([first, second])),
        EdgeWeights(torch.cat((weights_1.across, weights_2.across))),
        torch.cat((target_1, target_2)),
        num_iterations=7,
    )
    apart = torch.cat(
        (relax(Pattern.of(first), weights_1, target_1, 7), relax(Pattern.of(second), weights_2, target_2, 7))
    )
    torch.testing.assert_close(together, apart)


def test_a_correction_travels_down_a_whole_line_in_one_step() -> None:
    num = 60
    line = torch.arange(num)
    graph = GraphTensors(
        edge_index=torch.stack((line[:-1], line[1:])),
        rotation=torch.eye(3).expand(num - 1, 3, 3),
        direction=torch.zeros(num - 1, 3),
        has_direction=torch.ones(num - 1, dtype=torch.bool),
        num_matches=torch.ones(num - 1, dtype=torch.int64),
        graph_idx=torch.zeros(num, dtype=torch.int64),
    )
    target = torch.zeros(num - 1, 3, dtype=torch.float64)
    target[num // 2, 0] = 1.0
    update = relax(Pattern.of(graph), EdgeWeights(torch.ones(num - 1, dtype=torch.float64)), target, num_iterations=num)
    assert float(update[-1, 0] - update[0, 0]) == pytest.approx(1.0, abs=0.1)
