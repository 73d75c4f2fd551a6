"""`vgpa import-hloc FEATURES MATCHES --images DIR -o database.db`: hloc's files into a database for `vgpa map`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from vgpa import config as presets
from vgpa.cli.options import Quiet, Seed
from vgpa.cli.parse import Arg
from vgpa.cli.show import print_rows, watched
from vgpa.output import open_output


def import_hloc(
    features: Annotated[Path, Arg("hloc's features.h5", "FEATURES", is_positional=True)],
    matches: Annotated[Path, Arg("hloc's matches.h5", "MATCHES", is_positional=True)],
    images: Annotated[Path, Arg("folder of the photos", "DIR")],
    output: Annotated[Path, Arg("database.db to make", "DATABASE", alias="-o")],
    camera_model: Annotated[str, Arg("COLMAP camera model of the photos")] = "SIMPLE_RADIAL",
    camera_params: Annotated[
        str, Arg("known intrinsics in COLMAP's order, comma separated; map with --fix-intrinsics")
    ] = "",
    seed: Seed = 0,
    quiet: Quiet = False,
) -> int:
    """Features and matches of hloc, verified, in a COLMAP database that `vgpa map` continues from."""
    from vgpa.frontend import hloc

    config = presets.default()
    chosen = replace(config.features, camera_model=camera_model, camera_params=camera_params)
    config = replace(config, features=chosen, seed=seed)
    open_output(output.parent)
    with watched(output.parent, False, quiet) as log:
        with log.stage("import and verify"):
            notes = hloc.import_hloc(features, matches, images, output, config)
        for sentence in notes:
            log.warn(sentence)
    if not quiet:
        print_rows([*(("warning", sentence) for sentence in notes), ("database", str(output))])
    return 0
