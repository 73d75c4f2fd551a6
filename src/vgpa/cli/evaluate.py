"""`vgpa evaluate MODEL REFERENCE`: how good a model is."""

from __future__ import annotations

import json as json_format
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import tyro

from vgpa.cli.options import Json
from vgpa.cli.show import print_scores


def evaluate(
    model: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="MODEL", help="folder of a COLMAP model")],
    reference: Annotated[
        tyro.conf.Positional[Path], tyro.conf.arg(metavar="REFERENCE", help="folder of the reference model")
    ],
    json: Json = False,
) -> int:
    """Rotation and position errors after alignment, AUC and RA-AUC, against a reference model."""
    from vgpa.colmap.model import read_model
    from vgpa.evaluate import evaluate as score

    scores = score(read_model(model)[0], read_model(reference)[0])
    if json:
        print(json_format.dumps(asdict(scores)))
    else:
        print_scores(scores)
    return 0
