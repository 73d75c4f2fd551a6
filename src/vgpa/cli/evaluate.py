"""`vgpa evaluate MODEL REFERENCE`: how good a model is."""

from __future__ import annotations

import json as json_format
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table

from vgpa.cli.options import Json
from vgpa.datasets import DatasetName, load_reference


def evaluate(
    model: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="MODEL", help="folder of a COLMAP model")],
    reference: Annotated[
        tyro.conf.Positional[Path],
        tyro.conf.arg(metavar="REFERENCE", help="folder of the reference model, or of a dataset's scenes"),
    ],
    dataset: Annotated[
        DatasetName | None, tyro.conf.arg(help="the layout of the reference, where it is no COLMAP model")
    ] = None,
    scene: Annotated[str, tyro.conf.arg(metavar="NAME", help="which scene of the dataset")] = "",
    alignment: Annotated[
        Literal["paper", "umeyama"], tyro.conf.arg(help="by orientations and centres, or by centres alone")
    ] = "paper",
    area: Annotated[Literal["exact", "degrees"], tyro.conf.arg(help="AUC exactly, or from one-degree bins")] = "exact",
    json: Json = False,
    csv: Annotated[bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(help="print two lines of CSV instead")] = False,
) -> int:
    """Rotation and position errors after alignment, AUC and RA-AUC, against a reference model or a dataset's scene."""
    from vgpa.colmap.model import read_model
    from vgpa.evaluate import Protocol
    from vgpa.evaluate import evaluate as score
    from vgpa.evaluate.points import describe_points
    from vgpa.evaluate.table import table_rows, to_csv

    found, keypoints = read_model(model)
    true = read_model(reference)[0] if dataset is None else load_reference(dataset, reference, scene)
    scores = score(found, true, Protocol(alignment, area))
    points = describe_points(found, keypoints, true)
    if json:
        print(json_format.dumps(asdict(scores) | {"points": asdict(points)}))
    elif csv:
        print(to_csv(scores, points), end="")
    else:
        table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
        for row in table_rows(scores, points):
            table.add_row(*row)
        Console().print(table)
    return 0
