"""Focal lengths from fundamental matrices, by voting.

With the right calibration K_j^T F K_i is an essential matrix, whose two non-zero singular values are equal. Each pair
therefore votes for the focal lengths that make them nearly so; wrong pairs spread their votes, right ones agree.
One dimension is searched exhaustively, so there is no start to go wrong from.

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
    norm = np.linalg.norm(centred_F, axis=(-2, -1))
    centred_F = centred_F / np.where(norm > 0, norm, 1.0)[:, None, None]
    f_i, f_j = (np.where(is_own, focal[:, None], 1.0) for is_own in (is_i, is_j))
    cofactors: FloatArray = np.cross(np.roll(centred_F, -1, axis=-2), np.roll(centred_F, -2, axis=-2))
    total = _squared_norm(centred_F, (f_j, f_j, np.ones_like(f_j)), (f_i, f_i, np.ones_like(f_i)))
    # Where rows or columns are scaled by (f, f, 1), cofactors are by (f, f, f^2).
    s1_s2 = np.sqrt(_squared_norm(cofactors, (f_j, f_j, f_j**2), (f_i, f_i, f_i**2)))
    # (s1 - s2) / (s1 + s2), from which 1 - s2 / s1.
    contrast = np.sqrt(np.maximum(total - 2 * s1_s2, 0) / np.maximum(total + 2 * s1_s2, 1e-300))
    return np.where(norm > 0, np.exp(-2 * contrast / (1 + contrast) / TOLERANCE), 0.0)


def _squared_norm(matrix: FloatArray, rows: Sequence[FloatArray], cols: Sequence[FloatArray]) -> FloatArray:
    """(num_candidates, num_pairs) sum of the squared entries of matrices (num_pairs, 3, 3) after scaling.

    Args:
        rows, cols: three (num_candidates, num_pairs) factors each.
    """
    total: FloatArray = np.zeros(rows[0].shape)
    for a, b in product(range(3), repeat=2):
        total += (rows[a] * cols[b] * matrix[:, a, b]) ** 2
    return total
