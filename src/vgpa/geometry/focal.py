"""Focal lengths from fundamental matrices, by voting.

With the right calibration K_j^T F K_i is an essential matrix, whose two non-zero singular values are equal. Each pair
therefore votes for the focal lengths that make them nearly so; wrong pairs spread their votes, right ones agree.
One dimension is searched exhaustively, so there is no start to go wrong from.
"""

from __future__ import annotations

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
    scale_i = np.where(is_i, focal[:, None], 1.0)
    scale_j = np.where(is_j, focal[:, None], 1.0)
    essential = np.broadcast_to(centred_F, (len(focal), *centred_F.shape)).copy()
    essential[..., :, :2] *= scale_i[..., None, None]
    essential[..., :2, :] *= scale_j[..., None, None]
    singular = np.linalg.svd(essential, compute_uv=False)
    difference = 1 - singular[..., 1] / np.maximum(singular[..., 0], 1e-300)
    return np.asarray(np.exp(-difference / TOLERANCE))
