"""The paper's ablation variant: graph attention (GATv2) instead of mean messages, with measurements as nodes.

The graph becomes bipartite. Every measured edge (i, j) is a node, tied to its two cameras; the tie to camera i carries
e_ij and the tie to camera j carries e_ji, so an end knows which of the two it is. A measurement starts as the mean of
e_ij and e_ji, which is the same whichever way round the edge is stored. Each layer lets measurements attend to their
cameras, then cameras to their measurements. Edge encoder, shared token and pose head are those of `posenet`.

Touches nothing but torch and `vgpa.geometry`, and torch_geometric (the extra `ablation`) once a network is made.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from vgpa.errors import InputError
from vgpa.network.graph import GraphTensors
from vgpa.network.layers import make_mlp
from vgpa.network.posenet import decode_poses, directed_edges, make_edge_encoder, make_pose_head


@dataclass(frozen=True)
class AttentionConfig:
    """The size of the network; width, layers and dropout default to those of the paper's main network."""

    width: int = 256
    num_layers: int = 3
    dropout: float = 0.1
    num_heads: int = 4
    """Attention heads; they share the width, which must be a multiple of their number."""


class AttentionNet(nn.Module):
    """Pose averaging by attention between cameras and measurements: relative poses to `cam_from_world` poses."""

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()
        if config.width % config.num_heads:
            raise InputError(
                f"{config.num_heads} attention heads cannot share a width of {config.width}",
                "Choose a width that is a multiple of the number of heads",
            )
        self.config = config
        self.phi_e = make_edge_encoder(config.width)
        self.token = nn.Parameter(torch.randn(config.width))
        self.layers = nn.ModuleList(_AttentionLayer(config) for _ in range(config.num_layers))
        self.norm_out = nn.LayerNorm(config.width)
        self.head = make_pose_head(config.width)

    def forward(self, graph: GraphTensors) -> tuple[Tensor, Tensor]:
        """cam_from_world of every camera: unit quaternion_wxyz (N, 4) and translation (N, 3)."""
        edges = directed_edges(graph)
        e = self.phi_e(edges.feature)
        measurement_idx = torch.arange(graph.num_edges, device=e.device).repeat(2)
        cam_to_measurement = torch.stack((edges.receiver, measurement_idx))
        h = self.token.expand(graph.num_cams, -1)
        m = 0.5 * (e[: graph.num_edges] + e[graph.num_edges :])
        for layer in self.layers:
            h, m = layer(h, m, e, cam_to_measurement)
        return decode_poses(self.head, self.norm_out(h))


class _AttentionLayer(nn.Module):
    """m <- block(m | cameras), then h <- block(h | measurements)."""

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()
        self.of_measurements = _AttentionBlock(config)
        self.of_cams = _AttentionBlock(config)

    def forward(self, h: Tensor, m: Tensor, e: Tensor, cam_to_measurement: Tensor) -> tuple[Tensor, Tensor]:
        """Cameras h (N, d) and measurements m (E, d), tied by (2, 2E) index pairs with attributes e (2E, d)."""
        m = self.of_measurements(m, h, e, cam_to_measurement)
        h = self.of_cams(h, m, e, cam_to_measurement.flip(0))
        return h, m


class _AttentionBlock(nn.Module):
    """x <- x + Drop(GATv2(LN(x), LN(y), e)), then x <- x + Drop(MLP(LN(x))): x attends to its neighbours y."""

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()
        width = config.width
        self.norm_x = nn.LayerNorm(width)
        self.norm_y = nn.LayerNorm(width)
        self.attention = _make_attention(config)
        self.norm_mlp = nn.LayerNorm(width)
        self.mlp = make_mlp(width, width, width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, y: Tensor, e: Tensor, y_to_x: Tensor) -> Tensor:
        """Features x (n, d) updated from y (k, d) along the index pairs (2, t) from y to x with attributes e (t, d)."""
        x = x + self.dropout(self.attention((self.norm_y(y), self.norm_x(x)), y_to_x, e))
        x = x + self.dropout(self.mlp(self.norm_mlp(x)))
        return x


def _make_attention(config: AttentionConfig) -> nn.Module:
    """A GATv2 convolution between two kinds of nodes, whose heads together have the full width."""
    try:
        from torch_geometric.nn import GATv2Conv
    except ImportError as error:
        raise InputError(
            "The attention network needs torch_geometric, which is not installed",
            "Install it with pip install 'vgpa[ablation]'",
        ) from error
    width = config.width
    attention: nn.Module = GATv2Conv(
        (width, width), width // config.num_heads, config.num_heads, edge_dim=width, add_self_loops=False
    )
    return attention
