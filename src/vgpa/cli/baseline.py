"""`vgpa baseline NAME DATABASE -o OUT`: another mapper on the same database, to compare with."""

from __future__ import annotations

import json as json_format
import os
from pathlib import Path
from typing import Annotated

import tyro

from vgpa.cli.options import FixIntrinsics, Json, Output, Seed


def baseline(
    name: Annotated[
        tyro.conf.Positional[str],
        tyro.conf.arg(metavar="NAME", help="colmap, glomap, theia, or a Python file with map_database()"),
    ],
    database: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DATABASE", help="COLMAP database.db")],
    output: Output,
    fix_intrinsics: FixIntrinsics = False,
    num_threads: Annotated[int | None, tyro.conf.arg(help="threads to use; all cores unless given")] = None,
    seed: Seed = 0,
    json: Json = False,
) -> int:
    """COLMAP's incremental mapper, GLOMAP or Theia on the verified pairs of a COLMAP database."""
    from vgpa import baselines
    from vgpa.output import open_output

    open_output(output)
    options = baselines.MapperOptions(num_threads or os.cpu_count() or 1, fix_intrinsics, seed)
    model = baselines.baseline(name)(database, output / "sparse" / "0", options)
    facts = {"num_registered": model.num_registered, "num_points": model.num_points, "folder": str(output)}
    if json:
        print(json_format.dumps(facts))
    else:
        print(f"images registered  {model.num_registered}\npoints             {model.num_points}")
        print(f"model    {model.folder}")
    return 0
