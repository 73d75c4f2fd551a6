"""The demo from end to end: render the photos, reconstruct them as anybody's photos, score against the truth."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from vgpa import config as presets
from vgpa.demo.render import write_photos
from vgpa.demo.world import loop_cameras, make_world
from vgpa.evaluate import Scores
from vgpa.evaluate.scores import score_poses
from vgpa.geometry.rigid import Rigid
from vgpa.output import open_output
from vgpa.pipeline import Result, reconstruct
from vgpa.report.page import write_page
from vgpa.report.summary import write_json
from vgpa.stages import StageLog

NUM_VIEWS = 32
MAX_NUM_FEATURES = 4096


def run_demo(output: Path, seed: int, log: StageLog) -> tuple[Result, Scores]:
    """Photos in `output/images`, the run's result in `output`, and its scores against the known cameras."""
    open_output(output)
    cameras = loop_cameras(NUM_VIEWS, seed)
    with log.stage("render photos"):
        names = write_photos(make_world(seed), cameras, output / "images")
    config = presets.default()
    features = replace(config.features, max_num_features=MAX_NUM_FEATURES)
    result = reconstruct(output / "images", output, replace(config, features=features, seed=seed), log)
    true = Rigid.from_matrix(cameras.rotation, cameras.translation)
    is_known = result.reconstruction.poses.is_known
    estimated = dict(zip(result.reconstruction.images.names, range(len(is_known)), strict=True))
    registered = [k for k, name in enumerate(names) if name in estimated and is_known[estimated[name]]]
    rows = np.array([estimated[names[k]] for k in registered])
    scores = score_poses(result.reconstruction.poses.cam_from_world[rows], true[registered], len(names))
    summary = result.summary | {"scores": asdict(scores)}
    write_json(summary, output / "report.json")
    write_page(summary, result.reconstruction, output / "report.html", title="VGPA demo")
    return replace(result, summary=summary), scores
