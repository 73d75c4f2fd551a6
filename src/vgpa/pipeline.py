"""The whole story, in order: photos -> database -> view graph -> poses -> model -> report.

`reconstruct` starts from a folder of photos, `map_database` from a COLMAP database; the second is the second half
of the first. Each arrow is one call. What a step has computed is on disk before the next one starts.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from vgpa import config as presets
from vgpa.colmap.cameras import check_params
from vgpa.colmap.database import read_problem
from vgpa.colmap.model import write_model
from vgpa.colmap.silence import logging_to
from vgpa.config import Config
from vgpa.frontend.build import DATABASE, build_database
from vgpa.frontend.graph import EdgeFilter
from vgpa.frontend.photos import list_photos
from vgpa.frontend.resfm import read_resfm
from vgpa.frontend.shards import Share, Step, compute_share, parse_shard
from vgpa.mapping.colors import colorize
from vgpa.output import open_output
from vgpa.report.page import write_page
from vgpa.report.ply import write_ply
from vgpa.report.summary import summarize, write_json
from vgpa.scene import ImageState, Reconstruction
from vgpa.solve import solve
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
            problem = read_resfm(database, config) if database.suffix == ".npz" else read_problem(database)
        solution = solve(problem, config, log, edge_filter)
        model = solution.model
        with log.stage("write model"):
            if images is not None:
                model = colorize(model, problem.keypoints, images)
            write_model(model, problem.keypoints, output / "sparse" / "0")
            write_ply(model.xyz, model.color, output / "points.ply")
    states = solution.states | (unread or {})
    summary = summarize(solution, states, config, log)
    write_json(asdict(config), output / "config.json")
    write_json(summary, output / "report.json")
    # Folders of photos are often just called "images": the folder above tells more.
    title = "/".join((images or database).resolve().parts[-2:])
    write_page(summary, model, output / "report.html", title)
    return Result(model, states, summary, output)
