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
from vgpa.network.layers import DirectedEdges, MessageLayer, make_mlp

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
        self.phi_e = make_edge_encoder(width)
        self.token = nn.Parameter(torch.randn(width))
        self.layers = nn.ModuleList(MessageLayer(width, config.dropout) for _ in range(config.num_layers))
        self.head = make_pose_head(width)

    def forward(self, graph: GraphTensors) -> tuple[Tensor, Tensor]:
        """cam_from_world of every camera: unit quaternion_wxyz (N, 4) and translation (N, 3)."""
        edges = directed_edges(graph)
        h = self.token.expand(graph.num_cams, -1)
        for layer in self.layers:
            h = layer(h, edges, self.phi_e)
        return decode_poses(self.head, h)


def make_edge_encoder(width: int) -> nn.Sequential:
    """phi_e: from (log R_ij, t_ij) to e_ij."""
    return make_mlp(6, width, width)


def make_pose_head(width: int) -> nn.Sequential:
    """The MLP of three layers from h_i to (t_i, q_i), started so that every pose is close to the identity."""
    head = make_mlp(width, width, width, 7)
    last = head[-1]
    assert isinstance(last, nn.Linear)
    nn.init.normal_(last.weight, std=_HEAD_INIT_STD)
    with torch.no_grad():
        last.bias.copy_(torch.tensor([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))
    return head


def decode_poses(head: nn.Sequential, h: Tensor) -> tuple[Tensor, Tensor]:
    """Unit quaternion_wxyz (N, 4) and translation (N, 3) from camera features (N, d)."""
    with torch.autocast(h.device.type, enabled=False):  # a pose needs more digits than bf16 has
        translation, quaternion_wxyz = head(h).split((3, 4), dim=-1)
        return functional.normalize(quaternion_wxyz, dim=-1), translation


def directed_edges(graph: GraphTensors) -> DirectedEdges:
    """All edges, then all edges reversed, with the inputs of phi_e (2E, 6): (log R, t), t = 0 if not measured.

    The reverse of cam_j_from_cam_i = (R, t) is (R^T, -R^T t), and log R^T = -log R.
    """
    i, j = graph.edge_index
    rotation_vector = log_map(graph.rotation)
    direction = torch.where(graph.has_direction[:, None], graph.direction, 0.0)
    # Not a matrix product, which would round to bf16 where that is used.
    reverse_direction = -(graph.rotation * direction[:, :, None]).sum(-2)
    forward = torch.cat((rotation_vector, direction), dim=-1)
    reverse = torch.cat((-rotation_vector, reverse_direction), dim=-1)
    return DirectedEdges(torch.cat((forward, reverse)), torch.cat((i, j)), torch.cat((j, i)))
