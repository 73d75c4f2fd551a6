"""The output folder: all models of a run, largest first, and what the report says about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.synthetic import make_problem
from tests.test_solve import quiet, side_by_side
from vgpa.colmap.model import read_model
from vgpa.output import describe_models, write_models
from vgpa.report.summary import summarize
from vgpa.solution import Solution
from vgpa.solve import solve
from vgpa.stages import StageLog


@pytest.fixture(scope="module")
def solution() -> Solution:
    """Two models, of six and of four images, and two images that match each other only."""
    parts = [make_problem(num, 80, noise_px=0.3, seed=num).problem for num in (4, 6, 2)]
    return solve(side_by_side(side_by_side(parts[0], parts[1]), parts[2]), quiet(), StageLog())


def test_models_are_numbered_by_size(solution: Solution, tmp_path: Path) -> None:
    write_models([part.model for part in solution.parts], solution.problem.keypoints, tmp_path)
    assert [read_model(tmp_path / "sparse" / str(k))[0].num_registered for k in (0, 1)] == [6, 4]


def test_models_of_an_earlier_run_do_not_stay(solution: Solution, tmp_path: Path) -> None:
    models, keypoints = [part.model for part in solution.parts], solution.problem.keypoints
    write_models(models, keypoints, tmp_path)
    write_models(models[:1], keypoints, tmp_path)
    assert [path.name for path in (tmp_path / "sparse").iterdir()] == ["0"]


def test_files_of_others_in_a_model_folder_stay(solution: Solution, tmp_path: Path) -> None:
    models, keypoints = [part.model for part in solution.parts], solution.problem.keypoints
    write_models(models, keypoints, tmp_path)
    (tmp_path / "sparse" / "1" / "notes.txt").write_text("mine")
    write_models(models[:1], keypoints, tmp_path)
    assert [path.name for path in (tmp_path / "sparse" / "1").iterdir()] == ["notes.txt"]


def test_the_report_says_which_model_an_image_is_in(solution: Solution) -> None:
    summary = describe_models(summarize(solution, solution.states, quiet(), StageLog()), solution)
    assert [(model["folder"], model["num_registered"]) for model in summary["models"]] == [
        ("sparse/0", 6),
        ("sparse/1", 4),
    ]
    rows = summary["images"]
    assert [row["model"] for row in rows] == [1] * 4 + [0] * 6 + [None] * 2
    assert all((row["state"] == "registered") == (row["model"] is not None) for row in rows)
    assert all((row["num_points"] > 0) == (row["model"] is not None) for row in rows)
