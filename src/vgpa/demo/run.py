"""The demo from end to end: render the photos, reconstruct them as anybody's photos, score against the truth."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from vgpa import config as presets
from vgpa.demo.render import write_photos
from vgpa.demo.walk import DemoCameras, loop_cameras
from vgpa.demo.world import make_world
from vgpa.evaluate import Scores
from vgpa.evaluate.scores import score_poses
from vgpa.geometry.rigid import Rigid
from vgpa.output import open_output
from vgpa.pipeline import Result, reconstruct
from vgpa.report.page import write_page
from vgpa.report.summary import write_json
from vgpa.scene import Reconstruction
from vgpa.stages import StageLog

NUM_VIEWS = 32
MAX_NUM_FEATURES = 4096
VERSION = 1
"""Raised when the world or the walk changes, so that old photos are not taken for new ones."""


def run_demo(output: Path, seed: int, log: StageLog) -> tuple[Result, Scores]:
    """Photos in `output/images`, the run's result in `output`, and its scores against the known cameras."""
    open_output(output)
    config = replace(presets.default(), seed=seed)
    config = replace(config, features=replace(config.features, max_num_features=MAX_NUM_FEATURES))
    cameras = loop_cameras(NUM_VIEWS, seed)
    with log.stage("render photos"):
        _render_once(output, cameras, seed)
    result = reconstruct(output / "images", output, config, log)
    scores = _score(result.reconstruction, cameras)
    summary = result.summary | {"scores": asdict(scores)}
    write_json(summary, output / "report.json")
    write_page(summary, result.reconstruction, output / "report.html", "VGPA demo", output / "images")
    return replace(result, summary=summary), scores


def _render_once(output: Path, cameras: DemoCameras, seed: int) -> None:
    """Render the photos, unless an earlier run has finished the same ones."""
    stamp, wanted = output / "photos.json", {"seed": seed, "num_views": NUM_VIEWS, "version": VERSION}
    if stamp.is_file() and json.loads(stamp.read_text(encoding="utf-8")) == wanted:
        return
    write_photos(make_world(seed), cameras, output / "images")
    write_json(wanted, stamp)


def _score(model: Reconstruction, cameras: DemoCameras) -> Scores:
    """Photos are named in the order of their cameras, and so are the images of the model."""
    view_idx = np.array([int(name.removeprefix("view_").removesuffix(".jpg")) for name in model.images.names])
    registered = model.poses.is_known
    true = Rigid.from_matrix(cameras.rotation, cameras.translation)
    return score_poses(model.poses.cam_from_world[registered], true[view_idx[registered]], NUM_VIEWS)
