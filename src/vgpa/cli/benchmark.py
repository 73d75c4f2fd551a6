"""`vgpa benchmark TABLE --data DIR`: a table of the paper, filled here."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from vgpa.benchmark.tables import TableName
from vgpa.cli.options import Quiet
from vgpa.cli.parse import Arg
from vgpa.cli.show import PARTIAL_INPUT
from vgpa.config import Engine
from vgpa.datasets import DatasetName

if TYPE_CHECKING:
    from vgpa.benchmark.sweep import Plan

REFRESH_S = 0.5


def benchmark(
    table: Annotated[TableName, Arg("which table of the paper", "TABLE", is_positional=True)],
    data: Annotated[Path, Arg("folder of scenes, in any layout of the datasets", "DIR")],
    output: Annotated[Path, Arg("folder for runs and tables; runs in it are kept", "DIR", alias="-o")] = Path(
        "runs/benchmark"
    ),
    dataset: Annotated[DatasetName | None, Arg("layout of the folder; found out unless given")] = None,
    scenes: Annotated[tuple[str, ...], Arg("scenes to run; those of the paper's table, or all, unless given")] = (),
    methods: Annotated[
        tuple[str, ...],
        Arg("default, fast, paper, colmap, glomap, theia, Python files with map_database()"),
    ] = (),
    import_: Annotated[
        tuple[str, ...],
        Arg("poses that another method left, a file per scene", "NAME=DIR", is_repeated=True),
    ] = (),
    seeds: Annotated[int, Arg("number of seeds that every method is run with")] = 1,
    neighbours: Annotated[int, Arg("graph_density: neighbours of each image")] = 30,
    weights: Annotated[Path | None, Arg("ablation: layers2.safetensors and attention.safetensors", "DIR")] = None,
    executor: Annotated[Engine, Arg("where scenes run: one after the other here, or side by side")] = "local",
    quiet: Quiet = False,
) -> int:
    """Fill a table of the paper: our presets and other mappers on your data, with the paper's figures beside them."""
    from vgpa.benchmark.fill import Request, fill_table, make_plan
    from vgpa.benchmark.render import to_markdown

    request = Request(table, data, output, dataset, scenes, methods, import_, seeds, neighbours, weights)
    plan = make_plan(request)
    with _progress(plan, quiet):
        comparison, paths = fill_table(request, plan, executor)
    for scene, reason in comparison.skipped.items():
        print(f"vgpa: skipped {scene}: {reason}", file=sys.stderr)
    if not quiet:
        print(to_markdown(comparison))
        print("\n".join(f"table    {path}" for path in paths))
    return 0 if comparison.is_complete else PARTIAL_INPUT


@contextmanager
def _progress(plan: Plan, is_silent: bool) -> Iterator[None]:
    """A bar of the runs that are done, for the time of this block."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), disable=is_silent) as bar:
        task = bar.add_task("runs", total=len(plan.keys))
        is_over = threading.Event()

        def watch() -> None:
            while not is_over.wait(REFRESH_S):
                bar.update(task, completed=plan.num_done())

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            is_over.set()
            watcher.join()
            bar.update(task, completed=plan.num_done())
