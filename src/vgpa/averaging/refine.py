"""The default network's forward pass in plain numpy, because importing torch takes longer than solving a small scene.

The same function as `vgpa.network.refine.RefineNet`, which says what it does and is what is trained; a test holds the
two together. Geometry is computed in float64, the learned maps in float32.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vgpa.averaging.laplacian import block_matrix, diagonal_blocks, sum_at_nodes
from vgpa.averaging.spanning_tree import spanning_tree_poses
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, IntArray, direction_angle_rad, exp_map, log_map, normalize
from vgpa.scene import ViewGraph

Float32Array = NDArray[np.float32]
Weights = dict[str, Float32Array]

ANGLE_SCALES_RAD = (0.02, 0.1, 0.5)
LENGTH_RANGE = (1e-2, 1e2)
MAX_LOG_STRETCH = 1.5
ALONG_PART = 0.1
DAMPING = 1e-4
TINY = 1e-20
EDGES_PER_PIECE = 1 << 14
"""Directed edges that are thought about at once: few enough for a CPU's cache."""


def refine_poses(graph: ViewGraph, weights: Weights, num_steps: int, num_iterations: int) -> Rigid:
    """cam_from_world of a view graph's images by learned, repeated relaxation from its best-supported spanning tree."""
    thinker = _Thinker(graph, weights)
    start = spanning_tree_poses(graph)
    rotation, centre = start.rotation, start.centre
    for _ in range(num_steps):
        centre = _unit_size(graph, centre)
        seen = _compare(graph, rotation, centre)
        verdict = thinker.think(seen.feature)
        rotation, centre = _move(graph, seen, verdict, (rotation, centre), num_iterations)
    return Rigid.from_centre(rotation, centre)


@dataclass(frozen=True, eq=False)
class _Comparison:
    """Measured edges beside current poses: features (2E, F), rotation gaps (E, 3) and bounded lengths (E,)."""

    feature: Float32Array
    rotation_gap: FloatArray
    length: FloatArray


def _compare(graph: ViewGraph, rotation: FloatArray, centre: FloatArray) -> _Comparison:
    i, j = graph.edge_index
    has = graph.has_direction.astype(float)
    gap = log_map(np.swapaxes(rotation[j], -1, -2) @ graph.cam_j_from_cam_i.rotation @ rotation[i])
    direction = _world_direction(graph, rotation)
    offset = centre[j] - centre[i]
    distance = np.linalg.norm(offset, axis=-1)
    current = offset / np.maximum(distance, 1e-6)[:, None]
    length = np.clip(distance, *LENGTH_RANGE)
    turn, angle = np.linalg.norm(gap, axis=-1), direction_angle_rad(current, direction) * has
    log_degree = np.log(np.maximum(graph.degree, 1)) - 2.5
    shared = np.stack(
        [
            *(turn, *(turn / (turn + s) for s in ANGLE_SCALES_RAD)),
            *(angle, *(angle / (angle + s) for s in ANGLE_SCALES_RAD)),
            *(np.log(length), has, np.log(np.maximum(graph.num_inliers / 100, 0.1))),
        ],
        axis=-1,
    )
    ends = []
    for at, other, sign in ((i, j, 1.0), (j, i, -1.0)):
        vectors = [sign * np.einsum("eab,eb->ea", rotation[at], v) for v in (gap, direction, current)]
        miss = vectors[1] - vectors[2] * has[:, None]
        ends.append(np.column_stack([shared, *vectors, miss, log_degree[at], log_degree[other]]))
    return _Comparison(np.concatenate(ends).astype(np.float32), gap, length)


