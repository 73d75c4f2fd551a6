"""Runs and the paper's figures side by side: which rows a table has, which figures are best, and what must be said.

Plain Python on records; nothing is run and nothing is read but the paper's figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from statistics import mean, stdev

from vgpa.benchmark.methods import Method
from vgpa.benchmark.published import PublishedRow, read_published, same_scene
from vgpa.benchmark.records import Record
from vgpa.benchmark.sweep import Plan, Swept
from vgpa.benchmark.tables import Metric, Setup, Table

MEAN = "mean"
SAME_AUC1 = 0.999
"""AUC@1 from which on a model is its own reference: errors of a thousandth of a degree come of the same computation."""
MADE_ALIKE = "Agrees with the reference to rounding, which was then made the same way: not counted among the best."
PRINTED = (
    "Rows marked (paper) are printed in the paper and were not run here: the authors' tracks, references and machine "
    "(a GPU among it). Compare them with the rows run here for their order of size, not digit by digit."
)
MAX_NUM_NAMED = 10
"""Scenes named in a remark before the rest is only counted."""


@dataclass(frozen=True)
class Figure:
    """A number, and how it is printed."""

    value: float
    text: str
    is_best: bool = False


@dataclass(frozen=True)
class Row:
    """One method on one scene.

    Attributes:
        scene: the scene's name, or `MEAN`.
        num_images, outlier_percent: facts about the scene, here or in the paper; empty where they are not known.
        method: what it is called here.
        is_published: printed in the paper, not run here.
        figures: by metric; what is not known is missing.
        notes: numbers of the notes that belong to it, counted from 1.
        problem: why there is no model, or nothing.
        is_competing: may be the best; not what agrees with the reference to rounding, nor a mean that lacks scenes.
    """

    scene: str
    num_images: str
    outlier_percent: str
    method: str
    is_published: bool
    figures: dict[str, Figure]
    notes: tuple[int, ...] = ()
    problem: str = ""
    is_competing: bool = True


@dataclass(frozen=True)
class Comparison:
    """A whole table.

    Attributes:
        table: what it is of.
        rows: scene by scene; in each, what was run here first, then the paper's.
        notes: what rows refer to by number.
        remarks: what holds for the whole table.
        skipped: scenes that could not be used, and why.
        num_failed: runs that did not end by themselves.
    """

    table: Table
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    remarks: tuple[str, ...]
    skipped: dict[str, str]
    num_failed: int

    @property
    def is_complete(self) -> bool:
        """Whether every scene and every run is in it."""
        return not self.skipped and self.num_failed == 0


def compare(table: Table, plan: Plan, swept: Swept) -> Comparison:
    """The table of a sweep, with the paper's figures beside."""
    book = _Notes()
    published = read_published(table.name)
    here = {place.name for place in plan.places}
    rows: list[Row] = []
    for scene in sorted(here):
        beside = [row for row in published if table.is_by_scene and same_scene(row.scene) == same_scene(scene)]
        rows += _scene_block(table, plan, [r for r in swept.records if r.scene == scene], beside, book)
    means = list(_mean_block(table, rows, book)) if len(here) > 1 or not table.is_by_scene else []
    rows = [*rows, *means] if table.is_by_scene else [*means, *(_published_row(row, "", book) for row in published)]
    references = [
        f"Reference of {place.name}: {place.reference_kind}." for place in plan.places if place.reference_kind
    ]
    printed = [PRINTED] if any(row.is_published for row in rows) else []
    remarks = [*printed, *table.notes, *_data_remarks(table, here, published), *references, *_run_remarks(plan, swept)]
    num_failed = sum(not record.result.is_final for record in swept.records)
    return Comparison(table, tuple(_mark_best(table, rows)), book.lines, tuple(remarks), swept.skipped, num_failed)


class _Notes:
    """Notes in the order of their first use, each once."""

    def __init__(self) -> None:
        self._lines: dict[str, int] = {}

    def number(self, sentences: Iterable[str]) -> tuple[int, ...]:
        """The numbers of some notes."""
        return tuple(self._lines.setdefault(text, len(self._lines) + 1) for text in sentences if text)

    @property
    def lines(self) -> tuple[str, ...]:
        """All notes."""
        return tuple(self._lines)


def _scene_block(
    table: Table, plan: Plan, records: list[Record], beside: list[PublishedRow], book: _Notes
) -> Iterator[Row]:
    """The rows of one scene: its records, and the paper's rows beside them; none where nothing was run."""
    for method in plan.methods:
        for setup in plan.setups if method.is_measured else plan.setups[:1]:
            name = plan.setup_name(setup)
            own = [record for record in records if (record.method, record.setup) == (method.name, name)]
            if own:
                row = _run_row(table, own, _label(method, setup, plan))
                yield replace(row, notes=book.number([method.note, "" if row.is_competing else MADE_ALIKE]))
    for published in beside if records else ():
        yield replace(_published_row(published, str(records[0].num_images), book), scene=records[0].scene)


def _label(method: Method, setup: Setup, plan: Plan) -> str:
    if not method.is_measured or not setup.label:
        return method.label
    number = f"{plan.num_neighbours} " if setup.pairs == "nearest" else ""
    return f"{method.label}, {number}{setup.label}"


