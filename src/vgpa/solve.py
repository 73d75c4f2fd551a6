"""The solver: a problem (images, keypoints, view graph, matches) to models, with every image accounted for.

view graph -> reliable edges -> connected groups, largest first; each of them:
averaged poses -> tracks -> bundle adjustment in rounds -> wrong cameras out -> lost images back in -> joined to an
earlier group's model if their points agree
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vgpa.averaging.average import Averaged, Evidence, average
from vgpa.averaging.positions import direction_residuals_deg
from vgpa.averaging.predict import predict_poses
from vgpa.colmap.cameras import match_rays
from vgpa.config import Config
from vgpa.errors import NoModelError
from vgpa.frontend.graph import EdgeFilter, select_reliable_edges
from vgpa.frontend.strongest import with_strongest_matches
from vgpa.frontend.tracks import build_tracks
from vgpa.frontend.witnesses import hear_witnesses
from vgpa.mapping.extend import extend_model
from vgpa.mapping.finish import adjust_and_finish
from vgpa.mapping.join import joint_poses, with_cameras_of
from vgpa.mapping.one_round import Given
from vgpa.mapping.reintegrate import reintegrate
from vgpa.mapping.safety import check_cameras
from vgpa.mapping.same_lens import untie_lenses
from vgpa.mapping.triangulate import PointFilter, triangulate
from vgpa.scene import Camera, ImageSet, ImageState, Poses, Problem, Reconstruction, ViewGraph
from vgpa.solution import Part, Solution, conclude
from vgpa.stages import StageLog

MAX_MATCHES = 300
"""About so many matches of an edge tell its direction as well as all of them, beside the errors of rotations."""
NUM_AT_EASE = 2000
"""Observations of longer tracks with which one of few images needs no tracks of two images."""
MIN_IMAGES_TO_TELL = 3
"""Images of a camera in a finished model from which on its intrinsics are known to later groups."""
MIN_GROUP_SIZE = 3
"""Images that a group beside the largest must have, and register, to get a model of its own."""

_STATE_OF_GIVEN = {ImageState.FAILED_AVERAGING: ImageState.NOT_PLACED}
"""Where a model was given, nothing was averaged."""


def solve(problem: Problem, config: Config, log: StageLog, edge_filter: EdgeFilter | None = None) -> Solution:
    """From a problem to models."""
    if config.graph.max_num_matches is not None:
        problem = with_strongest_matches(problem, config.graph.max_num_matches)
    heard = hear_witnesses(problem)
    reliable = select_reliable_edges(problem, config.graph, edge_filter, heard)
    unrefuted = problem.select_edges(~heard.is_refuted)
    parts: list[Part] = []
    spare: Part | None = None
    failure: NoModelError | None = None
    # Images in no model, and those of them that no group has failed with: the others may still join a model.
    is_left, is_open = np.ones((2, len(problem.images)), dtype=np.bool_)
    group, image_idx = largest_component(reliable)
    min_size = 2
    while len(image_idx) >= min_size:
        images, known = _with_known_cameras(problem.images, parts)
        left, group = (replace(p, images=images) for p in (_among(problem, is_left), group))
        held = replace(config, mapping=replace(config.mapping, held_cameras=config.mapping.held_cameras + known))
        try:
            part = _solve_group(left, group, image_idx, held, log)
        except NoModelError as error:
            part, failure = None, failure or error
        if part is not None and part.model.num_registered >= min(len(image_idx), MIN_GROUP_SIZE):
            parts = _add(parts, part, problem, unrefuted, config, log)
            is_left &= ~np.any([part.model.poses.is_known for part in parts], axis=0)
        else:
            # Two images that are left of more may be held together by chance: they count if nothing else comes out.
            if spare is None and part is not None and part.model.num_registered == 2:
                spare = part
            is_open[image_idx] = False
        group, image_idx = _largest_group(_among(reliable, is_left & is_open))
        min_size = MIN_GROUP_SIZE
    parts = parts or ([spare] if spare is not None else [])
    if not parts:
        raise failure or NoModelError("No camera of the model could be believed", "Add photos with more overlap")
    parts.sort(key=lambda part: -part.model.num_registered)
    return conclude(problem, tuple(parts), reliable.view_graph, log)


def register(problem: Problem, model: Reconstruction, config: Config, log: StageLog) -> Solution:
    """The given model of some of the problem's images, with those of the others that can be placed.

    No camera of the model moves or goes.
    """
    reliable = select_reliable_edges(problem, config.graph)
    graph, poses = reliable.view_graph, model.poses
    with log.stage("reintegrate images"):
        if model.num_points == 0:
            model = _with_points(reliable, model, config)
        extended = reintegrate(problem, model, config)
        checked = check_cameras(problem, extended, is_judged=~poses.is_known)
    model = checked.model
    is_suspicious = extended.poses.is_known & ~model.poses.is_known
    averaged = _as_averaged(graph, model, config)
    part = Part(checked, np.arange(len(problem.images)), graph, averaged, model.tracks, is_suspicious)
    solution = conclude(problem, (part,), graph, log)
    return replace(solution, states={name: _STATE_OF_GIVEN.get(s, s) for name, s in solution.states.items()})


def largest_component(problem: Problem) -> tuple[Problem, NDArray[np.int64]]:
    """The problem with only the edges of its largest connected component, and that component's images."""
    group, image_idx = _largest_group(problem)
    if len(image_idx) < 2:
        raise NoModelError(
            "No two images match well enough to be placed",
            "Take photos with more overlap, or lower the number of inliers an edge needs",
        )
    return group, image_idx


