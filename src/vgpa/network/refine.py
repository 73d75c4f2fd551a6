"""The default network: it starts from a spanning tree and learns which edges to believe.

Poses are refined in a few steps with shared weights. In each step every edge compares what it measured with the
current poses, in the frames of its two cameras, so that nothing depends on the choice of world frame; a memory per
edge and per camera, exchanged along the edges, turns this into five numbers per edge: trust in its rotation, in its
direction along and across, the change of its length, and whether it is right at all. Under these weights all cameras
are then moved at once (`relax`). What is learned is the judgement; the geometry is exact.

Touches nothing but torch, numpy and `vgpa.geometry`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from vgpa.geometry.spanning_tree import grow_forest
from vgpa.geometry.torch_rotation import direction_angle, exp_map, log_map, matrix_to_quaternion_wxyz
from vgpa.geometry.triplets import closing_part
from vgpa.network.graph import GraphTensors
from vgpa.network.layers import EDGES_PER_CHUNK, make_mlp, mean_by_index
from vgpa.network.relax import EdgeWeights, Pattern, relax

_NUM_FEATURES = 25
_ANGLE_SCALES_RAD = (0.02, 0.1, 0.5)
_LENGTH_RANGE = (1e-2, 1e2)
_MAX_LOG_STRETCH = 1.5


@dataclass(frozen=True)
class RefineConfig:
    """The size of the network."""

    width: int = 64
    num_steps: int = 8
    num_iterations: int = 24
    """Conjugate gradient iterations of each relaxation."""


@dataclass(frozen=True)
class RefineStep:
    """The poses after a step, and what was thought of the edges on the way."""

    cam_from_world: Tensor  # (N, 3, 3)
    centre: Tensor  # (N, 3)
    right_logit: Tensor  # (E,) how likely the edge is right


class RefineNet(nn.Module):
    """View graph to poses by learned, repeated relaxation."""

    def __init__(self, config: RefineConfig) -> None:
        super().__init__()
        width = config.width
        self.config = config
        self.token = nn.Parameter(torch.zeros(width))
        self.edge_token = nn.Parameter(torch.zeros(width))
        self.read_edge = make_mlp(_NUM_FEATURES, width, width)
        self.from_edge = nn.Linear(width, width, bias=False)
        self.from_cams = nn.Linear(width, 2 * width)
        self.edge_norm = nn.LayerNorm(width)
        self.edge_update = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)
        self.message = nn.Linear(width, width)
        self.memory = nn.GRUCell(width, width)
        self.judge = make_mlp(width, width, 5)
        with torch.no_grad():
            last = self.judge[-1]
            assert isinstance(last, nn.Linear)
            last.weight.mul_(0.1)
            last.bias.zero_()

    def forward(self, graph: GraphTensors) -> tuple[Tensor, Tensor]:
        """cam_from_world of every camera: unit quaternion_wxyz (N, 4) and translation (N, 3)."""
        last = self.unroll(graph)[-1]
        translation = -torch.einsum("nab,nb->na", last.cam_from_world, last.centre)
        return matrix_to_quaternion_wxyz(last.cam_from_world), translation

    def unroll(self, graph: GraphTensors) -> list[RefineStep]:
        """The poses after every step."""
        h = self.token.expand(graph.num_cams, -1)
        e = self.edge_token.expand(2 * graph.num_edges, -1)
        cam_from_world, centre = tree_start(graph)
        pattern = Pattern.of(graph)
        steps = []
        for _ in range(self.config.num_steps):
            with torch.no_grad():
                centre = unit_size(graph, centre)
                seen = compare(graph, cam_from_world, centre)
            h, e, verdict = self._think(seen.feature, h, e, graph.edge_index)
            cam_from_world, centre = self._move(pattern, seen, verdict, cam_from_world.detach(), centre)
            steps.append(RefineStep(cam_from_world, centre, verdict[:, 4]))
        return steps

    def _think(self, feature: Tensor, h: Tensor, e: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """New memories of cameras (N, d) and directed edges (2E, d), and the verdict on every edge (E, 5)."""
        receiver, sender = torch.cat((edge_index, edge_index.flip(0)), dim=1)
        part_i, part_j = self.from_cams(h).chunk(2, dim=-1)
        total = torch.zeros_like(part_i)
        memories, verdicts = [], []
        # In pieces small enough for a CPU's cache; on a GPU there are fewer of them.
        num_per_piece = EDGES_PER_CHUNK[h.device.type]
        for piece in zip(*(torch.split(x, num_per_piece) for x in (feature, e, receiver, sender)), strict=True):
            seen, memory, at, other = piece
            mixed = self.read_edge(seen) + self.from_edge(memory)
            mixed = mixed + part_i.index_select(0, at) + part_j.index_select(0, other)
            memory = self.edge_norm(memory + self.edge_update(functional.relu(mixed)))
            total = total.index_add(0, at, torch.sigmoid(self.gate(memory)) * memory)
            memories.append(memory)
            verdicts.append(self.judge(memory))
        degree = torch.bincount(receiver, minlength=len(h)).clamp(min=1)
        h = self.memory(self.message(total / degree[:, None]), h)
        first, second = torch.cat(verdicts).chunk(2)
        return h, torch.cat(memories), first + second

    def _move(
        self, pattern: Pattern, seen: Comparison, verdict: Tensor, cam_from_world: Tensor, centre: Tensor
    ) -> tuple[Tensor, Tensor]:
        graph, trust = pattern.graph, torch.sigmoid(verdict[:, :3])
        turn = relax(pattern, EdgeWeights(trust[:, 0]), seen.rotation_gap, self.config.num_iterations)
        cam_from_world = cam_from_world @ exp_map(turn)

        with torch.no_grad():
            direction = world_direction(graph, cam_from_world)
        usable = graph.has_direction / seen.length
        across, along = usable * trust[:, 1], 0.1 * usable * trust[:, 2]
        weights = EdgeWeights(across, along - across, direction)
        stretch = torch.exp(_MAX_LOG_STRETCH * torch.tanh(verdict[:, 3]))
        i, j = graph.edge_index
        gap = (seen.length * stretch)[:, None] * direction - (centre[j] - centre[i])
        return cam_from_world, centre + relax(pattern, weights, gap, self.config.num_iterations)


@dataclass(frozen=True)
class Comparison:
    """Measured edges beside current poses."""

    feature: Tensor  # (2E, F) as seen from both ends
    rotation_gap: Tensor  # (E, 3) log(R_j^T R_ij R_i), in the world
    direction: Tensor  # (E, 3) measured direction from camera i to camera j, in the world
    length: Tensor  # (E,) current distance, bounded


@torch.no_grad()
def tree_start(graph: GraphTensors) -> tuple[Tensor, Tensor]:
    """cam_from_world (N, 3, 3) and centres (N, 3) by motions chained along the best-supported spanning trees."""
    edges = graph.edge_index.cpu().numpy()
    quaternion_wxyz = matrix_to_quaternion_wxyz(graph.rotation).double().cpu().numpy()
    support = graph.num_matches.cpu().numpy() * closing_part(edges, quaternion_wxyz, graph.num_cams)
    forest = grow_forest(edges, -support, graph.num_cams)
    device = graph.edge_index.device
    parent, edge = (torch.tensor(x, device=device) for x in (forest.parent, forest.edge_idx))
    is_root, node = parent < 0, torch.arange(graph.num_cams, device=device)
    # An edge is stored from i to j; a child at i is reached by its inverse.
    is_forward = graph.edge_index[1, edge] == node
    measured = graph.rotation[edge], torch.where(graph.has_direction[edge, None], graph.direction[edge], 0.0)
    rotation = torch.where(is_forward[:, None, None], measured[0], measured[0].mT)
    step = torch.where(is_forward[:, None], measured[1], -torch.einsum("nba,nb->na", *measured))
    rotation = torch.where(is_root[:, None, None], torch.eye(3, device=device), rotation)
    step = torch.where(is_root[:, None], 0.0, step)
    above = torch.where(is_root, node, parent)
    # Every pass looks twice as far up the tree.
    for _ in range(int(forest.level.max()).bit_length()):
        step = torch.einsum("nab,nb->na", rotation, step[above]) + step
        rotation = rotation @ rotation[above]
        above = above[above]
    return rotation, -torch.einsum("nba,nb->na", rotation, step)


def world_direction(graph: GraphTensors, cam_from_world: Tensor) -> Tensor:
    """Unit directions (E, 3) from camera i to camera j as measured, halfway between what the two ends say.

    Camera j says -R_j^T t_ij and camera i says -R_i^T R_ij^T t_ij. Zero where there is no direction.
    """
    measured = torch.where(graph.has_direction[:, None], graph.direction, 0.0)
    i, j = graph.edge_index
    at_i = torch.einsum("eba,eb->ea", graph.rotation, measured)
    return -functional.normalize(
        torch.einsum("eba,eb->ea", cam_from_world[i], at_i) + torch.einsum("eba,eb->ea", cam_from_world[j], measured),
        dim=-1,
    )


def unit_size(graph: GraphTensors, centre: Tensor) -> Tensor:
    """Centres scaled so that each graph's edges have a geometric mean length of one."""
    i, j = graph.edge_index
    length: Tensor = torch.linalg.vector_norm(centre[j] - centre[i], dim=-1)
    log_size = mean_by_index(length.clamp(min=1e-6).log(), graph.graph_idx[i], graph.num_graphs)
    return centre / log_size.exp()[graph.graph_idx, None]


