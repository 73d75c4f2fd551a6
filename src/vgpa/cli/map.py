"""`vgpa map DATABASE -o OUT`: from verified pairs (or RESfM's tracks) to a model and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from vgpa.cli.loading import loading
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
from vgpa.cli.parse import Arg
from vgpa.cli.show import finish, watched


def map_(
    database: Annotated[Path, Arg("COLMAP database.db, or RESfM scene.npz", "DATABASE", is_positional=True)],
    output: Output,
    images: Annotated[Path | None, Arg("folder of photos, for colours", "DIR")] = None,
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
        with loading():
            from vgpa import pipeline

        result = pipeline.map_database(database, output, config, log, images=images)
    return finish(result, json, quiet)
