"""The example of docs/datasets.md is a dataset: it runs as it is printed."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.datasets.layouts import make_truth, write_photos
from vgpa.datasets import DATASET_NAMES
from vgpa.errors import InputError

PAGE = Path(__file__).parents[2] / "docs" / "datasets.md"


@pytest.fixture(scope="module")
def mine() -> ModuleType:
    block = re.search(r'```python title="mine.py"\n(.*?)```', PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    module = ModuleType("mine")
    exec(compile(block[1], "mine.py", "exec"), module.__dict__)
    return module


def test_the_example_loads_a_scene(mine: ModuleType, tmp_path: Path) -> None:
    truth = make_truth()
    names, cams = truth.problem.images.names, truth.cam_from_world
    write_photos(tmp_path / "garden", names)
    rows = np.concatenate([cams.quaternion_wxyz, cams.translation], axis=1).tolist()
    lines = [f"{name} {' '.join(map(repr, row))}" for name, row in zip(names, rows, strict=True)]
    (tmp_path / "garden" / "poses.txt").write_text("\n".join(lines) + "\n")
    assert mine.list_scenes(tmp_path) == ["garden"]
    scene = mine.load_scene(tmp_path, "garden")
    assert scene.reference.images.names == names
    assert scene.reference.images.cameras[0].width_px == 1000
    np.testing.assert_allclose(scene.reference.poses.cam_from_world.centre, cams.centre)
    (tmp_path / "garden" / "poses.txt").write_text("photo_00.jpg 1 0 0\n")
    with pytest.raises(InputError, match=r"poses\.txt cannot be read as a table of poses"):
        mine.load_scene(tmp_path, "garden")


def test_the_page_names_every_dataset() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert named == set(DATASET_NAMES)
