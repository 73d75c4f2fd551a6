"""What a table says follows from its records: means, spreads, the best figures, and every difference that matters."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import pytest

from vgpa.benchmark.compare import MEAN, Comparison, Row, compare
from vgpa.benchmark.offers import Offer
from vgpa.benchmark.records import Record, Result
from vgpa.benchmark.render import escape_latex, to_csv, to_latex, to_markdown, write_comparison
from vgpa.benchmark.scenes import ScenePlace
from vgpa.benchmark.sweep import Plan, Swept
from vgpa.benchmark.tables import TABLES


@dataclass(frozen=True)
class Named:
    """A method that is never run."""

    name: str
    label: str
    note: str = ""
    is_measured: bool = True

    def run(self, offer: Offer, seed: int) -> Result:
        raise AssertionError("tables are made from records alone")


METHODS = (Named("a", "Alpha", "Alpha is special."), Named("b", "Beta_2"))


def record(scene: str, method: str, rotation_deg: float, seed: int = 0, **others: float) -> Record:
    figures = {"registered": 10.0, "rotation_deg": rotation_deg, "translation": 0.5, "seconds": 7.0} | others
    return Record(scene, method, "plain", seed, "somewhere", 10, 1.5, Result(figures))


def table_of(
    *records: Record, table: str = "strecha_blendedmvs", skipped: dict[str, str] | None = None, num_seeds: int = 1
) -> Comparison:
    places = [ScenePlace(name, "folder", Path("/nowhere")) for name in dict.fromkeys(r.scene for r in records)]
    plan = Plan(tuple(places), METHODS, TABLES[table].setups, num_seeds, 30, Path("/nowhere"))
    return compare(TABLES[table], plan, Swept(records, skipped or {}))


def row_of(comparison: Comparison, scene: str, method: str, is_published: bool = False) -> Row:
    (row,) = [
        row for row in comparison.rows if (row.scene, row.method, row.is_published) == (scene, method, is_published)
    ]
    return row


def best(row: Row) -> set[str]:
    return {key for key, figure in row.figures.items() if figure.is_best}


def test_the_papers_figures_stand_beside_ours_as_they_are_printed() -> None:
    comparison = table_of(record("entry-P10", "a", 0.02))
    figures = row_of(comparison, "entry-P10", "VGPA", is_published=True).figures
    assert {key: figure.text for key, figure in figures.items()} == {
        "registered": "10",
        "rotation_deg": "0.004",
        "translation": "0.0005",
        "seconds": "7",
    }
    methods = [row.method for row in comparison.rows if row.is_published]
    assert methods == ["VGPA", "VGGT", "MASt3R", "VGGSfM", "Theia", "COLMAP", "GLOMAP"]


def test_the_best_is_found_among_equals_of_protocol() -> None:
    comparison = table_of(record("entry-P10", "a", 0.02, seconds=9.0), record("entry-P10", "b", 0.03))
    assert best(row_of(comparison, "entry-P10", "Alpha")) == {"rotation_deg"}
    assert best(row_of(comparison, "entry-P10", "Beta_2")) == {"seconds"}
    assert best(row_of(comparison, "entry-P10", "VGPA", is_published=True)) == {"rotation_deg", "translation"}


def test_what_looks_equal_is_equal() -> None:
    comparison = table_of(record("entry-P10", "a", 0.0201), record("entry-P10", "b", 0.0199))
    assert all(not best(row) for row in comparison.rows if not row.is_published)


def test_seeds_become_a_mean_and_a_spread() -> None:
    records = [record("entry-P10", "a", value, seed) for seed, value in enumerate((0.01, 0.02, 0.03))]
    figure = row_of(table_of(*records, num_seeds=3), "entry-P10", "Alpha").figures["rotation_deg"]
    assert figure.value == pytest.approx(0.02)
    assert figure.text == "0.020 ± 0.010"


def test_means_count_every_scene_once_and_say_what_they_lack() -> None:
    records = [record("entry-P10", "a", 1.0), record("fountain-P11", "a", 2.0), record("entry-P10", "b", 4.0)]
    failed = Record("fountain-P11", "b", "plain", 0, "somewhere", 11, None, Result(error="no pair"))
    comparison = table_of(*records, failed)
    assert row_of(comparison, MEAN, "Alpha").figures["rotation_deg"].value == pytest.approx(1.5)
    beta = row_of(comparison, MEAN, "Beta_2")
    assert beta.figures["rotation_deg"].value == pytest.approx(4.0)
    assert all(not best(row) for row in comparison.rows if row.scene == MEAN and not row.is_published)
    assert [comparison.notes[number - 1] for number in beta.notes] == ["Mean over 1 of 2 scenes."]
    published = row_of(comparison, MEAN, "VGPA", is_published=True).figures
    assert published["rotation_deg"].value == pytest.approx((0.004 + 0.009) / 2)
    assert "No model: Beta_2 on fountain-P11: no pair" in to_markdown(comparison)


def test_a_method_that_made_the_reference_is_no_competitor() -> None:
    comparison = table_of(
        record("entry-P10", "a", 0.0, auc1=0.99999), record("entry-P10", "b", 0.1), record("entry-P10", "b", 0.3)
    )
    row = row_of(comparison, "entry-P10", "Alpha")
    assert not best(row)
    assert any("not counted among the best" in comparison.notes[number - 1] for number in row.notes)


def test_other_data_is_marked() -> None:
    comparison = table_of(record("Alamo", "a", 1.0), record("kitchen", "a", 1.0), table="onedsfm")
    published = row_of(comparison, "Alamo", "VGPA", is_published=True)
    assert [comparison.notes[number - 1] for number in published.notes] == [
        "The paper's Alamo has 573 images, this one 10."
    ]
    text = to_markdown(comparison)
    assert "Not scenes of the paper's table: kitchen." in text
    assert "Scenes of the paper that are not here: Ellis Island, " in text
    assert "[1] Alpha is special." in text


def test_setups_have_rows_of_their_own() -> None:
    setups = [
        Record("kitchen", "a", name, 0, "x", 9, None, Result({"registered": 9.0})) for name in ("plain", "nearest30")
    ]
    comparison = table_of(*setups, table="graph_density")
    assert [row.method for row in comparison.rows] == ["Alpha, all pairs", "Alpha, 30 nearest neighbours"]


def test_the_ablation_is_a_mean_of_all_scenes_beside_the_papers() -> None:
    records = [
        Record(scene, "a", "plain", 0, "x", 9, None, Result({"pose_auc30": value}))
        for scene, value in (("one", 0.2), ("two", 0.4))
    ]
    comparison = table_of(*records, table="ablation")
    assert row_of(comparison, MEAN, "Alpha").figures["pose_auc30"].text == "0.300"
    assert len([row for row in comparison.rows if row.is_published]) == 6


def test_what_is_missing_makes_a_table_incomplete() -> None:
    good = record("entry-P10", "a", 1.0)
    crash = Record("entry-P10", "b", "plain", 0, "x", 10, None, Result(error="killed", is_final=False))
    hopeless = Record("entry-P10", "b", "plain", 0, "x", 10, None, Result(error="no model"))
    assert table_of(good).is_complete
    assert table_of(good, hopeless).is_complete, "no model is an answer"
    assert not table_of(good, crash).is_complete
    skipped = table_of(good, skipped={"other": "its file is cut short"})
    assert not skipped.is_complete
    for text in (to_markdown(skipped), to_csv(skipped), to_latex(skipped)):
        assert "its file is cut short" in text


def test_csv_holds_the_numbers_in_full() -> None:
    comparison = table_of(record("entry-P10", "a", 1 / 3), record("entry-P10", "b", 2 / 3))
    rows = list(csv.DictReader(io.StringIO(to_csv(comparison))))
    assert len(rows) == len(comparison.rows)
    assert [float(row["rotation_deg"]) for row in rows if row["source"] == "here"] == [1 / 3, 2 / 3]
    assert {row["source"] for row in rows} == {"here", "paper"}


def test_markdown_and_latex_have_the_same_cells() -> None:
    comparison = table_of(record("entry-P10", "a", 0.1), record("entry-P10", "b", 0.2))
    markdown = [line for line in to_markdown(comparison).splitlines() if line.startswith("|")]
    latex = [line for line in to_latex(comparison).splitlines() if line.endswith(r"\\")]
    assert len({line.count(" | ") for line in markdown}) == 1
    assert len({line.count(" & ") for line in latex}) == 1
    assert len(markdown) - 1 == len(latex) == len(comparison.rows) + 1
    assert markdown[2].startswith("| entry-P10 | 10 | 1.5 | Alpha [1] |")
    assert markdown[4].startswith("|  | 10 | 4.8 | VGPA (paper) |"), "the paper's own facts stand beside ours"
    assert "**0.100**" in markdown[2]
    assert r"\textbf{0.100}" in latex[1]
    assert r"Beta\_2" in latex[2]


def test_latex_prints_every_sign() -> None:
    assert escape_latex("50% of a_b & c\\d ± {e}") == r"50\% of a\_b \& c\textbackslash{}d $\pm$ \{e\}"


def test_all_formats_are_written(tmp_path: Path) -> None:
    paths = write_comparison(table_of(record("entry-P10", "a", 1.0)), tmp_path / "new")
    assert [path.name for path in paths] == [f"strecha_blendedmvs.{ending}" for ending in ("md", "csv", "tex")]
    assert all(path.read_text() for path in paths)
