"""One table from beginning to end: find the scenes, run what is missing, compare, write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vgpa.benchmark.compare import Comparison, compare
from vgpa.benchmark.methods import Method, parse_import, parse_method
from vgpa.benchmark.networks import parse_network
from vgpa.benchmark.render import write_comparison
from vgpa.benchmark.scenes import choose_scenes, find_scenes
from vgpa.benchmark.sweep import Plan, sweep
from vgpa.benchmark.tables import TABLES, Table, TableName
from vgpa.compute import make_executor
from vgpa.config import Engine
from vgpa.datasets import DatasetName
from vgpa.errors import InputError
from vgpa.output import open_output


@dataclass(frozen=True)
class Request:
    """What a table is asked for with.

    Attributes:
        table: which one.
        data: the folder of the scenes; layout: how it is laid out, None finds out.
        output: folder for runs and tables.
        scenes, methods: names; empty takes the table's own.
        imports: NAME=PATH of results to read from files.
        num_seeds: seeds 0, 1, ... that every method is run with.
        num_neighbours: neighbours of each image, for `graph_density`.
        weights_dir: weights of networks for `ablation` that are not shipped.
    """

    table: TableName
    data: Path
    output: Path
    layout: DatasetName | None = None
    scenes: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    num_seeds: int = 1
    num_neighbours: int = 30
    weights_dir: Path | None = None


def make_plan(request: Request) -> Plan:
    """Everything that has to be run for a table."""
    table = TABLES[request.table]
    if request.num_seeds < 1 or request.num_neighbours < 1:
        raise InputError("A table takes at least one seed and one neighbour", "Give a larger number")
    open_output(request.output)
    places = choose_scenes(find_scenes(request.data, request.layout), table, request.scenes)
    methods = _make_methods(table, request)
    return Plan(
        tuple(places), methods, table.setups, request.num_seeds, request.num_neighbours, request.output.resolve()
    )


def fill_table(request: Request, plan: Plan, engine: Engine = "local") -> tuple[Comparison, list[Path]]:
    """Run what is missing, and write the table; gives back the files too."""
    comparison = compare(TABLES[request.table], plan, sweep(plan, make_executor(engine)))
    return comparison, write_comparison(comparison, request.output)


def _make_methods(table: Table, request: Request) -> tuple[Method, ...]:
    names: Sequence[str] = request.methods or table.methods
    methods: list[Method] = []
    if table.name == "ablation":
        if request.imports:
            raise InputError("The ablation compares networks, not imported poses", "Leave --import out")
        methods += [parse_network(name, request.weights_dir) for name in names]
    else:
        methods += [parse_method(name) for name in names]
        methods += [parse_import(text) for text in request.imports]
    twice = [method.name for k, method in enumerate(methods) if method.name in {m.name for m in methods[:k]}]
    if twice:
        raise InputError(f"Two methods are called {twice[0]!r}", "Name each method once, and files differently")
    return tuple(methods)
