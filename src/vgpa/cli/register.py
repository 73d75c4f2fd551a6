"""`vgpa register MODEL DATABASE -o OUT`: add the database's other images to a model that exists already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from vgpa.cli.options import Json, Output, Quiet, make_config
from vgpa.cli.show import finish, watched


def register(
    model: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="MODEL", help="folder of a COLMAP model")],
    database: Annotated[
        tyro.conf.Positional[Path], tyro.conf.arg(metavar="DATABASE", help="COLMAP database.db it was made from")
    ],
    output: Output,
    images: Annotated[Path | None, tyro.conf.arg(metavar="DIR", help="folder of photos, for colours")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Re-integrate images: those that a model of the same database lacks and that can be placed among its points."""
    config = make_config("default", seed=0, device="cpu", fix_intrinsics=True, reintegrate=True)
    with watched(output, json, quiet) as log:
        from vgpa import pipeline

        result = pipeline.register_images(model, database, output, config, log, images=images)
    return finish(result, json, quiet)
