"""How good predicted poses are, on worlds where the truth is known: pairwise AUC in torch.

For every pair of cameras of a graph the error is the angle between predicted and true relative
rotations (and, for the pose score, the larger of it and the angle between relative directions). The
area under the recall curve up to a threshold is exactly the mean of max(0, 1 - error / threshold).
Relative poses do not depend on the world frame, so no alignment is needed.

Touches nothing but torch and `vgpa.geometry`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, radians

import torch
from torch import Tensor
from torch.nn.functional import normalize

from vgpa.geometry.torch_rotation import direction_angle, quaternion_wxyz_to_matrix, rotation_angle
from vgpa.train.worlds import WorldBatch

_THRESHOLD_RAD = radians(30)
_MAX_PAIRS_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class PairScores:
    """Areas under the recall curve up to 30 degrees, 0 to 1, mean over graphs; NaN where no truth is known."""

    rotation_auc_30: float
    pose_auc_30: float


def score_pairs(quaternion_wxyz: Tensor, translation: Tensor, worlds: WorldBatch) -> PairScores:
    """Score predicted cam_from_world poses, (N, 4) and (N, 3), of a batch of worlds."""
    rotation = quaternion_wxyz_to_matrix(quaternion_wxyz)
    centre = -torch.einsum("nba,nb->na", rotation, translation)
    totals = []
    for graph in range(worlds.graph.num_graphs):
        cams = (worlds.graph.graph_idx == graph).nonzero().squeeze(-1)
        if len(cams) < 2 or worlds.centre[cams].isnan().any():
            continue
        pairs = cams[torch.triu_indices(len(cams), len(cams), offset=1, device=cams.device)]
        recall = [_recall(rotation, centre, worlds, block) for block in torch.split(pairs, _MAX_PAIRS_AT_ONCE, dim=1)]
        totals.append(torch.cat(recall, dim=1).mean(1))
    if not totals:
        return PairScores(nan, nan)
    rotation_auc, pose_auc = torch.stack(totals).mean(0).tolist()
    return PairScores(rotation_auc, pose_auc)


def _recall(rotation: Tensor, centre: Tensor, worlds: WorldBatch, pairs: Tensor) -> Tensor:
    """What each of P pairs (2, P) adds to the areas for rotations and for poses (2, P), between 0 and 1."""
    i, j = pairs
    true_rotation, true_centre = worlds.cam_from_world, worlds.centre
    rotation_error = rotation_angle(rotation[j] @ rotation[i].mT, true_rotation[j] @ true_rotation[i].mT)
    direction_error = direction_angle(
        _direction(rotation[j], centre[i] - centre[j]),
        _direction(true_rotation[j], true_centre[i] - true_centre[j]),
    )
    error_rad = torch.stack((rotation_error, torch.maximum(rotation_error, direction_error)))
    return (1 - error_rad / _THRESHOLD_RAD).clamp(min=0)


def _direction(rotation: Tensor, offset: Tensor) -> Tensor:
    return normalize((rotation @ offset[:, :, None]).squeeze(-1), dim=-1)
