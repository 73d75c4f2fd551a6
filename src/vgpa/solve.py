"""The solver: a problem (images, keypoints, view graph, matches) to a model, with every image accounted for.

view graph -> reliable edges -> largest component -> averaged poses -> tracks -> bundle adjustment in rounds
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vgpa.averaging.average import Averaged, Evidence, Rays, average
from vgpa.averaging.predict import predict_poses
from vgpa.colmap.cameras import unproject
from vgpa.config import Config
from vgpa.errors import NoModelError
from vgpa.frontend.graph import EdgeFilter, select_reliable_edges
from vgpa.frontend.tracks import build_tracks
from vgpa.geometry.rigid import Rigid
from vgpa.mapping.reintegrate import find_lost_poses
from vgpa.mapping.rounds import build_model, extend_model
from vgpa.scene import ImageState, Poses, Problem, Reconstruction, Tracks, ViewGraph
from vgpa.stages import StageLog


@dataclass(frozen=True, eq=False)
class Solution:
    """A model and what it was made from.

    Attributes:
        problem: what was given.
        model: the reconstruction.
        states: what became of every image, by name.
        reliable_graph: the view graph of all images, with the edges that were trusted.
        solved_graph: the largest component of it, with `averaged`'s residuals on its edges.
        averaged: the averaged poses.
        tracks: the tracks that were triangulated.
    """

    problem: Problem
    model: Reconstruction
    states: dict[str, ImageState]
    reliable_graph: ViewGraph
    solved_graph: ViewGraph
    averaged: Averaged
    tracks: Tracks


def solve(problem: Problem, config: Config, log: StageLog, edge_filter: EdgeFilter | None = None) -> Solution:
    """From a problem to a model."""
    reliable = select_reliable_edges(problem, config.graph, edge_filter)
    component, image_idx = largest_component(reliable)
    with log.stage("average poses"):
        averaged = _average(component, image_idx, config)
    with log.stage("build tracks"):
        tracks = build_tracks(component.select_edges(averaged.is_edge_kept), config.graph)
    with log.stage("bundle adjust"):
        poses = averaged.poses.scatter(image_idx, len(problem.images))
        model = build_model(problem.images, poses, problem.keypoints, tracks, config.mapping, config.num_threads)
    if config.mapping.reintegrate is not None and model.num_registered < len(problem.images):
        with log.stage("reintegrate images"):
            model = _reintegrate(problem, component.select_edges(averaged.is_edge_kept), model, config)
    states = _explain(problem, averaged, image_idx, model)
    return Solution(problem, model, states, reliable.view_graph, component.view_graph, averaged, tracks)


def _reintegrate(problem: Problem, trusted: Problem, model: Reconstruction, config: Config) -> Reconstruction:
    """The model with every lost image that finds its place among the points, in passes until none does.

    Args:
        problem: all images and verified pairs.
        trusted: the pairs whose matches made the model.
    """
    assert config.mapping.reintegrate is not None
    while True:
        poses = find_lost_poses(problem, model, config.mapping.reintegrate)
        is_new = poses.is_known & ~model.poses.is_known
        if not is_new.any():
            return model
        tracks = build_tracks(_with_edges_of(problem, trusted, poses, is_new, config), config.graph)
        extended = extend_model(model, poses, problem.keypoints, tracks, config.mapping, config.num_threads)
        if extended.num_registered <= model.num_registered:
            return model
        model = extended


def _with_edges_of(
    problem: Problem, trusted: Problem, poses: Poses, is_new: NDArray[np.bool_], config: Config
) -> Problem:
    """The trusted pairs, and those of the new images that agree with their poses."""
    edges = problem.view_graph.edge_index
    pair = edges[0] * len(problem.images) + edges[1]
    known = trusted.view_graph.edge_index[0] * len(problem.images) + trusted.view_graph.edge_index[1]
    residual = problem.view_graph.rotation_residuals_deg(poses.cam_from_world.rotation)
    agrees = poses.is_known[edges].all(axis=0) & (residual <= config.averaging.max_rotation_error_deg)
    return problem.select_edges(np.isin(pair, known) | (is_new[edges].any(axis=0) & agrees))


def largest_component(problem: Problem) -> tuple[Problem, NDArray[np.int64]]:
    """The problem with only the edges of its largest connected component, and that component's images."""
    label = problem.view_graph.component_labels()
    image_idx = np.flatnonzero(label == 0)
    if len(image_idx) < 2:
        raise NoModelError(
            "No two images match well enough to be placed",
            "Take photos with more overlap, or lower the number of inliers an edge needs",
        )
    return problem.select_edges(label[problem.view_graph.edge_index[0]] == 0), image_idx


def _average(problem: Problem, image_idx: NDArray[np.int64], config: Config) -> Averaged:
    """Poses of the component's images, which are numbered 0, 1, ... within it."""
    graph, _ = problem.view_graph.subgraph(image_idx)

    def predict(view_graph: ViewGraph) -> Rigid:
        return predict_poses(view_graph, config.averaging, config.device)

    return average(graph, Evidence(problem.matches, match_rays(problem)), config.averaging, predict)


def match_rays(problem: Problem) -> Rays:
    """Unit rays of every match in the cameras of its two images."""
    matches, keypoints = problem.matches, problem.keypoints
    ends = problem.view_graph.edge_index[:, matches.edge_idx]
    first, second = (
        unproject(problem.images, end, keypoints.xy_px[keypoints.offsets[end] + matches.keypoint_idx[:, side]])
        for side, end in enumerate(ends)
    )
    return first, second


def _explain(
    everything: Problem, averaged: Averaged, image_idx: NDArray[np.int64], model: Reconstruction
) -> dict[str, ImageState]:
    """What became of every image of the database: registered, or the first stage that lost it for good."""
    num = len(everything.images)
    in_component = np.zeros(num, dtype=np.bool_)
    in_component[image_idx] = True
    placed = averaged.poses.scatter(image_idx, num).is_known
    fates = (
        (model.poses.is_known, ImageState.REGISTERED),
        (everything.keypoints.num_of() == 0, ImageState.NO_FEATURES),
        (everything.view_graph.degree == 0, ImageState.NO_MATCHES),
        (~in_component, ImageState.NOT_IN_COMPONENT),
        (~placed, ImageState.FAILED_AVERAGING),
    )
    return {
        name: next((state for mask, state in fates if mask[k]), ImageState.DROPPED_IN_BA)
        for k, name in enumerate(everything.images.names)
    }
