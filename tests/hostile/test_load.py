"""Load in small: the graphs and databases of `benchmarks/reliability.py graph` and `load`, to the end."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.hostile.runner import ROOT
from vgpa import config as presets
from vgpa.pipeline import map_database


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("reliability_load")


def test_a_wide_graph_is_placed(load: ModuleType) -> None:
    answer = load.run_measured([sys.executable, load.__file__, "graph", "120", "1000"]).answer
    assert answer["num_edges"] == 1000
    assert answer["num_known"] == 120
    assert answer["rotation_deg"] < 1.0


def test_a_block_is_mapped_to_the_end(load: ModuleType, tmp_path: Path) -> None:
    load.make_block(tmp_path / "block.db", 16)
    result = map_database(tmp_path / "block.db", tmp_path / "out", presets.fast())
    assert result.reconstruction.num_registered == 16
    assert result.summary["median_error_px"] < 2 * load.NOISE_PX


def test_growth_is_the_power_of_the_size(load: ModuleType) -> None:
    costs = {size: load.Cost(size**1.5, size, size**0.5, {}) for size in (250, 500, 1000)}
    assert "time with the power 1.50, processor time with the power 1.00, memory with the power 0.50" in load._growth(
        costs
    )
