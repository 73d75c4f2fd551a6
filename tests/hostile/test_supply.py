"""What strangers install: a wheel and an sdist with everything that the program needs, and nothing else.

`benchmarks/reliability.py supply` also installs the wheel where there is no checkout, and runs the demo there.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.hostile.packages import build, files_in_wheel, files_of_package, unpack
from tests.hostile.runner import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


def test_a_wheel_holds_the_package_byte_by_byte(wheel: Path) -> None:
    inside, wanted = files_in_wheel(wheel), files_of_package()
    assert sorted(inside) == sorted(wanted)
    assert inside == wanted


@pytest.mark.parametrize(
    "name",
    [
        "vgpa/py.typed",
        "vgpa/network/weights/default.safetensors",
        "vgpa/network/weights/paper.safetensors",
        "vgpa/report/template.html",
        "vgpa/report/page.css",
        "vgpa/report/page.js",
        "vgpa/benchmark/paper/auc.csv",
    ],
)
def test_what_the_program_reads_from_itself_is_inside(name: str, wheel: Path) -> None:
    assert files_in_wheel(wheel)[name] or name.endswith("py.typed")


def test_an_sdist_gives_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    source = unpack(build("sdist", tmp_path / "dist"), tmp_path / "source")
    again = build("wheel", tmp_path / "again", source)
    assert files_in_wheel(again) == files_in_wheel(wheel)


def test_all_that_the_program_imports_is_pinned() -> None:
    """`constraints.txt` names the versions that are tested together, of the program and of its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"": project["dependencies"]} | project["optional-dependencies"]
    names = {
        re.split(r"[><=;]", asked)[0].strip() for name, group in groups.items() if name != "dev" for asked in group
    }
    pinned = {line.split("==")[0] for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()}
    assert len(names) > 10
    assert names - pinned == set()