def compare(graph: GraphTensors, cam_from_world: Tensor, centre: Tensor) -> Comparison:
    """What every edge says of the current poses."""
    i, j = graph.edge_index
    rotation_gap = log_map(cam_from_world[j].mT @ graph.rotation @ cam_from_world[i])
    direction = world_direction(graph, cam_from_world)
    offset = centre[j] - centre[i]
    length: Tensor = torch.linalg.vector_norm(offset, dim=-1)
    current = offset / length.clamp(min=1e-6)[:, None]
    length = length.clamp(*_LENGTH_RANGE)
    rotation_angle: Tensor = torch.linalg.vector_norm(rotation_gap, dim=-1)
    angle = direction_angle(current, direction) * graph.has_direction
    degree = torch.bincount(graph.edge_index.flatten(), minlength=graph.num_cams).clamp(min=1).log()
    shared = torch.stack(
        (
            rotation_angle,
            *(rotation_angle / (rotation_angle + s) for s in _ANGLE_SCALES_RAD),
            angle,
            *(angle / (angle + s) for s in _ANGLE_SCALES_RAD),
            length.log(),
            graph.has_direction.float(),
            (graph.num_matches / 100).clamp(min=0.1).log(),
        ),
        dim=-1,
    )
    ends = []
    for at, other, sign in ((i, j, 1.0), (j, i, -1.0)):
        vectors = [torch.einsum("eab,eb->ea", cam_from_world[at], sign * v) for v in (rotation_gap, direction, current)]
        miss = vectors[1] - vectors[2] * graph.has_direction[:, None]
        degrees = torch.stack((degree[at] - 2.5, degree[other] - 2.5), dim=-1)
        ends.append(torch.cat((shared, *vectors, miss, degrees), dim=-1))
    return Comparison(torch.cat(ends), rotation_gap, direction, length)
