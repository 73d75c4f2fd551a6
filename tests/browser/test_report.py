"""report.html in a real browser: it draws, it answers the mouse, and names of files do nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from benchmarks.report_speed import open_report, write_report
from tests.browser.conftest import Tab, num_colors
from tests.report.made_up import EVIL_NAMES, all_pairs, model, ring_of_cameras, summary_of
from vgpa.report.page import SCRIPTS, write_page

NUM_IMAGES = 12
EVIL, MARKED = 8, 4
"""Cameras that no points hide: one with a harmful name, and one whose name holds tags and entities."""
NAMES = [f"sub/photo_{k:02}.jpg" for k in range(NUM_IMAGES)]
NAMES[EVIL : EVIL + len(EVIL_NAMES)] = EVIL_NAMES
NAMES[MARKED] = "<a href=\"javascript:alert(4)\">a</a> <b>b</b> &amp; 'c'.jpg"

# Where cameras are on the screen.
APEXES = """async () => {
  const view = await sceneIsDone;
  const box = view.canvas.getBoundingClientRect();
  return view.cornersOnScreen().map(([apex]) => ({ x: box.left + apex[0], y: box.top + apex[1] }));
}"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with everything on it: harmful names, doubtful and missing images with pictures, a second model."""
    reconstruction = model(ring_of_cameras(NUM_IMAGES), 3000, NAMES)
    summary = summary_of(reconstruction, all_pairs(NUM_IMAGES))
    summary["images"][0]["doubts"] = ["few points", "far away"]
    missing = ["<img src=x onerror=alert(2)>/lost.jpg", "lost.jpg", "broken.jpg", "elsewhere.jpg"]
    states = ["no_matches", "suspicious", "unreadable", "registered"]
    summary["images"] += [
        {"name": name, "state": state, "num_points": 0, "mean_error_px": None, "model": None, "doubts": []}
        for name, state in zip(missing, states, strict=True)
    ]
    summary["images"][-1]["model"] = 1
    summary["models"].append({"folder": "sparse/1", "num_registered": 1, "num_points": 0, "mean_error_px": 0.0})
    summary["num_images"] = len(summary["images"])
    folder = tmp_path_factory.mktemp("report")
    photos = folder / "photos"
    for name in (NAMES[0], *missing[:2]):
        (photos / name).parent.mkdir(parents=True, exist_ok=True)
        Image.effect_mandelbrot((320, 240), (-2, -1.2, 1, 1.2), 60).save(photos / name, "JPEG")
    path = folder / "report.html"
    write_page(summary, reconstruction, path, "made up/<img src=x onerror=alert(3)>", photos)
    return path


@pytest.fixture(scope="module")
def opened(tab: Tab, report: Path) -> Tab:
    """The page after its 3D view was drawn."""
    tab.page.goto(report.as_uri())
    tab.page.wait_for_selector("#view3d canvas")
    tab.wait_until(lambda: num_colors(tab.picture("scene", "#view3d")) > 200, "the 3D view is drawn")
    return tab


def hover_over_camera(tab: Tab, camera: int) -> str:
    """Put the mouse on a camera, and give back what is said there."""
    tab.page.locator("#view3d").scroll_into_view_if_needed()
    spot = tab.page.evaluate(APEXES)[camera]
    hover = tab.page.locator("#camera-name:visible")

    def is_said() -> bool:
        for step in (6, 3, 0):  # the view asks what is below the mouse while the mouse moves
            tab.page.mouse.move(spot["x"] + step, spot["y"] + step)
            tab.page.wait_for_timeout(100)
        return bool(hover.count())

    tab.wait_until(is_said, "a text at the mouse")
    return str(hover.text_content())


def scroll_through(tab: Tab) -> None:
    """Look at every chart: each is drawn when it comes near the screen."""
    for chart in tab.page.locator("#charts .chart").all():
        chart.scroll_into_view_if_needed()
    tab.wait_until(lambda: tab.page.locator(".plot .main-svg").count() >= 5, "the histograms are drawn")


