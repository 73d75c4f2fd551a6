"""A fine-tuning objective that wrong edges do not bend, and that carries corrections through a whole graph.

On one graph the paper's loss (`losses`) has two weaknesses. Wrong edges pull as hard as right ones, and where a graph
is sparse the network learns to please them. And its gradient tells each camera of its own edges alone, so that a long
street straightens slowly. Two terms take its place:

- `RobustLoss.bounded`: every angle a counts as s a^2 / (a^2 + s^2) (Geman-McClure), more for edges with many matches
  that close their triplets. A wide scale s forgives little, a narrow one ignores what is far off.
- `RobustLoss.pull`: the squared distance to the network's own poses after one reweighted least-squares step of that
  loss, taken by all cameras at once (`relax`).

No ground truth. Touches nothing but torch, numpy and `vgpa.geometry`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from vgpa.geometry.torch_rotation import (
    direction_angle,
    exp_map,
    log_map,
    matrix_to_quaternion_wxyz,
    rotation_angle,
)
from vgpa.geometry.triplets import closing_part
from vgpa.network.graph import GraphTensors
from vgpa.network.losses import edge_angles, mean_over_edges, world_frame
from vgpa.network.refine import world_direction
from vgpa.network.relax import EdgeWeights, Pattern, relax

_TYPICAL_MATCHES = 30.0
_MIN_CLOSING_PART = 0.05
"""An edge that closes no triplet at all is unlikely, not impossible."""
_NUM_ITERATIONS = 30
_ALONG_PART = 0.1
"""How much an edge asks for its length to stay as it is, over how much it asks for its direction."""
_MIN_LENGTH, _MIN_ALONG = 0.02, 0.05
"""Of edges, in units of the graph's size: no weight explodes, and no edge is left pointing backwards."""


class RobustLoss:
    """The two terms for poses of one graph: quaternion_wxyz (N, 4) and translation (N, 3), predicted cam_from_world."""

    def __init__(self, graph: GraphTensors) -> None:
        self._graph = graph
        self._pattern = Pattern.of(graph)
        self._weight = edge_weights(graph)

    def bounded(self, quaternion_wxyz: Tensor, translation: Tensor, scale_rad: float) -> Tensor:
        """Mean bounded rotation angle plus mean bounded direction angle over the edges, less than 2 `scale_rad`."""
        angles_rad = edge_angles(*world_frame(quaternion_wxyz, translation, self._graph), self._graph)
        rotation_loss, direction_loss = (scale_rad * a.square() / (a.square() + scale_rad**2) for a in angles_rad)
        seen = self._weight * self._graph.has_direction
        of_rotations = mean_over_edges(rotation_loss, self._weight, self._graph)
        return of_rotations + mean_over_edges(direction_loss, seen, self._graph)

    def pull(self, quaternion_wxyz: Tensor, translation: Tensor, scale_rad: float) -> Tensor:
        """Mean squared angle plus mean squared distance, in units of the graph's size, to the relaxed poses."""
        cam_from_world, centre = world_frame(quaternion_wxyz, translation, self._graph)
        with torch.no_grad():
            turn = self._relax_rotations(cam_from_world, scale_rad)
            shift = self._relax_centres(cam_from_world, centre, scale_rad)
        turned_rad = rotation_angle(cam_from_world, cam_from_world.detach() @ exp_map(turn))
        return turned_rad.square().mean() + (centre - (centre.detach() + shift)).square().sum(-1).mean()

    def _relax_rotations(self, cam_from_world: Tensor, scale_rad: float) -> Tensor:
        """Rotation vectors w (N, 3) from R_i to R_i exp(w_i); to first order an edge asks for w_j - w_i = gap."""
        i, j = self._graph.edge_index
        gap = log_map(cam_from_world[j].mT @ self._graph.rotation @ cam_from_world[i])
        belief = self._weight * _belief(torch.linalg.vector_norm(gap, dim=-1), scale_rad)
        return relax(self._pattern, EdgeWeights(belief), gap, _NUM_ITERATIONS)

    def _relax_centres(self, cam_from_world: Tensor, centre: Tensor, scale_rad: float) -> Tensor:
        """Shifts (N, 3) of the centres towards what the edges ask for; lengths they ask for little."""
        i, j = self._graph.edge_index
        direction = world_direction(self._graph, cam_from_world)
        baseline = centre[j] - centre[i]
        length = torch.linalg.vector_norm(baseline, dim=-1).clamp(min=_MIN_LENGTH)
        belief = self._weight * _belief(direction_angle(baseline / length[:, None], direction), scale_rad)
        across = self._graph.has_direction * belief / length.square()
        along = (baseline * direction).sum(-1).clamp(min=_MIN_ALONG)
        weights = EdgeWeights(across, (_ALONG_PART - 1) * across, direction)
        return relax(self._pattern, weights, along[:, None] * direction - baseline, _NUM_ITERATIONS)


def edge_weights(graph: GraphTensors) -> Tensor:
    """(E,) how much an edge counts: more with more matches, though less and less so, and where it closes triplets."""
    edges = graph.edge_index.cpu().numpy()
    quaternion_wxyz = matrix_to_quaternion_wxyz(graph.rotation).double().cpu().numpy()
    closing = torch.from_numpy(closing_part(edges, quaternion_wxyz, graph.num_cams)).to(graph.rotation)
    return torch.log1p(graph.num_matches / _TYPICAL_MATCHES) * (closing + _MIN_CLOSING_PART)


def _belief(angle_rad: Tensor, scale_rad: float) -> Tensor:
    """(E,) Geman-McClure weights of least squares."""
    return (scale_rad**2 / (scale_rad**2 + angle_rad.square())).square()
