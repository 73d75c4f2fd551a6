"""The whole story, in order: photos -> database -> view graph -> poses -> model -> report.

`reconstruct` starts from a folder of photos, `map_database` from a COLMAP database; the second is the second half
of the first. Each arrow is one call. What a step has computed is on disk before the next one starts.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vgpa import config as presets
from vgpa.averaging.average import Averaged, Rays, average
from vgpa.averaging.predict import predict_poses
from vgpa.colmap.cameras import check_params, unproject
from vgpa.colmap.database import read_problem
from vgpa.colmap.model import write_model
from vgpa.colmap.silence import logging_to
from vgpa.config import Config
from vgpa.errors import NoModelError
from vgpa.frontend.build import DATABASE, build_database
from vgpa.frontend.graph import select_reliable_edges
from vgpa.frontend.photos import list_photos
from vgpa.frontend.shards import Share, Step, compute_share, parse_shard
from vgpa.frontend.tracks import build_tracks
from vgpa.geometry.rigid import Rigid
from vgpa.mapping.colors import colorize
from vgpa.mapping.rounds import build_model
from vgpa.output import open_output
from vgpa.report.page import write_page
from vgpa.report.ply import write_ply
from vgpa.report.summary import summarize, write_json
from vgpa.scene import ImageState, Problem, Reconstruction, ViewGraph
from vgpa.stages import StageLog


@dataclass(frozen=True, eq=False)
class Result:
    """What a run leaves behind.

    Attributes:
        reconstruction: the model, as written to `folder/sparse/0`.
        states: what became of every image, by name.
        summary: what `folder/report.json` holds.
        folder: the output folder.
    """

    reconstruction: Reconstruction
    states: dict[str, ImageState]
    summary: dict[str, Any]
    folder: Path


def reconstruct(images: Path, output: Path, config: Config | None = None, log: StageLog | None = None) -> Result:
    """Photos in, cameras out: everything from a folder of photos to a model and its report."""
    config, log = config or presets.default(), log or StageLog()
    check_params(config.features.camera_model, config.features.camera_params)
    list_photos(images)
    open_output(output)
    with logging_to(output / "log.txt"):
        unreadable = build_database(images, output, config, log)
    for name, reason in unreadable.items():
        log.warn(f"{name!r} cannot be read and is left out: {reason}")
    if config.features.camera_params:
        config = replace(config, mapping=replace(config.mapping, fix_intrinsics=True))
    unread = dict.fromkeys(unreadable, ImageState.UNREADABLE)
    return map_database(output / DATABASE, output, config, log, images=images, unread=unread)


def compute_shard(images: Path, output: Path, config: Config, shard: str, step: Step) -> None:
    """One share ("i/n") of the features or of the pairs, for a batch system; `reconstruct` takes over what is there."""
    number, total = parse_shard(shard)
    check_params(config.features.camera_model, config.features.camera_params)
    list_photos(images)
    open_output(output)
    with logging_to(output / "log.txt"):
        compute_share(Share(step, number, total, images, output, config))


def map_database(
    database: Path,
    output: Path,
    config: Config | None = None,
    log: StageLog | None = None,
    images: Path | None = None,
    unread: dict[str, ImageState] | None = None,
) -> Result:
    """From a COLMAP database with verified pairs to a model and its report.

    Args:
        images: the folder of the photos, for the colours of points.
        unread: photos that never reached the database, and why.
    """
    config, log = config or presets.default(), log or StageLog()
    open_output(output)
    with logging_to(output / "log.txt"):
        with log.stage("read database"):
            everything = read_problem(database)
            problem, image_idx = _largest_component(select_reliable_edges(everything, config.graph), database)
        with log.stage("average poses"):
            averaged = _average(problem, image_idx, config)
        with log.stage("build tracks"):
            tracks = build_tracks(problem.select_edges(averaged.is_edge_kept), config.graph)
        with log.stage("bundle adjust"):
            poses = averaged.poses.scatter(image_idx, len(problem.images))
            model = build_model(problem.images, poses, problem.keypoints, tracks, config.mapping, config.num_threads)
        with log.stage("write model"):
            if images is not None:
                model = colorize(model, problem.keypoints, images)
            write_model(model, problem.keypoints, output / "sparse" / "0")
            write_ply(model.xyz, model.color, output / "points.ply")
    states = _explain(everything, problem.view_graph, averaged, image_idx, model) | (unread or {})
    summary = summarize(model, states, problem.view_graph, averaged, problem.images, config, log)
    write_json(asdict(config), output / "config.json")
    write_json(summary, output / "report.json")
    write_page(summary, model, output / "report.html", title=(images or database).resolve().name)
    return Result(model, states, summary, output)


def _largest_component(problem: Problem, database: Path) -> tuple[Problem, NDArray[np.int64]]:
    """The problem with only the edges of its largest connected component, and that component's images."""
    label = problem.view_graph.component_labels()
    image_idx = np.flatnonzero(label == 0)
    if len(image_idx) < 2:
        raise NoModelError(
            f"No two images of {database} match well enough to be placed",
            "Take photos with more overlap, or lower the number of inliers an edge needs",
        )
    return problem.select_edges(label[problem.view_graph.edge_index[0]] == 0), image_idx


def _average(problem: Problem, image_idx: NDArray[np.int64], config: Config) -> Averaged:
    """Poses of the component's images, which are numbered 0, 1, ... within it."""
    graph, _ = problem.view_graph.subgraph(image_idx)

    def predict(view_graph: ViewGraph) -> Rigid:
        return predict_poses(view_graph, config.averaging, config.device)

    return average(graph, problem.matches, _match_rays(problem), config.averaging, predict)


def _match_rays(problem: Problem) -> Rays:
    """Unit rays of every match in the cameras of its two images."""
    matches, keypoints = problem.matches, problem.keypoints
    ends = problem.view_graph.edge_index[:, matches.edge_idx]
    first, second = (
        unproject(problem.images, end, keypoints.xy_px[keypoints.offsets[end] + matches.keypoint_idx[:, side]])
        for side, end in enumerate(ends)
    )
    return first, second


def _explain(
    everything: Problem,
    graph: ViewGraph,
    averaged: Averaged,
    image_idx: NDArray[np.int64],
    model: Reconstruction,
) -> dict[str, ImageState]:
    """What became of every image of the database: the first stage that lost it, or registered."""
    num = len(everything.images)
    in_component = np.zeros(num, dtype=np.bool_)
    in_component[image_idx] = True
    placed = averaged.poses.scatter(image_idx, num).is_known
    lost = (
        (everything.keypoints.num_of() == 0, ImageState.NO_FEATURES),
        (everything.view_graph.degree == 0, ImageState.NO_MATCHES),
        (~in_component, ImageState.NOT_IN_COMPONENT),
        (~placed, ImageState.FAILED_AVERAGING),
        (~model.poses.is_known, ImageState.DROPPED_IN_BA),
    )
    return {
        name: next((state for mask, state in lost if mask[k]), ImageState.REGISTERED)
        for k, name in enumerate(everything.images.names)
    }
