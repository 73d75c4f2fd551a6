"""A table as text: Markdown to read, CSV to compute with, LaTeX to print."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from vgpa.benchmark.compare import Comparison, Figure, Row

Cells = list[str]
LATEX = {"\\": r"\textbackslash{}", "±": r"$\pm$", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
LATEX |= {sign: rf"\{sign}" for sign in "&%$#_{}"}


def write_comparison(comparison: Comparison, folder: Path) -> list[Path]:
    """Write the table in all formats; gives back the files."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"md": to_markdown(comparison), "csv": to_csv(comparison), "tex": to_latex(comparison)}
    paths = [folder / f"{comparison.table.name}.{ending}" for ending in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def to_markdown(comparison: Comparison) -> str:
    """A heading, the table with the best figures in bold, and all notes."""
    lines = [f"# {comparison.table.title}", ""]
    rows = list(_cells(comparison, _escape_markdown, lambda text: f"**{text}**", lambda note: f" [{note}]"))
    lines += [f"| {' | '.join(row)} |" for row in (rows[0], ["---"] * len(rows[0]), *rows[1:])]
    lines += ["", *(f"{line}\n" for line in _below(comparison))]
    return "\n".join(lines)


def to_csv(comparison: Comparison) -> str:
    """One line per row, with plain numbers, and the notes spelled out."""
    table = comparison.table
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    keys = [metric.key for metric in table.metrics]
    writer.writerow(["scene", "num_images", "outlier_percent", "method", "source", *keys, "problem", "notes"])
    for row in comparison.rows:
        values = [str(row.figures[key].value) if key in row.figures else "" for key in keys]
        notes = " ".join(comparison.notes[number - 1] for number in row.notes)
        source = "paper" if row.is_published else "here"
        facts = [row.scene, row.num_images, row.outlier_percent, row.method]
        writer.writerow([*facts, source, *values, row.problem, notes])
    for scene, reason in comparison.skipped.items():
        writer.writerow([scene, "", "", "", "skipped", *("" for _ in keys), reason, ""])
    return file.getvalue()


def to_latex(comparison: Comparison) -> str:
    """A floating table for a paper; needs the package booktabs."""
    rows = list(_cells(comparison, escape_latex, lambda text: rf"\textbf{{{text}}}", lambda note: rf"$^{{{note}}}$"))
    num_left = len(rows[0]) - len(comparison.table.metrics)
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{escape_latex(comparison.table.title)}}}"]
    lines += [rf"\begin{{tabular}}{{{'l' * num_left}{'r' * len(comparison.table.metrics)}}}", r"\toprule"]
    for number, row in enumerate(rows):
        if number == 1 or (number > 1 and row[0]):
            lines.append(r"\midrule")
        lines.append(" & ".join(row) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\par\raggedright\footnotesize"]
    lines += [escape_latex(line) + r"\par" for line in _below(comparison)]
    return "\n".join([*lines, r"\end{table}", ""])


def escape_latex(text: str) -> str:
    """Text as LaTeX prints it, sign for sign."""
    return re.sub("|".join(map(re.escape, LATEX)), lambda found: LATEX[found[0]], text)


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\|*_`<>\[\]])", r"\\\1", text)


def _cells(
    comparison: Comparison, escape: Callable[[str], str], bold: Callable[[str], str], refer: Callable[[int], str]
) -> Iterator[Cells]:
    """The heading and the rows; facts about a scene are in its first row, and the paper's in the first of its own."""
    table = comparison.table
    titles = ("scene", "images", "outliers %", "method", *(metric.title for metric in table.metrics))
    yield [escape(title) for title in titles]
    before: tuple[str, bool] | None = None
    for row in comparison.rows:
        is_first = (row.scene, row.is_published) != before
        scene = row.scene if before is None or row.scene != before[0] else ""
        before = (row.scene, row.is_published)
        facts = [escape(scene), *([row.num_images, row.outlier_percent] if is_first else ["", ""])]
        method = escape(row.method + (" (paper)" if row.is_published else "")) + "".join(map(refer, row.notes))
        yield [*facts, method, *(_cell(row, metric.key, escape, bold) for metric in table.metrics)]


def _cell(row: Row, key: str, escape: Callable[[str], str], bold: Callable[[str], str]) -> str:
    figure: Figure | None = row.figures.get(key)
    if figure is None:
        return "no model" if row.problem and not row.figures else "-"
    return bold(escape(figure.text)) if figure.is_best else escape(figure.text)


def _below(comparison: Comparison) -> Iterator[str]:
    """Everything that has to be said under the table."""
    yield from (f"[{number}] {note}" for number, note in enumerate(comparison.notes, start=1))
    yield from comparison.remarks
    for row in comparison.rows:
        if row.problem:
            yield f"No model: {row.method} on {row.scene}: {row.problem}"
    yield from (f"Skipped: {scene}: {reason}" for scene, reason in comparison.skipped.items())
