"""`vgpa evaluate MODEL REFERENCE`: how good a model is."""

from __future__ import annotations

import json as json_format
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from vgpa.cli.loading import loading
from vgpa.cli.options import Json
from vgpa.cli.parse import Arg
from vgpa.datasets import DatasetName, load_reference


def evaluate(
    model: Annotated[Path, Arg("folder of a COLMAP model", "MODEL", is_positional=True)],
    reference: Annotated[
        Path,
        Arg("folder of the reference model, or of a dataset's scenes", "REFERENCE", is_positional=True),
    ],
    dataset: Annotated[DatasetName | None, Arg("the layout of the reference, where it is no COLMAP model")] = None,
    scene: Annotated[str, Arg("which scene of the dataset", "NAME")] = "",
    alignment: Annotated[
        Literal["paper", "umeyama"], Arg("by orientations and centres, or by centres alone")
    ] = "paper",
    area: Annotated[Literal["exact", "degrees"], Arg("AUC exactly, or from one-degree bins")] = "exact",
    json: Json = False,
    csv: Annotated[bool, Arg("print two lines of CSV instead")] = False,
) -> int:
    """Rotation and position errors after alignment, AUC and RA-AUC, against a reference model or a dataset's scene."""
    with loading():
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
        from rich.console import Console
        from rich.table import Table

        table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
        for row in table_rows(scores, points):
            table.add_row(*row)
        Console().print(table)
    return 0
