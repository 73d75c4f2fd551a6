"""`vgpa baseline NAME DATABASE -o OUT`: another mapper on the same database, to compare with."""

from __future__ import annotations

import json as json_format
import os
from pathlib import Path
from typing import Annotated

from vgpa.cli.loading import loading
from vgpa.cli.options import FixIntrinsics, Json, Output, Seed
from vgpa.cli.parse import Arg


def baseline(
    name: Annotated[
        str,
        Arg("colmap, glomap, theia, or a Python file with map_database()", "NAME", is_positional=True),
    ],
    database: Annotated[Path, Arg("COLMAP database.db", "DATABASE", is_positional=True)],
    output: Output,
    fix_intrinsics: FixIntrinsics = False,
    num_threads: Annotated[int | None, Arg("threads to use; all cores unless given")] = None,
    seed: Seed = 0,
    json: Json = False,
) -> int:
    """COLMAP's incremental mapper, GLOMAP or Theia on the verified pairs of a COLMAP database."""
    with loading():
        from vgpa import baselines
        from vgpa.output import open_output

        mapper = baselines.baseline(name)

    open_output(output)
    options = baselines.MapperOptions(num_threads or os.cpu_count() or 1, fix_intrinsics, seed)
    model = mapper(database, output / "sparse" / "0", options)
    facts = {"num_registered": model.num_registered, "num_points": model.num_points, "folder": str(output)}
    if json:
        print(json_format.dumps(facts))
    else:
        print(f"images registered  {model.num_registered}\npoints             {model.num_points}")
        print(f"model    {model.folder}")
    return 0
