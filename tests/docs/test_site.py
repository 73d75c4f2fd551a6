"""The documentation as a site: it builds without a warning and needs nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_builds_without_a_warning(site: Path) -> None:
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert {path.parent.name for path in site.glob("*/index.html")} >= pages


def test_every_page_can_be_reached(site: Path) -> None:
    home = (site / "index.html").read_text()
    for path in (ROOT / "docs").glob("*.md"):
        if path.stem != "index":
            assert f'href="{path.stem}/"' in home, f"docs/{path.name} is not in the navigation of mkdocs.yml"


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        fetched = re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(https?:[^"]*)"', page.read_text())
        assert fetched == [], f"{page.relative_to(site)} needs {fetched}"


def test_pictures_are_small() -> None:
    for path in (ROOT / "docs").rglob("*"):
        if path.suffix in (".png", ".jpg", ".svg"):
            assert path.stat().st_size < 300_000, path.name
