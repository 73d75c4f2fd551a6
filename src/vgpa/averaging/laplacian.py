"""Least squares over the differences along the edges of a graph: the one linear system of all averaging.

    minimise over x  the sum over edges (i, j) of  (x_j - x_i)^T B_ij (x_j - x_i) - 2 p_ij . (x_j - x_i)

Its matrix is a block Laplacian: the sum of B at a camera's edges on the diagonal, -B_ij beside it. A common shift of
all x costs nothing, so the first camera is held at zero.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from vgpa.geometry.rotation import FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import bsr_array

MAX_DENSE_UNKNOWNS = 300
"""Systems up to this size are dense ones: setting up a sparse factorisation costs more than it saves, and so does
loading the library that does it."""
MAX_DENSE_UNKNOWNS_OF_DENSE_GRAPH, MIN_PART_JOINED = 2000, 1 / 8
"""Larger ones are, too, where each camera is joined to so large a part of all: there a factorisation fills up."""


def sum_at_nodes(edges: IntArray, pull: FloatArray, num: int) -> FloatArray:
    """(..., num, m) sum of each camera's pulls (..., num_edges, m): towards j at j, and away from it at i."""
    i, j = edges
    *batch, num_edges, m = pull.shape
    axes = np.swapaxes(pull, -2, -1).reshape(prod(batch) * m, num_edges)
    sums = [np.bincount(j, axis, num) - np.bincount(i, axis, num) for axis in axes]
    return np.swapaxes(np.reshape(sums, (*batch, m, num)), -2, -1)


def diagonal_blocks(edges: IntArray, block: FloatArray, num: int) -> FloatArray:
    """(..., num, k, k) sum of the blocks (..., num_edges, k, k) of each camera's edges."""
    i, j = edges
    *batch, num_edges, k, _ = block.shape
    entries = np.moveaxis(block, -3, -1).reshape(prod(batch) * k * k, num_edges)
    sums = [np.bincount(i, entry, num) + np.bincount(j, entry, num) for entry in entries]
    return np.moveaxis(np.reshape(sums, (*batch, k, k, num)), -1, -3)


def block_matrix(edges: IntArray, block: FloatArray, diagonal: FloatArray) -> FloatArray | bsr_array:
    """The matrix (num k, num k) with these blocks (num, k, k) on its diagonal and -B_ij beside it; sparse if large."""
    num, k, _ = diagonal.shape
    return (_dense_matrices if _is_dense(edges, num, k) else sparse_matrix)(edges, block, diagonal)


def sparse_matrix(edges: IntArray, block: FloatArray, diagonal: FloatArray) -> bsr_array:
    """The same, sparse in any case."""
    from scipy.sparse import bsr_array

    (i, j), (num, k, _) = edges, diagonal.shape
    rows, cols = np.concatenate([np.arange(num), i, j]), np.concatenate([np.arange(num), j, i])
    by_row = np.lexsort((cols, rows))
    values = np.concatenate([diagonal, -block, -np.swapaxes(block, 1, 2)])[by_row]
    first = np.searchsorted(rows[by_row], np.arange(num + 1))
    return bsr_array((values, cols[by_row], first), shape=(num * k, num * k))


def solve_grounded(edges: IntArray, block: FloatArray, diagonal: FloatArray, rhs: FloatArray) -> FloatArray:
    """(..., num k, m) solutions with the first camera's k unknowns at zero, for right-hand sides (..., num k, m).

    Leading axes, which block and diagonal have too, are systems of the same graph with other weights.
    """
    num, k = diagonal.shape[-3], block.shape[-1]
    x = np.zeros(rhs.shape)
    if num < 2:
        return x
    if _is_dense(edges, num, k):
        x[..., k:, :] = np.linalg.solve(_dense_matrices(edges, block, diagonal)[..., k:, k:], rhs[..., k:, :])
        return x
    for system in np.ndindex(rhs.shape[:-2]):
        x[system][k:] = _solve_sparse(sparse_matrix(edges, block[system], diagonal[system]), rhs[system], k)
    return x


def _is_dense(edges: IntArray, num: int, k: int) -> bool:
    """Whether a system of so many cameras with k unknowns each is solved as a dense one."""
    is_filled = 2 * edges.shape[1] >= MIN_PART_JOINED * num**2
    return num * k <= MAX_DENSE_UNKNOWNS or (is_filled and num * k <= MAX_DENSE_UNKNOWNS_OF_DENSE_GRAPH)


def _solve_sparse(matrix: bsr_array, rhs: FloatArray, first: int) -> FloatArray:
    """Solutions (n - first, m) of the system without its first unknowns, which are zero."""
    from scipy.sparse.linalg import splu

    # Symmetric and definite: no pivoting, and an ordering that knows it (four times faster on 10,000 cameras).
    rest = matrix.tocsc()[first:, first:]
    factors = splu(rest, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    return np.asarray(factors.solve(rhs[first:]))


def _dense_matrices(edges: IntArray, block: FloatArray, diagonal: FloatArray) -> FloatArray:
    """(..., num k, num k), the same as dense ones."""
    (i, j), (*batch, num, k, _) = edges, diagonal.shape
    offset = np.arange(k)
    rows = np.concatenate([np.arange(num), i, j])[:, None, None] * k + offset[:, None]
    cols = np.concatenate([np.arange(num), j, i])[:, None, None] * k + offset
    place = (rows * (num * k) + cols).ravel()
    values = np.concatenate([diagonal, -block, -np.swapaxes(block, -2, -1)], axis=-3).reshape(-1, len(place))
    matrices = [np.bincount(place, entries, (num * k) ** 2) for entries in values]
    return np.reshape(matrices, (*batch, num * k, num * k))