def _run_row(table: Table, records: list[Record], label: str) -> Row:
    """The mean over seeds, with the spread where there are several."""
    good = [record.result.figures for record in records if record.result.error is None]
    problems = [record.result.error for record in records if record.result.error is not None]
    figures = {}
    for metric in table.metrics:
        values = [figure[metric.key] for figure in good if metric.key in figure]
        if values:
            figures[metric.key] = _figure(metric, values)
    outliers = records[0].outlier_percent
    return Row(
        records[0].scene,
        str(records[0].num_images),
        "" if outliers is None else f"{outliers:.1f}",
        label,
        is_published=False,
        figures=figures,
        problem=problems[0] if problems else "",
        is_competing=all(figure.get("auc1", 0.0) < SAME_AUC1 for figure in good),
    )


def _published_row(row: PublishedRow, num_images: str, book: _Notes) -> Row:
    """A row of the paper, with a note where its scene has another number of images."""
    differs = bool(num_images and row.num_images and num_images != row.num_images)
    note = f"The paper's {row.scene} has {row.num_images} images, this one {num_images}." if differs else ""
    figures = {key: Figure(float(text), text) for key, text in row.figures.items()}
    return Row(row.scene, row.num_images, row.outlier_percent, row.method, True, figures, book.number([note]))


def _mean_block(table: Table, rows: list[Row], book: _Notes) -> Iterator[Row]:
    """The mean over scenes of every method; each scene counts once, with the mean of its seeds."""
    labels = list(dict.fromkeys((row.is_published, row.method) for row in rows))
    num_scenes = len({row.scene for row in rows})
    for is_published, label in sorted(labels, key=lambda entry: entry[0]):
        own = [row for row in rows if (row.is_published, row.method) == (is_published, label)]
        scored = [row for row in own if row.figures]
        if not scored and table.is_by_scene:
            continue
        note = f"Mean over {len(scored)} of {num_scenes} scenes." if len(scored) < num_scenes else ""
        figures = {}
        for metric in table.metrics:
            values = [row.figures[metric.key].value for row in scored if metric.key in row.figures]
            if values:
                figures[metric.key] = _figure(metric, [mean(values)])
        problem = "" if figures else next((row.problem for row in own if row.problem), "")
        before = [number for row in own if not is_published for number in row.notes]
        notes = tuple(dict.fromkeys([*before, *book.number([note if figures else ""])]))
        is_competing = len(scored) == num_scenes and all(row.is_competing for row in own)
        yield Row(MEAN, "", "", label, is_published, figures, notes, problem, is_competing)


def _figure(metric: Metric, values: list[float]) -> Figure:
    value = mean(values)
    num_digits = metric.num_digits or int(value != round(value))
    text = f"{value:.{num_digits}f}"
    if len(values) > 1 and stdev(values) > 0:
        text += f" ± {stdev(values):.{num_digits}f}"
    return Figure(value, text)


def _mark_best(table: Table, rows: list[Row]) -> Iterator[Row]:
    """The rows with the best figure of each scene marked, among what was run here and among what the paper prints."""
    best: dict[tuple[str, bool, str], set[float]] = {}
    for metric in table.metrics:
        for row in rows:
            if metric.key in row.figures and row.is_competing:
                cell = best.setdefault((row.scene, row.is_published, metric.key), set())
                cell.add(_printed(row.figures[metric.key]))
    for row in rows:
        figures = dict(row.figures)
        for metric in table.metrics:
            cell = best.get((row.scene, row.is_published, metric.key), set())
            # Where all are equal, none is best.
            if metric.key in figures and len(cell) > 1:
                target = max(cell) if metric.is_higher_better else min(cell)
                is_best = _printed(figures[metric.key]) == target and row.is_competing
                figures[metric.key] = replace(figures[metric.key], is_best=is_best)
        yield replace(row, figures=figures)


def _printed(figure: Figure) -> float:
    """A figure as far as it is printed: what looks equal is equal."""
    return float(figure.text.split(" ")[0])


def _data_remarks(table: Table, here: set[str], published: list[PublishedRow]) -> Iterator[str]:
    """Which scenes are the paper's, and which are not."""
    if not table.is_by_scene:
        return
    names = {same_scene(row.scene): row.scene for row in published}
    own = {same_scene(name) for name in here}
    foreign = sorted(name for name in here if same_scene(name) not in names)
    if foreign:
        yield f"Not scenes of the paper's table: {_named(foreign)}."
    missing = [name for key, name in names.items() if key not in own]
    if missing:
        yield f"Scenes of the paper that are not here: {_named(missing)}."


def _named(names: list[str]) -> str:
    more = f" and {len(names) - MAX_NUM_NAMED} more" if len(names) > MAX_NUM_NAMED else ""
    return ", ".join(names[:MAX_NUM_NAMED]) + more


def _run_remarks(plan: Plan, swept: Swept) -> Iterator[str]:
    """How the figures of this table came about."""
    seeds = "seed 0" if plan.num_seeds == 1 else f"seeds 0 to {plan.num_seeds - 1}: mean ± standard deviation"
    loads = [record.result.figures["load_before"] for record in swept.records if "load_before" in record.result.figures]
    load = f" Load of the machine before a run: at most {max(loads):.1f} (one-minute average)." if loads else ""
    yield f"Run here with {seeds}.{load}"
