"""The paper's network: a view graph in, one pose per camera out, in a single forward pass.

Relative poses on the edges are encoded (phi_e), passed around the graph by a few message layers that
start from one learnable token shared by all cameras, and decoded into a pose per camera. Relabelling
the cameras relabels the answer and changes nothing else.

Touches nothing but torch and `vgpa.geometry`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from vgpa.geometry.torch_rotation import log_map
from vgpa.network.graph import GraphTensors
from vgpa.network.layers import MessageLayer, make_mlp

_HEAD_INIT_STD = 0.01


@dataclass(frozen=True)
class PoseNetConfig:
    """The size of the network; the defaults are the paper's (3 layers of width 256)."""

    width: int = 256
    num_layers: int = 3
    dropout: float = 0.1


class PoseNet(nn.Module):
    """Permutation-equivariant pose averaging: relative poses to `cam_from_world` poses."""

    def __init__(self, config: PoseNetConfig) -> None:
        super().__init__()
        width = config.width
        self.config = config
        self.phi_e = make_mlp(6, width, width)
        self.token = nn.Parameter(torch.randn(width))
        self.layers = nn.ModuleList(MessageLayer(width, config.dropout) for _ in range(config.num_layers))
        self.head = make_mlp(width, width, width, 7)
        self._start_near_identity()

    def forward(self, graph: GraphTensors) -> tuple[Tensor, Tensor]:
        """cam_from_world of every camera: unit quaternion_wxyz (N, 4) and translation (N, 3)."""
        # Where there is no direction a zero vector is fed.
        measured = torch.where(graph.has_direction[:, None], graph.direction, 0.0)
        e = self.phi_e(both_ways_feature(graph.rotation, measured))
        receiver = torch.cat((graph.edge_index[0], graph.edge_index[1]))
        sender = torch.cat((graph.edge_index[1], graph.edge_index[0]))
        h = self.token.expand(graph.num_cams, -1)
        for layer in self.layers:
            h = layer(h, e, receiver, sender)
        translation, quaternion_wxyz = self.head(h).split((3, 4), dim=-1)
        return functional.normalize(quaternion_wxyz, dim=-1), translation

    def _start_near_identity(self) -> None:
        last = self.head[-1]
        assert isinstance(last, nn.Linear)
        nn.init.normal_(last.weight, std=_HEAD_INIT_STD)
        with torch.no_grad():
            last.bias.copy_(torch.tensor([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))


def both_ways_feature(rotation: Tensor, direction: Tensor) -> Tensor:
    """Inputs of phi_e (2E, 6): (log R, t) of every edge, then of every edge reversed.

    The reverse of cam_j_from_cam_i = (R, t) is (R^T, -R^T t), and log R^T = -log R.
    """
    rotation_vector = log_map(rotation)
    reverse_direction = -torch.einsum("eba,eb->ea", rotation, direction)
    forward = torch.cat((rotation_vector, direction), dim=-1)
    reverse = torch.cat((-rotation_vector, reverse_direction), dim=-1)
    return torch.cat((forward, reverse))