class _Thinker:
    """The learned part: memories of cameras (N, d) and directed edges (2E, d), and verdicts on edges."""

    def __init__(self, graph: ViewGraph, weights: Weights) -> None:
        self._weights = weights
        self._receiver, self._sender = (np.concatenate(ends) for ends in (graph.edge_index, graph.edge_index[::-1]))
        num_directed = 2 * graph.num_edges
        self._h = np.tile(weights["token"], (graph.num_images, 1))
        self._e = np.tile(weights["edge_token"], (num_directed, 1))
        self._degree = graph.degree
        self._by_receiver = np.argsort(self._receiver, kind="stable")

    def think(self, feature: Float32Array) -> FloatArray:
        """The verdict on every edge (E, 5), and new memories."""
        part_i, part_j = np.split(self._linear("from_cams", self._h), 2, axis=1)
        gated, verdict = np.empty_like(self._e), np.empty((len(self._e), 5), dtype=np.float32)
        for first in range(0, len(self._e), EDGES_PER_PIECE):
            piece = slice(first, first + EDGES_PER_PIECE)
            mixed = self._mlp("read_edge", feature[piece]) + self._linear("from_edge", self._e[piece])
            mixed += part_i[self._receiver[piece]] + part_j[self._sender[piece]]
            memory = self._e[piece] + self._linear("edge_update", np.maximum(mixed, 0))
            self._e[piece] = memory = self._layer_norm("edge_norm", memory)
            gated[piece] = _sigmoid(self._linear("gate", memory)) * memory
            verdict[piece] = self._mlp("judge", memory)
        self._h = self._gru("memory", self._linear("message", self._mean(gated)), self._h)
        num_edges = len(verdict) // 2
        return (verdict[:num_edges] + verdict[num_edges:]).astype(np.float64)

    def _mean(self, message: Float32Array) -> Float32Array:
        """The mean (N, d) of the messages (2E, d) to each camera; zero where there are none."""
        mean = np.zeros((len(self._degree), message.shape[1]), dtype=np.float32)
        is_told = self._degree > 0
        degree = self._degree[is_told]
        if len(degree):
            sums = np.add.reduceat(message[self._by_receiver], np.cumsum(degree) - degree)
            mean[is_told] = sums / degree[:, None]
        return mean

    def _linear(self, name: str, x: Float32Array) -> Float32Array:
        product = x @ self._weights[f"{name}.weight"].T
        bias = self._weights.get(f"{name}.bias")
        return product if bias is None else product + bias

    def _mlp(self, name: str, x: Float32Array) -> Float32Array:
        return self._linear(f"{name}.2", np.maximum(self._linear(f"{name}.0", x), 0))

    def _layer_norm(self, name: str, x: Float32Array) -> Float32Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = 1 / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
        return centred * scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]

    def _gru(self, name: str, x: Float32Array, h: Float32Array) -> Float32Array:
        from_x = x @ self._weights[f"{name}.weight_ih"].T + self._weights[f"{name}.bias_ih"]
        from_h = h @ self._weights[f"{name}.weight_hh"].T + self._weights[f"{name}.bias_hh"]
        (reset_x, update_x, new_x), (reset_h, update_h, new_h) = (
            np.split(part, 3, axis=1) for part in (from_x, from_h)
        )
        update = _sigmoid(update_x + update_h)
        new = np.tanh(new_x + _sigmoid(reset_x + reset_h) * new_h)
        return (1 - update) * new + update * h


def _move(
    graph: ViewGraph, seen: _Comparison, verdict: FloatArray, poses: tuple[FloatArray, FloatArray], num_iterations: int
) -> tuple[FloatArray, FloatArray]:
    """Rotations and centres relaxed under the verdict: first turned, then moved."""
    (rotation, centre), (i, j) = poses, graph.edge_index
    trust = _sigmoid(verdict[:, :3])
    eye = np.eye(3)
    turn = _relax(graph.edge_index, trust[:, 0, None, None] * eye, seen.rotation_gap, len(centre), num_iterations)
    rotation = rotation @ exp_map(turn)
    direction = _world_direction(graph, rotation)
    usable = graph.has_direction / seen.length
    across, along = usable * trust[:, 1], ALONG_PART * usable * trust[:, 2]
    outer = direction[:, :, None] * direction[:, None, :]
    block = across[:, None, None] * eye + (along - across)[:, None, None] * outer
    stretch = np.exp(MAX_LOG_STRETCH * np.tanh(verdict[:, 3]))
    gap = (seen.length * stretch)[:, None] * direction - (centre[j] - centre[i])
    return rotation, centre + _relax(graph.edge_index, block, gap, len(centre), num_iterations)


def _relax(edges: IntArray, block: FloatArray, target: FloatArray, num: int, num_iterations: int) -> FloatArray:
    """x (num, 3) that minimises the sum of (x_j - x_i - target)^T block (x_j - x_i - target), slightly damped."""
    rhs = sum_at_nodes(edges, np.einsum("eab,eb->ea", block, target), num)
    diagonal = diagonal_blocks(edges, block, num)
    scale = np.maximum(np.trace(diagonal, axis1=1, axis2=2) / 3, TINY)[:, None]
    matrix = block_matrix(edges, block, diagonal + DAMPING * scale[:, :, None] * np.eye(3))
    x, residual = np.zeros((num, 3)), rhs
    search = residual / scale
    rho = np.sum(residual * search)
    for _ in range(num_iterations):
        applied = (matrix @ search.ravel()).reshape(-1, 3)
        step = rho / max(float(np.sum(search * applied)), TINY)
        x, residual = x + step * search, residual - step * applied
        z = residual / scale
        rho, rho_before = np.sum(residual * z), rho
        search = z + rho / max(float(rho_before), TINY) * search
    return x


def _world_direction(graph: ViewGraph, rotation: FloatArray) -> FloatArray:
    """Unit directions (E, 3) from camera i to camera j as measured, halfway between what the two ends say."""
    i, j = graph.edge_index
    measured = graph.cam_j_from_cam_i.translation
    at_i = np.einsum("eba,eb->ea", graph.cam_j_from_cam_i.rotation, measured)
    both = np.einsum("eba,eb->ea", rotation[i], at_i) + np.einsum("eba,eb->ea", rotation[j], measured)
    return -normalize(both) * graph.has_direction[:, None]


def _unit_size(graph: ViewGraph, centre: FloatArray) -> FloatArray:
    """Centres scaled so that the edges have a geometric mean length of one."""
    length = np.linalg.norm(centre[graph.edge_index[1]] - centre[graph.edge_index[0]], axis=-1)
    return centre / np.exp(np.mean(np.log(np.maximum(length, 1e-6))))


def _sigmoid(x: NDArray[np.floating]) -> NDArray[np.floating]:
    return 0.5 * (1 + np.tanh(0.5 * x))
