"""Hostile databases, tracks, weights, hloc files and models: each is refused in one sentence, or used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile.commands import Case, make_cases
from tests.hostile.runner import Ended, run_commands

PARTS = {"databases": 60, "tracks": 25, "weights": 20, "hloc": 25, "models": 40, "healthy": 5}
"""Folders of the corpus, and how many cases they hold at least."""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[Case, Ended]]]:
    """How the command of every case ended, by folder."""
    folder = tmp_path_factory.mktemp("hostile")
    cases = make_cases(folder)
    found: dict[str, list[tuple[Case, Ended]]] = {part: [] for part in PARTS}
    for case, end in zip(cases, run_commands([case.command for case in cases]), strict=True):
        found[case.hostile.path.relative_to(folder).parts[0]].append((case, end))
    return found


@pytest.mark.parametrize("part", PARTS)
def test_nothing_to_complain_about(part: str, ended: dict[str, list[tuple[Case, Ended]]]) -> None:
    assert len(ended[part]) >= PARTS[part]
    complaints = {case.hostile.path.name: case.complaint(end) for case, end in ended[part]}
    assert {name: what for name, what in complaints.items() if what is not None} == {}


def test_no_file_ran_code(ended: dict[str, list[tuple[Case, Ended]]], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Pickles, headers and scripts of the corpus try to make a file of this name."""
    places = [Path.cwd(), Path(__file__).parents[2], tmp_path_factory.getbasetemp()]
    assert not [path for place in places for path in place.glob("pwned*")]


def test_refusals_are_quick_and_small(ended: dict[str, list[tuple[Case, Ended]]]) -> None:
    """Files that claim millions are refused before memory is taken for them."""
    claims = [end for part in ended.values() for case, end in part if "claims" in case.hostile.path.stem]
    assert len(claims) > 15
    assert max(end.peak_mb for end in claims) < 1000
