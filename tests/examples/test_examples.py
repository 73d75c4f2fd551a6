"""Every example runs as its first line says, and gives what it promises."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_quick_start(demo_photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = load("quick_start").main(demo_photos, tmp_path)
    assert result.reconstruction.num_registered == 6
    printed = capsys.readouterr().out
    assert printed.startswith("6 of 6 images")
    assert "view_003.jpg: registered" in printed


def test_from_database(synthetic_database: tuple[Path, Path], tmp_path: Path) -> None:
    example = load("from_database")
    result = example.main(synthetic_database[0], tmp_path)
    assert result.reconstruction.num_registered == 12
    example.MIN_NUM_INLIERS = 10**6
    with pytest.raises(Exception, match="No two images match"):
        example.main(synthetic_database[0], tmp_path)


def test_sparse_graph() -> None:
    scores = load("sparse_graph").main()
    assert scores["averaged"].num_registered == 40
    assert scores["averaged"].auc[5] > 0.8
    assert scores["network"].auc[30] > 0.9


def test_train_tiny(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 <= load("train_tiny").main(tmp_path / "run") <= 1
    assert "step 20: loss" in capsys.readouterr().out
    assert (tmp_path / "run" / "best.safetensors").is_file()


def test_every_example_has_a_test() -> None:
    tests = "".join(path.read_text() for path in Path(__file__).parents[1].rglob("test_*.py"))
    for path in EXAMPLES.glob("*.py"):
        assert f'"{path.stem}"' in tests or f"{path.name}" in tests, f"no test runs {path.name}"
