"""Focal lengths from fundamental matrices, by voting.

With the right calibration K_j^T F K_i is an essential matrix, whose two non-zero singular values are equal. Each pair
therefore votes for the focal lengths that make them nearly so; wrong pairs spread their votes, right ones agree.
One dimension (or two, where both cameras are unknown) is searched exhaustively: there is no start to go wrong from.

A matrix of rank two has singular values s1 and s2 with s1^2 + s2^2 = sum of its squared entries and s1 s2 = norm of
its cofactors. Focal lengths scale rows and columns, so both are sums of nine terms and no matrix is decomposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from vgpa.geometry.rotation import FloatArray

TOLERANCE = 0.03
"""Relative difference of the singular values at which a vote has fallen to 1/e."""


def focal_votes(centred_F: FloatArray, is_i: FloatArray, is_j: FloatArray, focal: FloatArray) -> FloatArray:
    """Votes of pairs for candidate focal lengths of one camera.

    Args:
        centred_F: (num_pairs, 3, 3) fundamental matrices K0_j^T F K0_i, where K0 moves the principal point to the
            origin and, on a side that is not the camera in question, also scales by its focal length.
        is_i, is_j: (num_pairs,) whether the camera in question took image i, image j.
        focal: (num_candidates,) focal lengths in pixels.

    Returns:
        (num_candidates, num_pairs) votes in 0..1.
    """
    centred_F, cofactors = _unit_and_cofactors(centred_F)
    f_i, f_j = (np.where(is_own, focal[:, None], 1.0) for is_own in (is_i, is_j))
    total = _squared_norm(centred_F, (f_j, f_j, np.ones_like(f_j)), (f_i, f_i, np.ones_like(f_i)))
    # Where rows or columns are scaled by (f, f, 1), cofactors are by (f, f, f^2).
    s1_s2 = np.sqrt(_squared_norm(cofactors, (f_j, f_j, f_j**2), (f_i, f_i, f_i**2)))
    return _votes(total, s1_s2)


def pair_votes(centred_F: FloatArray, focal: FloatArray) -> FloatArray:
    """Votes of pairs of which both cameras are unknown.

    Args:
        centred_F: (num_pairs, 3, 3) as above, without any focal length.
        focal: (num_candidates,) focal lengths of both.

    Returns:
        (num_pairs, num_candidates, num_candidates) votes in 0..1 for focal lengths of image i and of image j.
    """
    centred_F, cofactors = _unit_and_cofactors(centred_F)
    one = np.ones_like(focal)
    scale, scale_of_cofactors = (np.stack([focal, focal, last], axis=-1) ** 2 for last in (one, focal**2))
    total = scale @ np.swapaxes(centred_F**2, -1, -2) @ scale.T
    squared = scale_of_cofactors @ np.swapaxes(cofactors**2, -1, -2) @ scale_of_cofactors.T
    # Thousands of votes a pair: half the digits are plenty.
    return _votes(total.astype(np.float32), np.sqrt(squared.astype(np.float32)))


def _unit_and_cofactors(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Matrices (num_pairs, 3, 3) scaled to a norm of one, except where it is zero, and their cofactors."""
    norm = np.linalg.norm(matrix, axis=(-2, -1))
    unit = matrix / np.where(norm > 0, norm, 1.0)[:, None, None]
    return unit, np.cross(np.roll(unit, -1, axis=-2), np.roll(unit, -2, axis=-2))


def _votes(total: FloatArray, s1_s2: FloatArray) -> FloatArray:
    """Votes from the sum of squares and the product of the singular values; none where all are zero."""
    # (s1 - s2) / (s1 + s2), from which 1 - s2 / s1.
    contrast = np.sqrt(np.maximum(total - 2 * s1_s2, 0) / np.maximum(total + 2 * s1_s2, 1e-30))
    return np.where(total > 0, np.exp(-2 * contrast / (1 + contrast) / TOLERANCE), 0.0)


def _squared_norm(matrix: FloatArray, rows: Sequence[FloatArray], cols: Sequence[FloatArray]) -> FloatArray:
    """(num_candidates, num_pairs) sum of the squared entries of matrices (num_pairs, 3, 3) after scaling.

    Args:
        rows, cols: three (num_candidates, num_pairs) factors each.
    """
    total: FloatArray = np.zeros(rows[0].shape)
    for a, b in product(range(3), repeat=2):
        total += (rows[a] * cols[b] * matrix[:, a, b]) ** 2
    return total
