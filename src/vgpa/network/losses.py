"""The training and fine-tuning objective: do the predicted poses agree with the measured edges?

Equations (1) and (2) of the paper, with three repairs that keep gradients finite and bounded: angles
come from atan2 instead of arccos, predicted translations are normalised before they are compared,
and each graph is centred and scaled to size one first (the loss does not change under a similarity,
but the size of its gradient does).

Touches nothing but torch and `vgpa.geometry`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from vgpa.geometry.torch_rotation import (
    direction_angle,
    quaternion_wxyz_to_matrix,
    rotation_angle,
)
from vgpa.network.graph import GraphTensors
from vgpa.network.layers import mean_by_index

# Baselines below this part of the graph's size count as short: their pull on the poses is bounded.
_SHORT_BASELINE = 1e-3
_MIN_GRAPH_SIZE = 1e-9


def relative_pose_loss(quaternion_wxyz: Tensor, translation: Tensor, graph: GraphTensors) -> Tensor:
    """Mean rotation angle plus mean direction angle over the edges, in radians (eq. 1 and 2).

    quaternion_wxyz (N, 4), translation (N, 3): predicted cam_from_world.
    Directions are compared at both ends of an edge. Of several graphs the result is the mean of their losses.
    """
    rotation_angle_rad, direction_angle_rad = edge_angles(*world_frame(quaternion_wxyz, translation, graph), graph)
    every_edge, seen = torch.ones_like(rotation_angle_rad), graph.has_direction.to(direction_angle_rad.dtype)
    return mean_over_edges(rotation_angle_rad, every_edge, graph) + mean_over_edges(direction_angle_rad, seen, graph)


def world_frame(quaternion_wxyz: Tensor, translation: Tensor, graph: GraphTensors) -> tuple[Tensor, Tensor]:
    """Rotations (N, 3, 3) and centres (N, 3), moved and scaled so that each graph has mean 0 and mean distance 1."""
    cam_from_world = quaternion_wxyz_to_matrix(quaternion_wxyz)
    return cam_from_world, _fix_gauge(-_rotate_back(cam_from_world, translation), graph.graph_idx, graph.num_graphs)


def edge_angles(cam_from_world: Tensor, centre: Tensor, graph: GraphTensors) -> tuple[Tensor, Tensor]:
    """Angles (E,) between predicted and measured rotations, and directions (these say nothing where there is none).

    cam_from_world (N, 3, 3), centre (N, 3): as `world_frame` gives them.
    """
    i, j = graph.edge_index
    rotation_error = rotation_angle(cam_from_world[j] @ cam_from_world[i].transpose(-1, -2), graph.rotation)
    offset = centre[i] - centre[j]
    # Masked edges still need a unit vector: the angle to a zero vector has no gradient.
    unit_z = graph.direction.new_tensor((0.0, 0.0, 1.0))
    at_j = torch.where(graph.has_direction[:, None], graph.direction, unit_z)
    at_i = -_rotate_back(graph.rotation, at_j)
    direction_error = 0.5 * (
        direction_angle(_bounded_unit(_rotate(cam_from_world[j], offset)), at_j)
        + direction_angle(_bounded_unit(_rotate(cam_from_world[i], -offset)), at_i)
    )
    return rotation_error, direction_error


def mean_over_edges(value: Tensor, weight: Tensor, graph: GraphTensors) -> Tensor:
    """The weighted mean of values (E,) over the edges of each graph, and of that the mean over the graphs."""
    graph_idx = graph.graph_idx[graph.edge_index[0]]
    total, of_weights = (mean_by_index(x, graph_idx, graph.num_graphs) for x in (weight * value, weight))
    return torch.mean(total / of_weights.clamp(min=_MIN_GRAPH_SIZE))


def _fix_gauge(centre: Tensor, graph_idx: Tensor, num_graphs: int) -> Tensor:
    """Centres (N, 3) moved and scaled so that each graph has mean 0 and mean distance 1 from it."""
    centred = centre - mean_by_index(centre, graph_idx, num_graphs)[graph_idx]
    distance = torch.linalg.vector_norm(centred, dim=-1)
    size = mean_by_index(distance, graph_idx, num_graphs).clamp(min=_MIN_GRAPH_SIZE)
    return centred / size[graph_idx, None]


def _bounded_unit(vector: Tensor) -> Tensor:
    """Unit vectors (..., 3), except that very short ones stay short so that gradients are bounded."""
    length: Tensor = torch.linalg.vector_norm(vector, dim=-1, keepdim=True)
    return vector / length.clamp(min=_SHORT_BASELINE)


def _rotate(rotation: Tensor, vector: Tensor) -> Tensor:
    return torch.einsum("nab,nb->na", rotation, vector)


def _rotate_back(rotation: Tensor, vector: Tensor) -> Tensor:
    return torch.einsum("nba,nb->na", rotation, vector)