def test_the_3d_view_is_drawn_and_answers(opened: Tab) -> None:
    tab, pixels = opened, opened.picture("scene", "#view3d")
    corner = pixels[4, 4].astype(int)
    is_drawn = np.abs(pixels.astype(int) - corner).max(axis=-1) > 40
    assert 0.005 < is_drawn.mean() < 0.9
    assert hover_over_camera(tab, MARKED) == f"{NAMES[MARKED]}mean error 0.50 px"
    tab.picture("hover", "#view3d")
    tab.page.get_by_role("button", name="Error", exact=True).click()
    tab.wait_until(lambda: (tab.picture("errors", "#view3d") != pixels).mean() > 0.005, "points change their colours")
    assert tab.troubles == []


def test_harmful_names_are_shown_and_do_nothing(opened: Tab) -> None:
    tab, page = opened, opened.page
    assert hover_over_camera(tab, EVIL) == f"{NAMES[EVIL]}mean error 0.50 px"
    # The policy alone would already stop the handlers; no element may have been made from a name at all.
    assert page.locator("img[src=x]").count() == 0
    assert page.locator("img[onerror]").count() == 0
    assert page.locator("script").count() == len(SCRIPTS) + 2
    for name in NAMES:
        assert page.locator("#images td", has_text=name.split("\u2028")[0]).count() >= 1, name
    assert page.locator("h1").text_content() == "made up/<img src=x onerror=alert(3)>"
    assert tab.troubles == []


def test_images_to_look_at_have_pictures_and_reasons(opened: Tab) -> None:
    tab, page = opened, opened.page
    assert page.locator("#doubtful .reason").count() == 2
    assert page.locator("#doubtful figure").count() == 2
    assert page.locator("#missing .reason").count() == 3
    assert page.locator("#missing figure").count() == 2
    assert page.locator("#missing .name").all_text_contents() == ["broken.jpg"]
    widths = page.locator("figure img").evaluate_all("images => images.map((image) => image.naturalWidth)")
    assert min(widths) > 100
    verdict = page.locator("#verdict").text_content()
    assert verdict.startswith("3 of 16 images missing; the photos fall into 2 separate models")
    tab.picture("look", "#missing")
    assert tab.troubles == []


def test_nothing_is_wider_than_the_screen_and_all_charts_are_drawn(opened: Tab) -> None:
    tab, page = opened, opened.page
    scroll_through(tab)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_role("button", name="Rotation", exact=True).click()
    assert num_colors(tab.picture("graph", "#graph")) > 10
    tab.picture("page")
    assert tab.troubles == []


@pytest.mark.parametrize("num_images", [0, 2])
def test_a_model_without_points_opens_too(browser: Any, tmp_path: Path, num_images: int) -> None:
    reconstruction = model(ring_of_cameras(num_images), 0)
    path = tmp_path / "report.html"
    write_page(summary_of(reconstruction, []) | {"stages": []}, reconstruction, path, "empty")
    tab = Tab(browser.new_page(), tmp_path, "empty-")
    tab.page.goto(path.as_uri())
    tab.page.wait_for_selector("#view3d canvas")
    scroll_through(tab)
    tab.page.close()
    assert tab.troubles == []


def test_charts_wait_until_they_are_wanted(browser: Any, report: Path, tmp_path: Path) -> None:
    """Those far below the screen are drawn when the page is scrolled or printed, so that it opens sooner."""
    tab = Tab(browser.new_page(viewport={"width": 390, "height": 600}), tmp_path, "waiting-")
    open_report(tab.page, report)
    assert tab.page.evaluate("typeof Plotly") == "undefined"
    assert tab.page.locator("#charts .main-svg").count() == 0
    tab.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert tab.page.locator("#charts .plot .main-svg").count() >= 5
    tab.page.close()
    assert tab.troubles == []


def test_the_report_of_300_images_is_small_and_opens_soon(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(path, 300, 100_000)
    assert path.stat().st_size < 10e6
    page = browser.new_page()
    opening = open_report(page, path)
    page.close()
    assert opening.num_points > 99_000
    assert opening.covered > 0.1
    # On a quiet machine both take a fraction of that: benchmarks/report_speed.py.
    assert opening.words_ms < 10_000
    assert opening.scene_ms < 10_000
