"""`vgpa reconstruct IMAGES -o OUT`: from a folder of photos to a model and a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import tyro

from vgpa.cli.options import DeviceName, FixIntrinsics, Json, Output, PresetName, Quiet, Seed, make_config
from vgpa.cli.show import finish, watched


def reconstruct(
    images: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="IMAGES", help="folder of photos")],
    output: Output,
    preset: PresetName = "default",
    camera_model: Annotated[str, tyro.conf.arg(help="COLMAP camera model of the photos")] = "SIMPLE_RADIAL",
    camera_params: Annotated[
        str, tyro.conf.arg(help="known intrinsics in COLMAP's order, comma separated; kept fixed")
    ] = "",
    single_camera: Annotated[
        bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(help="one camera with one setting took all photos")
    ] = False,
    fix_intrinsics: FixIntrinsics = False,
    seed: Seed = 0,
    device: DeviceName = "auto",
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Photos in, cameras out: features, matches, poses, bundle adjustment, report."""
    from vgpa import pipeline

    config = make_config(preset, seed, device, fix_intrinsics)
    features = replace(
        config.features, camera_model=camera_model, camera_params=camera_params, single_camera=single_camera
    )
    with watched(json or quiet) as log:
        result = pipeline.reconstruct(images, output, replace(config, features=features), log)
    return finish(result, json, quiet)
