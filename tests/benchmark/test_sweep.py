"""Laws of a sweep: every run once, what is done is not done again, and one bad scene does not stop the others."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.datasets.layouts import LAYOUTS, make_truth
from vgpa.benchmark.offers import Offer
from vgpa.benchmark.records import Result
from vgpa.benchmark.scenes import ScenePlace, choose_scenes, find_scenes
from vgpa.benchmark.sweep import Plan, sweep
from vgpa.benchmark.tables import TABLES, Setup
from vgpa.compute import LocalExecutor
from vgpa.errors import InputError

DONE = Result({"registered": 6.0})


@dataclass(frozen=True)
class Counting:
    """A method that notes each of its runs in a file, and gives what it is told to."""

    name: str
    notes: Path
    result: Result = DONE
    is_measured: bool = True
    label: str = ""
    note: str = ""

    def run(self, offer: Offer, seed: int) -> Result:
        with self.notes.open("a") as file:
            file.write(f"{offer.scene} {self.name} {seed}\n")
        return self.result

    @property
    def runs(self) -> list[str]:
        return self.notes.read_text().splitlines() if self.notes.exists() else []


@pytest.fixture
def places(tmp_path: Path) -> list[ScenePlace]:
    """Three scenes: two that are whole, and one whose reference is cut short."""
    root = tmp_path / "data"
    root.mkdir()
    for number, name in enumerate(("first", "second", "third")):
        LAYOUTS["folder"].write(root, make_truth())
        (root / "plaza").rename(root / name)
        if number == 1:
            images = root / name / "reference" / "images.bin"
            images.write_bytes(images.read_bytes()[:100])
    return find_scenes(root, None)


def make_plan(places: list[ScenePlace], methods: list[Counting], folder: Path, num_seeds: int = 1) -> Plan:
    return Plan(tuple(places), tuple(methods), (Setup(),), num_seeds, 30, folder)


def test_every_run_takes_place_once_and_is_kept(places: list[ScenePlace], tmp_path: Path) -> None:
    good = [places[0], places[2]]
    methods = [Counting(name, tmp_path / name) for name in ("a", "b")]
    plan = make_plan(good, methods, tmp_path / "out", num_seeds=2)
    swept = sweep(plan, LocalExecutor())
    assert plan.num_done() == len(plan.keys) == len(swept.records) == 8
    assert {(r.scene, r.method, r.seed) for r in swept.records} == {
        (scene, method, seed) for scene in ("first", "third") for method in "ab" for seed in (0, 1)
    }
    assert all(record.num_images == 6 for record in swept.records)
    again = sweep(plan, LocalExecutor())
    assert again.records == swept.records
    assert [sorted(method.runs) for method in methods] == [
        sorted(f"{scene} {method} {seed}" for scene in ("first", "third") for seed in (0, 1)) for method in "ab"
    ]


def test_a_scene_that_cannot_be_read_is_skipped_and_named(places: list[ScenePlace], tmp_path: Path) -> None:
    method = Counting("a", tmp_path / "a")
    swept = sweep(make_plan(places, [method], tmp_path / "out"), LocalExecutor())
    assert [record.scene for record in swept.records] == ["first", "third"]
    assert list(swept.skipped) == ["second"]
    assert "second" in swept.skipped["second"]
    assert "cannot be read as a COLMAP model" in swept.skipped["second"]


def test_no_model_is_an_answer_but_a_crash_is_tried_again(places: list[ScenePlace], tmp_path: Path) -> None:
    answer = Counting("a", tmp_path / "a", Result(error="no model"))
    crash = Counting("b", tmp_path / "b", Result(error="killed", is_final=False))
    plan = make_plan(places[:1], [answer, crash], tmp_path / "out")
    for _ in range(2):
        sweep(plan, LocalExecutor())
    assert (len(answer.runs), len(crash.runs)) == (1, 2)


def test_a_method_that_breaks_is_reported_with_its_scene(places: list[ScenePlace], tmp_path: Path) -> None:
    broken = Counting("a", tmp_path)  # a folder cannot be written to
    swept = sweep(make_plan(places[:1], [broken], tmp_path / "out"), LocalExecutor())
    assert "IsADirectoryError" in swept.skipped["first"]


def test_a_damaged_record_is_run_again(places: list[ScenePlace], tmp_path: Path) -> None:
    method = Counting("a", tmp_path / "a")
    plan = make_plan(places[:1], [method], tmp_path / "out")
    sweep(plan, LocalExecutor())
    (record,) = (tmp_path / "out" / "runs" / "first").glob("*.json")
    record.write_text(record.read_text()[:20])
    assert len(sweep(plan, LocalExecutor()).records) == 1
    assert len(method.runs) == 2
    assert json.loads(record.read_text())["num_images"] == 6


def test_another_scene_of_the_same_name_is_run_too(places: list[ScenePlace], tmp_path: Path) -> None:
    method = Counting("a", tmp_path / "a")
    sweep(make_plan(places[:1], [method], tmp_path / "out"), LocalExecutor())
    places[0].root.rename(tmp_path / "moved")
    moved = replace(places[0], root=tmp_path / "moved")
    sweep(make_plan([moved], [method], tmp_path / "out"), LocalExecutor())
    assert len(method.runs) == 2


def test_no_method_is_always_the_first(places: list[ScenePlace], tmp_path: Path) -> None:
    methods = [Counting(name, tmp_path / name) for name in "ab"]
    plan = make_plan([places[0], places[2]], methods, tmp_path)
    assert [next(iter(plan.runs_of(place)))[0].name for place in plan.places] == ["a", "b"]


def test_scenes_of_the_papers_table_go_first(tmp_path: Path) -> None:
    places = [ScenePlace(name, "folder", tmp_path) for name in ("Tower_of_London", "kitchen")]
    assert choose_scenes(places, TABLES["onedsfm"], ()) == places[:1]
    assert choose_scenes(places, TABLES["onedsfm"], ("kitchen",)) == places[1:]
    assert choose_scenes(places, TABLES["megadepth"], ()) == places
    with pytest.raises(InputError, match=r"no scene 'attic'\. The folder has Tower_of_London, kitchen"):
        choose_scenes(places, TABLES["megadepth"], ("attic",))


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_are_told_apart(name: str, tmp_path: Path) -> None:
    layout = LAYOUTS[name]
    layout.write(tmp_path, make_truth())
    found = {place.name: place.layout for place in find_scenes(tmp_path, None)}
    assert found[layout.scene] == layout.dataset


def test_a_database_decides_between_layouts(places: list[ScenePlace]) -> None:
    folder = places[0].root / "first"
    (folder / "sparse").mkdir()
    (folder / "reference").rename(folder / "sparse" / "0")
    assert {place.layout for place in find_scenes(places[0].root, None)} == {"folder"}
    (folder / "database.db").unlink()
    assert find_scenes(places[0].root, None)[0].layout == "megadepth"


def test_an_empty_folder_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no scenes"):
        find_scenes(tmp_path, None)
    with pytest.raises(InputError, match="no folder"):
        find_scenes(tmp_path / "nowhere", None)
