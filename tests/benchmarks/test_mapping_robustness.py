"""The page of damaged scenes: means over complete scenes, and plots that any reader of SVG can draw."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

AREAS = {"default": {"wrong-40": 0.6}, "glomap": {"wrong-40": 0.2, "top-08": 0.5}}
"""RA-AUC@5 where it is not 0.8."""


def records(scene: str, methods: tuple[str, ...] = ("default", "glomap")) -> list[dict[str, Any]]:
    copies = ["", *(f"wrong-{n}" for n in (10, 20, 30, 40)), *(f"top-{n:02d}" for n in (30, 15, 8))]
    return [
        {
            "scene": f"{scene}/{copy}" if copy else scene,
            "method": method,
            "error": None,
            "num_images": 5,
            "num_registered": 4,
            "scores": {"ra_auc": {"5": AREAS[method].get(copy, 0.8)}},
        }
        for method in methods
        for copy in copies
    ]


@pytest.fixture
def page(script: Callable[[str], ModuleType], tmp_path: Path) -> str:
    runs = [*records("first"), *records("second"), *records("unfinished", ("default",))]
    runs += records("statue_of_liberty_135")
    next(run for run in runs if run["scene"] == "second/wrong-40" and run["method"] == "default")["scores"] = None
    script("mapping_robustness").write_page(runs, "How it was made.", tmp_path)
    return (tmp_path / "robustness.md").read_text()


def test_the_mean_is_over_complete_scenes_with_a_good_reference(page: str) -> None:
    assert "| default | 0.800 | 0.800 (100%) | 0.800 (100%) | 0.800 (100%) | 0.300 (37%) |" in page
    assert "| glomap | 0.800 | 0.800 (100%) | 0.800 (100%) | 0.500 (62%) |" in page
    assert "Mean RA-AUC@5 over the scenes below, without statue_of_liberty_135, whose reference is weak" in page
    assert "| statue_of_liberty_135 (5) | glomap | 0.800, 4 |" in page
    assert "unfinished" not in page
    assert "How it was made." in page


@pytest.mark.usefixtures("page")
def test_plots_show_every_method_in_every_scene(tmp_path: Path) -> None:
    for name, num_panels in (("robustness", 2), ("robustness-wrong", 3), ("robustness-missing", 3)):
        picture = ElementTree.parse(tmp_path / "figures" / f"{name}.svg").getroot()
        panels = [part for part in picture if part.tag.endswith("}g")]
        assert len(panels) == num_panels
        for panel in panels:
            num_curves = sum(part.get("fill") == "none" for part in panel)
            assert num_curves == 2
        words = {part.text for part in picture if part.tag.endswith("}text")}
        assert words == {"default", "glomap"}


def test_nothing_complete_is_a_sentence(script: Callable[[str], ModuleType], tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no scene has all runs of wrong pairs yet"):
        script("mapping_robustness").write_page(records("first")[:3], "", tmp_path)
