"""A headless Chromium for the tests of pages; without one they are skipped.

`VGPA_SCREENSHOTS=DIR` keeps the pictures that the tests take; else they lie in pytest's temporary folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.browser.chromium import CHROMIUM, launch

WAIT_MS = 60_000


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, driven by playwright."""
    pytest.importorskip("playwright.sync_api", reason="browser tests need playwright")
    if CHROMIUM is None:
        pytest.skip("browser tests need Chromium: apt-get install chromium")
    with launch() as running:
        yield running


class Tab:
    """One page, what went wrong on it, and pictures of it.

    Attributes:
        page: playwright's page.
        troubles: dialogs, errors of scripts, and requests that left the machine.
    """

    def __init__(self, page: Any, folder: Path, prefix: str) -> None:
        self.page, self._folder, self._prefix = page, folder, prefix
        self.troubles: list[str] = []
        page.set_default_timeout(WAIT_MS)
        page.on("dialog", self._on_dialog)
        page.on("pageerror", lambda error: self.troubles.append(f"script error: {error}"))
        page.on("request", self._on_request)

    def picture(self, name: str, selector: str = "body") -> np.ndarray:  # type: ignore[type-arg]
        """(height, width, 3) pixels of an element, kept as a file too."""
        data = self.page.locator(selector).screenshot(path=self._folder / f"{self._prefix}{name}.png")
        return np.asarray(Image.open(BytesIO(data)).convert("RGB"))

    def wait_until(self, is_true: Callable[[], bool], what: str) -> None:
        """Ask again and again until it is true, or fail."""
        for _ in range(60):
            if is_true():
                return
            self.page.wait_for_timeout(500)
        pytest.fail(f"never happened: {what}")

    def _on_dialog(self, dialog: Any) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _on_request(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:", "blob:", "http://127.0.0.1:")):
            self.troubles.append(f"request to {request.url}")


@pytest.fixture(scope="module", params=[(1280, 900), (390, 844)], ids=["desktop", "phone"])
def tab(request: pytest.FixtureRequest, browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """An empty page, wide and narrow, for all tests of a module: opening what they look at takes longest."""
    folder = Path(os.environ.get("VGPA_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    width, height = request.param
    page = browser.new_page(viewport={"width": width, "height": height})
    yield Tab(page, folder, f"{width}-")
    page.close()


def num_colors(pixels: np.ndarray) -> int:  # type: ignore[type-arg]
    """Number of different colours in a picture: one or two where nothing was drawn."""
    return len(np.unique(pixels.reshape(-1, 3), axis=0))
