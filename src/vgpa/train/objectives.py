"""What a network is trained for: one function from a network and a batch of worlds to a loss.

The paper's networks see only what a user would have, the measured edges, and are asked for poses that agree with
them (equations 1 and 2), or with the true edges behind them. The refining network learns to judge edges, so it is told
the truth: after every step its poses are compared with the true ones, on edges and on random pairs of cameras, and its
verdicts with what is wrong.

Touches nothing but torch, `vgpa.geometry` and `vgpa.network`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from vgpa.geometry.torch_rotation import direction_angle, rotation_angle
from vgpa.network.graph import GraphTensors
from vgpa.network.layers import mean_by_index
from vgpa.network.losses import relative_pose_loss
from vgpa.network.refine import RefineNet, RefineStep
from vgpa.train.worlds import WorldBatch

Target = Literal["measured", "true"]

_DISCOUNT = 0.8
_VERDICT_WEIGHT = 0.2
_PAIRS_PER_CAM = 8
_FINE_RAD = 0.1
_SHORT = 1e-2


def training_loss(net: nn.Module, worlds: WorldBatch, target: Target = "measured") -> Tensor:
    """The loss of a batch, a scalar: the mean over its graphs.

    Args:
        target: what the poses of the paper's networks shall agree with on the edges: what was measured there, or
            what is true (every edge then counts as a right one; generated worlds know the truth).
    """
    if isinstance(net, RefineNet):
        return _refinement_loss(net.unroll(worlds.graph), worlds)
    quaternion_wxyz, translation = net(worlds.graph)
    graph = worlds.graph if target == "measured" else true_edges(worlds)
    return relative_pose_loss(quaternion_wxyz, translation, graph)


def true_edges(worlds: WorldBatch) -> GraphTensors:
    """The same edges without noise and without mistakes."""
    i, j = worlds.graph.edge_index
    rotation, offset = worlds.cam_from_world, worlds.centre[i] - worlds.centre[j]
    direction = functional.normalize(torch.einsum("eab,eb->ea", rotation[j], offset), dim=-1)
    return replace(worlds.graph, rotation=rotation[j] @ rotation[i].mT, direction=direction)


def _refinement_loss(steps: list[RefineStep], worlds: WorldBatch) -> Tensor:
    """Mean over the steps, the later the more, of pose errors and of wrong verdicts."""
    pairs = _random_pairs(worlds.graph)
    total, sum_weight = torch.zeros((), device=pairs.device), 0.0
    for k, step in enumerate(reversed(steps)):
        weight = _DISCOUNT**k
        verdict = functional.binary_cross_entropy_with_logits(step.right_logit, (~worlds.is_wrong).float())
        error = _pose_error(step, worlds, pairs) + _pose_error(step, worlds, worlds.graph.edge_index)
        total = total + weight * (error + _VERDICT_WEIGHT * verdict)
        sum_weight += weight
    return total / sum_weight


def _random_pairs(graph: GraphTensors) -> Tensor:
    """(2, P) pairs of cameras of the same graph, some for every camera."""
    size = torch.bincount(graph.graph_idx, minlength=graph.num_graphs)
    first = size.cumsum(0) - size
    one = torch.arange(graph.num_cams, device=size.device).repeat(_PAIRS_PER_CAM)
    label = graph.graph_idx[one]
    # Never the camera itself: one to size - 1 places further on, round the graph.
    hop = 1 + (torch.rand(len(one), device=size.device) * (size[label] - 1)).long()
    return torch.stack((one, first[label] + (one - first[label] + hop) % size[label]))


def _pose_error(step: RefineStep, worlds: WorldBatch, pairs: Tensor) -> Tensor:
    """Mean over graphs of the mean (robust) angles of relative rotations and directions to the true ones."""
    i, j = pairs
    graph = worlds.graph
    true_rotation = worlds.cam_from_world
    rotation = rotation_angle(
        step.cam_from_world[j] @ step.cam_from_world[i].mT, true_rotation[j] @ true_rotation[i].mT
    )
    direction = direction_angle(
        _direction(step.cam_from_world[j], step.centre[i] - step.centre[j]),
        _direction(true_rotation[j], worlds.centre[i] - worlds.centre[j]),
    )
    error = _robust(rotation) + _robust(direction)
    return mean_by_index(error, graph.graph_idx[i], graph.num_graphs).mean()


def _robust(angle_rad: Tensor) -> Tensor:
    """Half the angle, and more for the first few degrees: what is nearly right is worth making right."""
    return 0.5 * angle_rad + angle_rad / (angle_rad + _FINE_RAD)


def _direction(rotation: Tensor, offset: Tensor) -> Tensor:
    length: Tensor = torch.linalg.vector_norm(offset, dim=-1, keepdim=True)
    return torch.einsum("nab,nb->na", rotation, offset / length.clamp(min=_SHORT))
