"""`vgpa reconstruct IMAGES -o OUT`: from a folder of photos to a model and a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

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
from vgpa.config import Engine
from vgpa.errors import InputError


def reconstruct(
    images: Annotated[Path, Arg("folder of photos", "IMAGES", is_positional=True)],
    output: Output,
    preset: PresetName = "default",
    pairs: Annotated[
        str,
        Arg("which photos are matched", "auto|exhaustive|retrieval|sequential|spatial|FILE"),
    ] = "auto",
    top_k: Annotated[int, Arg("neighbours of each photo in retrieval and spatial pairs")] = 30,
    overlap: Annotated[int, Arg("following photos that each is matched with in sequential pairs")] = 10,
    megaloc: Annotated[str, Arg("retrieve with MegaLoc, downloaded or in a local clone", "hub|DIR")] = "",
    masks: Annotated[Path | None, Arg("folder of masks (a/b.jpg.png for a/b.jpg); black is left out", "DIR")] = None,
    camera_model: Annotated[str, Arg("COLMAP camera model of the photos")] = "SIMPLE_RADIAL",
    camera_params: Annotated[str, Arg("known intrinsics in COLMAP's order, comma separated; kept fixed")] = "",
    single_camera: Annotated[bool, Arg("one camera with one setting took all photos")] = False,
    camera_per_folder: Annotated[bool, Arg("one camera for the photos of each folder")] = False,
    camera_per_image: Annotated[bool, Arg("one camera for each photo")] = False,
    fix_intrinsics: FixIntrinsics = False,
    reintegrate: Reintegrate = True,
    executor: Annotated[Engine, Arg("where features and pairs are computed")] = "local",
    shard: Annotated[str, Arg("compute only share I of N of one step, and stop", "I/N")] = "",
    step: Annotated[Literal["features", "pairs"], Arg("the step that --shard computes")] = "features",
    seed: Seed = 0,
    device: DeviceName = "auto",
    weights: Weights = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Photos in, cameras out: features, matches, poses, bundle adjustment, report."""
    config = make_config(preset, seed, device, fix_intrinsics, reintegrate, weights)
    features = replace(
        config.features,
        camera_model=camera_model,
        camera_params=camera_params,
        camera_mode=_camera_mode(single_camera, camera_per_folder, camera_per_image),
        masks="" if masks is None else str(masks),
    )
    chosen = replace(config.pairs, method=pairs, top_k=top_k, overlap=overlap, megaloc=megaloc)
    config = replace(config, features=features, pairs=chosen, executor=executor)
    with watched(output, json, quiet) as log:
        with loading():
            from vgpa import pipeline

        if shard:
            pipeline.compute_shard(images, output, config, shard, step)
            return 0
        result = pipeline.reconstruct(images, output, config, log)
    return finish(result, json, quiet)


def _camera_mode(single: bool, per_folder: bool, per_image: bool) -> Literal["auto", "single", "folder", "image"]:
    if single + per_folder + per_image > 1:
        raise InputError(
            "Photos cannot share one camera and have cameras of their own",
            "Give one of --single-camera, --camera-per-folder and --camera-per-image",
        )
    return "single" if single else "folder" if per_folder else "image" if per_image else "auto"
