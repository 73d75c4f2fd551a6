"""What every network and every loss reads: the measured edges of one view graph, or of several side by side.

Touches nothing but torch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class GraphTensors:
    """View graphs as one disjoint union of N cameras and E undirected edges (i, j), i < j, each edge once.

    Attributes:
        edge_index: (2, E) int64.
        rotation, direction: (E, 3, 3) and unit (E, 3), the measured cam_j_from_cam_i.
        has_direction: (E,) bool; where False, `direction` says nothing.
        num_matches: (E,) verified matches: the evidence behind an edge.
        graph_idx: (N,) int64, the graph of each camera, rising from 0.
        num_graphs: how many graphs there are.
    """

    edge_index: Tensor
    rotation: Tensor
    direction: Tensor
    has_direction: Tensor
    num_matches: Tensor
    graph_idx: Tensor
    num_graphs: int = 1

    @property
    def num_cams(self) -> int:
        """Number of cameras in all graphs together."""
        return len(self.graph_idx)

    @property
    def num_edges(self) -> int:
        """Number of undirected edges in all graphs together."""
        return self.edge_index.shape[1]

    def to(self, device: torch.device | str) -> GraphTensors:
        """The same graphs on another device."""
        moved = {name: getattr(self, name).to(device) for name in _TENSOR_NAMES}
        return replace(self, **moved)

    @staticmethod
    def join(graphs: list[GraphTensors]) -> GraphTensors:
        """Several unions as one."""
        measured = {name: torch.cat([getattr(graph, name) for graph in graphs]) for name in _PER_EDGE_NAMES}
        edges, labels, num_cams, num_graphs = [], [], 0, 0
        for graph in graphs:
            edges.append(graph.edge_index + num_cams)
            labels.append(graph.graph_idx + num_graphs)
            num_cams, num_graphs = num_cams + graph.num_cams, num_graphs + graph.num_graphs
        return GraphTensors(torch.cat(edges, dim=1), **measured, graph_idx=torch.cat(labels), num_graphs=num_graphs)


_PER_EDGE_NAMES = ("rotation", "direction", "has_direction", "num_matches")
_TENSOR_NAMES = ("edge_index", *_PER_EDGE_NAMES, "graph_idx")