def evidence_of(problem: Problem) -> Evidence:
    """What directions are averaged from: some of the matches of every edge, with their rays."""
    thinned = problem.thin_matches(MAX_MATCHES)
    return Evidence(thinned.matches, match_rays(thinned))


def _with_known_cameras(images: ImageSet, parts: list[Part]) -> tuple[ImageSet, tuple[int, ...]]:
    """The images with the intrinsics that models of enough images have told already, and the cameras that have them."""
    known: dict[int, Camera] = {}
    for part in parts:
        model = part.model
        num_images = np.bincount(model.images.camera_idx[model.poses.is_known], minlength=len(images.cameras))
        for k in np.flatnonzero(num_images >= MIN_IMAGES_TO_TELL).tolist():
            known.setdefault(k, model.images.cameras[k])
    return images.with_cameras(tuple(known.get(k, camera) for k, camera in enumerate(images.cameras))), tuple(known)


def _solve_group(problem: Problem, group: Problem, image_idx: NDArray[np.int64], config: Config, log: StageLog) -> Part:
    """The model of one connected group.

    Args:
        problem: all verified pairs of images that are in no other model.
        group: the group's reliable edges; image_idx: its images.
    """
    with log.stage("average poses"):
        predicted, averaged = _average(group, image_idx, config)
    trusted = group.select_edges(averaged.is_edge_kept)
    with log.stage("build tracks"):
        # Two images have no tracks of three.
        graph = replace(config.graph, min_track_length=min(config.graph.min_track_length, len(image_idx)))
        tracks = build_tracks(trusted, graph)
        are_few = np.count_nonzero(problem.view_graph.degree) <= config.mapping.few_images
        more_tracks = build_tracks(trusted, graph, NUM_AT_EASE) if are_few else tracks
    poses = averaged.poses.scatter(image_idx, len(problem.images))
    given = Given(problem.images, problem.keypoints, tracks, config.mapping, config.num_threads)
    last_tracks = more_tracks if len(more_tracks) > len(tracks) else None
    checked, seen = adjust_and_finish(problem, given, poses, last_tracks, len(image_idx), config, log)
    model = checked.model
    checked = replace(checked, model=replace(model, images=untie_lenses(model.images, problem.images)))
    is_suspicious = seen & ~model.poses.is_known
    return Part(checked, image_idx, group.view_graph, averaged, more_tracks, is_suspicious, predicted)


