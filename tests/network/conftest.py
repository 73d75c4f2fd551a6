"""Small view graphs with known poses, for the tests of the network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from vgpa.geometry.torch_rotation import exp_map, matrix_to_quaternion_wxyz
from vgpa.network.graph import GraphTensors


@dataclass(frozen=True)
class Graph:
    """Exact relative poses of random cameras; (quaternion_wxyz, translation) are the true cam_from_world."""

    measured: GraphTensors
    quaternion_wxyz: Tensor
    translation: Tensor


def make_disagreeing_pair() -> Graph:
    """Two cameras that disagree with their edge by 0.3 rad of rotation, and as much of direction at one end."""
    turn = exp_map(torch.tensor([0.0, 0.0, 0.3]))
    measured = GraphTensors(
        edge_index=torch.tensor([[0], [1]]),
        rotation=torch.eye(3)[None],
        direction=torch.tensor([[-1.0, 0.0, 0.0]]),
        has_direction=torch.tensor([True]),
        num_matches=torch.tensor([100]),
        graph_idx=torch.tensor([0, 0]),
    )
    return Graph(
        measured,
        matrix_to_quaternion_wxyz(torch.stack((torch.eye(3), turn))),
        torch.stack((torch.zeros(3), turn @ torch.tensor([-1.0, 0.0, 0.0]))),
    )


def make_random_graph(seed: int, num_cams: int = 9, dtype: torch.dtype = torch.float32) -> Graph:
    """A ring of cameras plus random chords; one edge in five has no direction."""
    generator = torch.Generator().manual_seed(seed)
    rotation = exp_map(torch.randn(num_cams, 3, generator=generator, dtype=dtype))
    translation = torch.randn(num_cams, 3, generator=generator, dtype=dtype)
    upper = torch.rand(num_cams, num_cams, generator=generator) < 0.4
    ring = torch.arange(num_cams)
    upper[ring[:-1], ring[1:]] = True
    upper[0, -1] = True
    i, j = upper.triu(1).nonzero(as_tuple=True)
    relative = rotation[j] @ rotation[i].mT
    offset = translation[j] - (relative @ translation[i, :, None]).squeeze(-1)
    direction = offset / torch.linalg.vector_norm(offset, dim=-1, keepdim=True)
    has_direction = torch.rand(len(i), generator=generator) > 0.2
    direction = torch.where(has_direction[:, None], direction, 0.0)
    quaternion_wxyz = matrix_to_quaternion_wxyz(rotation)
    num_matches = torch.randint(30, 500, (len(i),), generator=generator)
    graph_idx = torch.zeros(num_cams, dtype=torch.int64)
    measured = GraphTensors(torch.stack((i, j)), relative, direction, has_direction, num_matches, graph_idx)
    return Graph(measured, quaternion_wxyz, translation)


def relabel_cameras(graph: GraphTensors, seed: int) -> tuple[GraphTensors, Tensor]:
    """The same graph, cameras renumbered, edges shuffled and stored with i < j; and the new number of each camera."""
    generator = torch.Generator().manual_seed(seed)
    new_label = torch.randperm(graph.num_cams, generator=generator)
    order = torch.randperm(graph.num_edges, generator=generator)
    i, j = new_label[graph.edge_index[:, order]]
    rotation, direction = graph.rotation[order], graph.direction[order]
    swap = i > j
    reverse_direction = -(rotation.mT @ direction[:, :, None]).squeeze(-1)
    relabelled = replace(
        graph,
        edge_index=torch.stack((torch.where(swap, j, i), torch.where(swap, i, j))),
        rotation=torch.where(swap[:, None, None], rotation.mT, rotation),
        direction=torch.where(swap[:, None], reverse_direction, direction),
        has_direction=graph.has_direction[order],
        num_matches=graph.num_matches[order],
    )
    return relabelled, new_label


@pytest.fixture(scope="session")
def relabel() -> Callable[[GraphTensors, int], tuple[GraphTensors, Tensor]]:
    """The function relabel(graph, seed)."""
    return relabel_cameras


@pytest.fixture(scope="session")
def random_graph() -> Callable[..., Graph]:
    """The function random_graph(seed, num_cams=9, dtype=float32)."""
    return make_random_graph
