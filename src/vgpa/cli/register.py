"""`vgpa register MODEL DATABASE -o OUT`: add the database's other images to a model that exists already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from vgpa.cli.loading import loading
from vgpa.cli.options import Json, Output, Quiet, make_config
from vgpa.cli.parse import Arg
from vgpa.cli.show import finish, watched


def register(
    model: Annotated[Path, Arg("folder of a COLMAP model", "MODEL", is_positional=True)],
    database: Annotated[Path, Arg("COLMAP database.db it was made from", "DATABASE", is_positional=True)],
    output: Output,
    images: Annotated[Path | None, Arg("folder of photos, for colours", "DIR")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Re-integrate images: those that a model of the same database lacks and that can be placed among its points."""
    config = make_config("default", seed=0, device="cpu", fix_intrinsics=True, reintegrate=True)
    with watched(output, json, quiet) as log:
        with loading():
            from vgpa import pipeline

        result = pipeline.register_images(model, database, output, config, log, images=images)
    return finish(result, json, quiet)