def _add(
    parts: list[Part], part: Part, problem: Problem, unrefuted: Problem, config: Config, log: StageLog
) -> list[Part]:
    """The parts with one more: as images of an earlier part, if most of its images fit there, or else beside them.

    Args:
        problem: all verified pairs; unrefuted: those whose matches may tie two models.
    """
    if config.mapping.reintegrate is None:
        return [*parts, part]
    for k, earlier in enumerate(parts):
        with log.stage("join models"):
            poses = joint_poses(unrefuted, earlier.model, part.model, config.mapping.reintegrate)
            if poses is None:
                continue
            seeing = with_cameras_of(earlier.model, part.model)
            joined = check_cameras(problem, extend_model(problem, seeing, poses, config))
        if (joined.model.poses.is_known & part.model.poses.is_known).sum() > part.model.num_registered / 2:
            return [*parts[:k], replace(earlier, checked=joined), *parts[k + 1 :]]
    return [*parts, part]


def _average(problem: Problem, image_idx: NDArray[np.int64], config: Config) -> tuple[Poses, Averaged]:
    """The network's and the averaged poses of the group's images, which are numbered 0, 1, ... within it."""
    graph, _ = problem.view_graph.subgraph(image_idx)
    predicted = predict_poses(graph, config.averaging, config.device)
    averaged = average(graph, evidence_of(problem), config.averaging, lambda _: predicted, config.num_threads)
    return Poses.of_all(predicted), averaged


def _with_points(reliable: Problem, model: Reconstruction, config: Config) -> Reconstruction:
    """A model that has only poses, with the points of the reliable pairs that agree with them."""
    graph, poses = reliable.view_graph, model.poses
    agrees = graph.rotation_residuals_deg(poses.cam_from_world.rotation) <= config.averaging.max_rotation_error_deg
    trusted = reliable.select_edges(agrees & poses.is_known[graph.edge_index].all(axis=0))
    wanted = PointFilter(config.mapping.rounds[-1].max_error_px, config.mapping.min_angle_deg, min_num_views=2)
    tracks = build_tracks(trusted, config.graph)
    points = triangulate(model.images, model.poses, trusted.keypoints, tracks, wanted)
    grey = np.full((len(points.xyz), 3), 128, dtype=np.uint8)
    return Reconstruction(model.images, model.poses, points.xyz, points.tracks, points.error_px, grey)


def _as_averaged(graph: ViewGraph, model: Reconstruction, config: Config) -> Averaged:
    """A given model's poses in the place of averaged ones, with the residuals of the graph's edges."""
    rotation, centre = model.poses.cam_from_world.rotation, model.poses.cam_from_world.centre
    is_posed = model.poses.is_known[graph.edge_index].all(axis=0)
    rotation_deg = np.where(is_posed, graph.rotation_residuals_deg(rotation), 180.0)
    direction_deg = np.where(is_posed, direction_residuals_deg(graph, rotation, centre), 180.0)
    is_kept = rotation_deg <= config.averaging.max_rotation_error_deg
    return Averaged(model.poses, "model", is_kept, rotation_deg, direction_deg)


def _among(problem: Problem, is_in: NDArray[np.bool_]) -> Problem:
    """The problem with only the edges between images of the mask (num_images,)."""
    return problem.select_edges(np.asarray(is_in[problem.view_graph.edge_index].all(axis=0)))


def _largest_group(problem: Problem) -> tuple[Problem, NDArray[np.int64]]:
    """The problem with only the edges of its largest connected component, and that component's images."""
    label = problem.view_graph.component_labels()
    return problem.select_edges(label[problem.view_graph.edge_index[0]] == 0), np.flatnonzero(label == 0)
