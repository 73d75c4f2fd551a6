"""`vgpa map DATABASE -o OUT`: from verified pairs (or RESfM's tracks) to a model and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from vgpa.cli.options import (
    DeviceName,
    FixIntrinsics,
    Json,
    Output,
    PresetName,
    Quiet,
    Reintegrate,
    Seed,
    Weights,
    make_config,
)
from vgpa.cli.show import finish, watched


def map_(
    database: Annotated[
        tyro.conf.Positional[Path], tyro.conf.arg(metavar="DATABASE", help="COLMAP database.db, or RESfM scene.npz")
    ],
    output: Output,
    images: Annotated[Path | None, tyro.conf.arg(metavar="DIR", help="folder of photos, for colours")] = None,
    preset: PresetName = "default",
    fix_intrinsics: FixIntrinsics = False,
    reintegrate: Reintegrate = True,
    seed: Seed = 0,
    device: DeviceName = "auto",
    weights: Weights = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """A drop-in mapper: poses and bundle adjustment from the verified pairs of a COLMAP database."""
    config = make_config(preset, seed, device, fix_intrinsics, reintegrate, weights)
    with watched(output, json, quiet) as log:
        from vgpa import pipeline

        result = pipeline.map_database(database, output, config, log, images=images)
    return finish(result, json, quiet)
