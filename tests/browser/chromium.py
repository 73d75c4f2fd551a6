"""A headless Chromium with WebGL, driven by playwright; also for benchmarks/report_speed.py."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = ["--no-sandbox", "--enable-unsafe-swiftshader"]
"""As on a machine without a graphics card: WebGL is drawn by the processor, and so is the page."""


@contextmanager
def launch() -> Iterator[Any]:
    """Playwright's browser, closed at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()
