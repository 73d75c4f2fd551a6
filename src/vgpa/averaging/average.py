"""From a connected view graph to poses: rotations, then positions from two starts, and the better one by residual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vgpa.averaging.directions import refine_directions
from vgpa.averaging.positions import average_positions, direction_residuals_deg
from vgpa.averaging.rotation_search import search_rotations
from vgpa.averaging.spanning_tree import spanning_tree_poses
from vgpa.compute.beside import beside
from vgpa.config import AveragingConfig
from vgpa.errors import NoModelError
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, nearest_rotation
from vgpa.scene import Matches, Poses, ViewGraph

Rays = tuple[FloatArray, FloatArray]

SEED = 0
"""Of the search for rotations."""


@dataclass(frozen=True, eq=False)
class Averaged:
    """The poses of a view graph and how well its edges agree with them.

    Attributes:
        poses: cam_from_world of every image that could be placed.
        start: which start won, "network" or "spanning_tree".
        is_edge_kept: (num_edges,) edges that agree with the averaged rotations and stay in use.
        rotation_residual_deg, direction_residual_deg: (num_edges,) disagreement of every edge with the poses.
    """

    poses: Poses
    start: str
    is_edge_kept: NDArray[np.bool_]
    rotation_residual_deg: FloatArray
    direction_residual_deg: FloatArray


@dataclass(frozen=True, eq=False)
class Evidence:
    """The matches behind a view graph's edges, and their unit rays in camera i and camera j, (num_matches, 3) each."""

    matches: Matches
    rays: Rays


def average(
    graph: ViewGraph,
    evidence: Evidence,
    config: AveragingConfig,
    predict: Callable[[ViewGraph], Rigid],
    num_cores: int = 1,
) -> Averaged:
    """Poses of a connected view graph.

    Args:
        evidence: for directions under averaged rotations.
        predict: the network: a view graph to cam_from_world.
        num_cores: with two, positions are averaged from both starts at once.

    Raises:
        NoModelError: no pair shows a parallax.
    """
    predicted = predict(graph)
    if not config.robust:
        return _measure(graph, Poses.of_all(predicted), "network", np.ones(graph.num_edges, dtype=np.bool_))
    oriented = _orient(graph, evidence, config, predicted.rotation)
    if not oriented.part.has_direction.any():
        raise NoModelError(
            f"{len(oriented.placed)} photos that match were all taken from one place, so nothing tells distances",
            "Take photos from different places, with overlap",
        )
    tree = spanning_tree_poses(graph)
    with beside(lambda: _place(oriented, config, tree), num_cores) as from_tree:
        centres = {"network": _place(oriented, config, predicted), "spanning_tree": from_tree()}
    answers = [_posed(graph, oriented, name, centre) for name, centre in centres.items()]
    return min(answers, key=lambda answer: _cost(answer, config))


def average_from(
    graph: ViewGraph, evidence: Evidence | None, config: AveragingConfig, name: str, start: Rigid
) -> Averaged:
    """Robust averaging from one start. Without evidence the edges' directions stay as they were measured."""
    oriented = _orient(graph, evidence, config, start.rotation)
    return _posed(graph, oriented, name, _place(oriented, config, start))


@dataclass(frozen=True, eq=False)
class _Oriented:
    """Averaged rotations, and the part of the graph that agrees with them.

    Attributes:
        rotation: (num_images, 3, 3) world-to-camera.
        placed: images of the largest part that agreeing edges hold together.
        part: the graph of these images, with directions re-estimated under the rotations.
        is_edge_kept: (num_edges,) the edges of that part.
    """

    rotation: FloatArray
    placed: NDArray[np.int64]
    part: ViewGraph
    is_edge_kept: NDArray[np.bool_]


def _orient(graph: ViewGraph, evidence: Evidence | None, config: AveragingConfig, start: FloatArray) -> _Oriented:
    rotation = search_rotations(graph, start, config.rotation_sigma_deg, SEED)
    agrees = graph.rotation_residuals_deg(rotation) <= config.max_rotation_error_deg
    placed = np.flatnonzero(graph.select_edges(agrees).component_labels() == 0)
    part, inside = graph.select_edges(agrees).subgraph(placed)
    kept = agrees.copy()
    kept[agrees] = inside
    if evidence is not None:
        of_kept = np.repeat(kept, np.diff(evidence.matches.offsets))
        rays = evidence.rays[0][of_kept], evidence.rays[1][of_kept]
        part = refine_directions(part, evidence.matches.select_edges(kept), rays, rotation[placed])
    return _Oriented(rotation, placed, part, kept)


def _place(oriented: _Oriented, config: AveragingConfig, start: Rigid) -> FloatArray:
    """(num_placed, 3) centres of the placed images, averaged from a start of all images."""
    centre = turn_centres(start, oriented.rotation)[oriented.placed]
    return average_positions(oriented.part, oriented.rotation[oriented.placed], centre, config.direction_sigma_deg)


def _posed(graph: ViewGraph, oriented: _Oriented, start: str, centre: FloatArray) -> Averaged:
    poses = Poses.of_all(Rigid.from_centre(oriented.rotation[oriented.placed], centre))
    return _measure(graph, poses.scatter(oriented.placed, graph.num_images), start, oriented.is_edge_kept)


def turn_centres(start: Rigid, rotation: FloatArray) -> FloatArray:
    """Centres (n, 3) of the start in the world of the given rotations (n, 3, 3), which may be another one."""
    world_from_start = nearest_rotation(np.einsum("nji,njk->ik", rotation, start.rotation))
    return start.centre @ world_from_start.T


def _measure(graph: ViewGraph, poses: Poses, start: str, kept: NDArray[np.bool_]) -> Averaged:
    rotation, centre = poses.cam_from_world.rotation, poses.cam_from_world.centre
    is_posed = poses.is_known[graph.edge_index].all(axis=0)
    return Averaged(
        poses,
        start,
        kept,
        np.where(is_posed, graph.rotation_residuals_deg(rotation), 180.0),
        np.where(is_posed, direction_residuals_deg(graph, rotation, centre), 180.0),
    )


def _cost(answer: Averaged, config: AveragingConfig) -> float:
    """Sum over all edges of bounded (Geman-McClure) residuals: lower is better, without any ground truth."""
    total = 0.0
    for residual, sigma in (
        (answer.rotation_residual_deg, config.rotation_sigma_deg),
        (answer.direction_residual_deg, config.direction_sigma_deg),
    ):
        total += float(np.sum(residual**2 / (residual**2 + sigma**2)))
    return total
