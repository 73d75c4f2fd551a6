"""The block Laplacian: dense and sparse solutions agree with least squares written out, edge by edge."""

from __future__ import annotations

import numpy as np
import pytest

from vgpa.averaging import laplacian
from vgpa.averaging.laplacian import block_matrix, diagonal_blocks, solve_grounded, sum_at_nodes


def _problem(num: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A connected graph with a double edge, symmetric positive blocks, and what each edge asks x_j - x_i to be."""
    rng = np.random.default_rng(seed)
    line = np.stack([np.arange(num - 1), np.arange(1, num)])
    edges = np.concatenate([line, line[:, :1], rng.permuted(np.tile(np.arange(num), (4, 1)), axis=1)[:, :2].T], axis=1)
    root = rng.normal(size=(edges.shape[1], k, k))
    return edges, root @ np.swapaxes(root, 1, 2) + np.eye(k), rng.normal(size=(edges.shape[1], k))


@pytest.fixture(params=["sparse", "dense because small", "dense because filled"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Systems are solved in this way, whatever their size."""
    monkeypatch.setattr(laplacian, "MAX_DENSE_UNKNOWNS", 1000 if request.param == "dense because small" else 0)
    monkeypatch.setattr(
        laplacian, "MAX_DENSE_UNKNOWNS_OF_DENSE_GRAPH", 1000 if request.param == "dense because filled" else 0
    )
    return str(request.param)


def test_each_way_is_taken(way: str) -> None:
    edges, block, _ = _problem(12, 3)
    matrix = block_matrix(edges, block, diagonal_blocks(edges, block, 12))
    assert isinstance(matrix, np.ndarray) == way.startswith("dense")


def test_a_large_sparse_graph_is_solved_sparsely_and_a_large_dense_one_densely() -> None:
    num = 200
    for reach, is_dense in ((2, False), (60, True)):
        edges = np.concatenate([np.stack([np.arange(num - k), np.arange(k, num)]) for k in range(1, reach + 1)], axis=1)
        block = np.tile(np.eye(3), (edges.shape[1], 1, 1))
        assert isinstance(block_matrix(edges, block, diagonal_blocks(edges, block, num)), np.ndarray) == is_dense


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("k", [1, 3])
def test_the_solution_is_that_of_least_squares(k: int) -> None:
    num = 12
    edges, block, target = _problem(num, k)
    difference = np.zeros((edges.shape[1], k, num, k))
    for e, (i, j) in enumerate(edges.T):
        difference[e, :, j], difference[e, :, i] = np.eye(k), -np.eye(k)
    root = np.swapaxes(np.linalg.cholesky(block), 1, 2)
    rows = np.einsum("eab,ebnc->eanc", root, difference).reshape(-1, num * k)
    wanted = np.linalg.lstsq(rows[:, k:], np.einsum("eab,eb->ea", root, target).ravel(), rcond=None)[0]

    pull = np.einsum("eab,eb->ea", block, target)
    rhs = sum_at_nodes(edges, pull, num).reshape(-1, 1)
    found = solve_grounded(edges, block, diagonal_blocks(edges, block, num), rhs)

    np.testing.assert_allclose(found[:k], 0)
    np.testing.assert_allclose(found[k:, 0], wanted, atol=1e-9)


@pytest.mark.usefixtures("way")
def test_systems_of_one_graph_are_solved_as_if_alone() -> None:
    edges, block, pull = _problem(12, 3)
    blocks, pulls = np.stack([block, 2 * block, block**2 + np.eye(3)]), np.stack([pull, -pull, 3 * pull])

    def solve(block: np.ndarray, pull: np.ndarray) -> np.ndarray:
        rhs = sum_at_nodes(edges, pull, 12)
        return solve_grounded(edges, block, diagonal_blocks(edges, block, 12), rhs.reshape(*rhs.shape[:-2], 36, 1))

    np.testing.assert_allclose(
        solve(blocks, pulls), [solve(*one) for one in zip(blocks, pulls, strict=True)], atol=1e-12
    )


def test_a_common_shift_costs_nothing() -> None:
    edges, block, _ = _problem(8, 3)
    matrix = block_matrix(edges, block, diagonal_blocks(edges, block, 8))
    np.testing.assert_allclose(matrix @ np.tile([1.0, -2.0, 3.0], 8), 0, atol=1e-9)


def test_a_camera_alone_stays_at_zero() -> None:
    nothing = np.zeros((2, 0), dtype=np.int64), np.zeros((0, 1, 1)), np.zeros((1, 1, 1))
    assert solve_grounded(*nothing, np.ones((1, 3))).tolist() == [[0, 0, 0]]
