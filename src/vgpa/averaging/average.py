"""From a connected view graph to poses: two starts, robust averaging of each, and the better answer by residual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vgpa.averaging.directions import refine_directions
from vgpa.averaging.positions import average_positions, direction_residuals_deg
from vgpa.averaging.rotations import average_rotations
from vgpa.averaging.spanning_tree import spanning_tree_poses
from vgpa.config import AveragingConfig
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray
from vgpa.scene import Matches, Poses, ViewGraph

Rays = tuple[FloatArray, FloatArray]


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


def average(
    graph: ViewGraph,
    matches: Matches,
    rays: Rays,
    config: AveragingConfig,
    predict: Callable[[ViewGraph], Rigid],
) -> Averaged:
    """Poses of a connected view graph.

    Args:
        matches, rays: the edges' matches and their unit rays in camera i and j, for directions under averaged
            rotations.
        predict: the network: a view graph to cam_from_world.
    """
    predicted = predict(graph)
    if not config.robust:
        return _measure(graph, Poses.of_all(predicted), "network", np.ones(graph.num_edges, dtype=np.bool_))
    starts = {"network": predicted, "spanning_tree": spanning_tree_poses(graph)}
    answers = [_average_from(graph, matches, rays, config, name, start) for name, start in starts.items()]
    return min(answers, key=lambda answer: _cost(answer, config))


def _average_from(
    graph: ViewGraph, matches: Matches, rays: Rays, config: AveragingConfig, name: str, start: Rigid
) -> Averaged:
    rotation = average_rotations(graph, start.rotation, config.rotation_sigma_deg)
    agrees = graph.rotation_residuals_deg(rotation) <= config.max_rotation_error_deg
    labels = graph.select_edges(agrees).component_labels()
    placed = np.flatnonzero(labels == 0)
    part, inside = graph.select_edges(agrees).subgraph(placed)
    kept = agrees.copy()
    kept[agrees] = inside
    of_kept = np.repeat(kept, np.diff(matches.offsets))
    refined = refine_directions(
        part, matches.select_edges(kept), (rays[0][of_kept], rays[1][of_kept]), rotation[placed]
    )
    centre = average_positions(refined, rotation[placed], start.centre[placed], config.direction_sigma_deg)
    poses = Poses.of_all(Rigid.from_centre(rotation[placed], centre)).scatter(placed, graph.num_images)
    return _measure(graph, poses, name, kept)


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
