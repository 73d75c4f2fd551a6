"""The whole story, in order: photos -> database -> view graph -> poses -> model -> report.

`reconstruct` starts from a folder of photos, `map_database` from a COLMAP database; the second is the second half
of the first. `register_images` adds images to a model that exists already. Each arrow is one call. What a step has
computed is on disk before the next one starts.

What reads photos is imported where it is called: a database is mapped without, and sooner.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vgpa import config as presets
from vgpa.colmap.cameras import check_params
from vgpa.colmap.database import read_problem
from vgpa.colmap.model import read_model
from vgpa.colmap.silence import logging_to
from vgpa.config import Config
from vgpa.errors import faults_explained
from vgpa.frontend.graph import EdgeFilter
from vgpa.mapping.adopt import adopt_model
from vgpa.output import describe_models, open_output, write_models, write_stage_poses
from vgpa.report.page import write_page
from vgpa.report.ply import write_ply
from vgpa.report.summary import summarize, write_json
from vgpa.scene import ImageState, Problem, Reconstruction
from vgpa.solution import Solution
from vgpa.solve import register, solve
from vgpa.stages import StageLog

if TYPE_CHECKING:
    from vgpa.frontend.shards import Step


@dataclass(frozen=True, eq=False)
class Result:
    """What a run leaves behind.

    Attributes:
        reconstruction: the largest model, as written to `folder/sparse/0`; others lie in `sparse/1`, ...
        states: what became of every image, by name.
        summary: what `folder/report.json` holds.
        folder: the output folder.
    """

    reconstruction: Reconstruction
    states: dict[str, ImageState]
    summary: dict[str, Any]
    folder: Path


@faults_explained()
def reconstruct(images: Path, output: Path, config: Config | None = None, log: StageLog | None = None) -> Result:
    """Photos in, cameras out: everything from a folder of photos to a model and its report."""
    from vgpa.frontend.build import DATABASE, build_database
    from vgpa.frontend.photos import list_photos

    config, log = config or presets.default(), log or StageLog()
    check_params(config.features.camera_model, config.features.camera_params)
    list_photos(images)
    open_output(output)
    with logging_to(output / "log.txt"):
        unreadable = build_database(images, output, config, log)
    for name, reason in unreadable.items():
        log.warn(f"{name!r} cannot be read and is left out: {reason}")
    config = _as_told(config)
    unread = dict.fromkeys(unreadable, ImageState.UNREADABLE)
    return map_database(output / DATABASE, output, config, log, images=images, unread=unread)


@faults_explained()
def compute_shard(images: Path, output: Path, config: Config, shard: str, step: Step) -> None:
    """One share ("i/n") of the features or of the pairs, for a batch system; `reconstruct` takes over what is there."""
    from vgpa.frontend.photos import list_photos
    from vgpa.frontend.shards import Share, compute_share, parse_shard

    number, total = parse_shard(shard)
    check_params(config.features.camera_model, config.features.camera_params)
    list_photos(images)
    open_output(output)
    with logging_to(output / "log.txt"):
        compute_share(Share(step, number, total, images, output, config))


@faults_explained()
def map_database(
    database: Path,
    output: Path,
    config: Config | None = None,
    log: StageLog | None = None,
    images: Path | None = None,
    unread: dict[str, ImageState] | None = None,
    edge_filter: EdgeFilter | None = None,
) -> Result:
    """From a COLMAP database with verified pairs (or an npz of tracks) to a model and its report.

    Args:
        images: the folder of the photos, for the colours of points.
        unread: photos that never reached the database, and why.
        edge_filter: an outside opinion on the edges of the view graph.
    """
    config, log = config or presets.default(), log or StageLog()
    open_output(output)
    with logging_to(output / "log.txt"):
        with log.stage("read database"):
            problem = _read_problem(database, config)
        solution = solve(problem, config, log, edge_filter)
        models = _write_models(solution, output, images, log)
        return _report(solution, models[0], output, _Context(config, log, images or database, unread or {}))


@faults_explained()
def register_images(
    model: Path,
    database: Path,
    output: Path,
    config: Config | None = None,
    log: StageLog | None = None,
    images: Path | None = None,
) -> Result:
    """From a COLMAP model of some images and a database of more to the model with those that can be placed.

    Args:
        model: the folder of the model; its images are found in the database by name, its cameras stay as they are.
        images: the folder of the photos, for the colours of points.
    """
    config, log = config or presets.default(), log or StageLog()
    open_output(output)
    with logging_to(output / "log.txt"):
        with log.stage("read model and database"):
            problem, given = adopt_model(read_problem(database, config.num_threads), *read_model(model))
        solution = register(problem, given, config, log)
        models = _write_models(solution, output, images, log)
        return _report(solution, models[0], output, _Context(config, log, images or database, {}))


def _as_told(config: Config) -> Config:
    """The settings with what was said of the cameras: a calibration stays, and so does a lens for each photo."""
    fix_intrinsics = config.mapping.fix_intrinsics or bool(config.features.camera_params)
    tie_lenses = config.mapping.tie_lenses and config.features.camera_mode != "image"
    return replace(config, mapping=replace(config.mapping, fix_intrinsics=fix_intrinsics, tie_lenses=tie_lenses))


@dataclass(frozen=True, eq=False)
class _Context:
    """What a report says beside the solution: the settings, the stages, the source, and images that were not read."""

    config: Config
    log: StageLog
    source: Path
    unread: dict[str, ImageState]


def _read_problem(database: Path, config: Config) -> Problem:
    if database.suffix != ".npz":
        return read_problem(database, config.num_threads, are_lenses_known=config.mapping.fix_intrinsics)
    from vgpa.frontend.resfm import read_resfm

    return read_resfm(database, config)


def _write_models(solution: Solution, output: Path, images: Path | None, log: StageLog) -> list[Reconstruction]:
    """Write every model, with the colours of the photos where there are any, and the points of the largest."""
    keypoints = solution.problem.keypoints
    with log.stage("write model"):
        models = [part.model for part in solution.parts]
        if images is not None:
            from vgpa.mapping.colors import colorize

            models = [colorize(model, keypoints, images) for model in models]
        write_models(models, keypoints, output)
        write_ply(models[0].xyz, models[0].color, output / "points.ply")
        write_stage_poses(solution, output)
    return models


def _report(solution: Solution, model: Reconstruction, output: Path, context: _Context) -> Result:
    """Write what is known of a run beside its models."""
    states = solution.states | context.unread
    summary = describe_models(summarize(solution, states, context.config, context.log), solution)
    images = context.source if context.source.is_dir() else None
    summary["image_folder"] = None if images is None else str(images.resolve())
    write_json(asdict(context.config), output / "config.json")
    write_json(summary, output / "report.json")
    # Folders of photos are often just called "images": the folder above tells more.
    title = "/".join(context.source.resolve().parts[-2:])
    write_page(summary, model, output / "report.html", title, images)
    return Result(model, states, summary, output)
