"""Folders that hold no model: there must be none, and a sentence that says so. A wrong model would be worse."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile.photo_sets import PHOTO_SETS
from tests.hostile.runner import Command, Ended, complaint_about, run_commands

WITHOUT_MODEL = [chosen for chosen in PHOTO_SETS if chosen.num_models == 0]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Ended]]:
    """The output folder of every set, and how its run ended."""
    folder = tmp_path_factory.mktemp("sets")
    commands = []
    for number, chosen in enumerate(WITHOUT_MODEL):
        photos, out = folder / f"photos-{number}", folder / f"out-{number}"
        chosen.make(photos)
        commands.append(Command(("reconstruct", str(photos), "-o", str(out), "-q", "--preset", "fast"), 120))
    ends = list(run_commands(commands))
    return {s.name: (folder / f"out-{k}", end) for k, (s, end) in enumerate(zip(WITHOUT_MODEL, ends, strict=True))}


@pytest.mark.parametrize("name", [chosen.name for chosen in WITHOUT_MODEL])
def test_no_model_comes_of_what_holds_none(name: str, ended: dict[str, tuple[Path, Ended]]) -> None:
    out, end = ended[name]
    assert complaint_about(end) is None
    assert end.exit_code == 4
    assert not (out / "sparse").exists()
