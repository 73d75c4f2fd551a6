"""The live viewer in a real browser: it draws, shows what each stage did, and a click on a camera shows its photo."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.browser.conftest import Tab, num_colors
from tests.report.made_up import EVIL_NAMES, model, ring_of_cameras
from vgpa.geometry.rigid import Rigid
from vgpa.scene import Poses, Reconstruction
from vgpa.viewer.load import FINAL, ViewedModel, ViewedRun

pytest.importorskip("viser", reason="the viewer needs viser")

from vgpa.viewer.serve import Server, serve
from vgpa.viewer.world import view_world

CANVAS = "canvas[data-engine]"


@pytest.fixture(scope="module")
def made_up() -> Reconstruction:
    """A model whose first image has a harmful name."""
    return model(ring_of_cameras(4), 3000, list(EVIL_NAMES))


@pytest.fixture(scope="module")
def server(made_up: Reconstruction, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The viewer of that model, with a stage before the final one, and a photo of the first image."""
    photos = tmp_path_factory.mktemp("photos")
    Image.effect_mandelbrot((320, 240), (-2, -1.2, 1, 1.2), 60).save(photos / EVIL_NAMES[0], "JPEG")
    final = made_up.poses.cam_from_world
    network = Poses.of_all(Rigid.from_centre(final.rotation, 1.15 * final.centre))
    viewed = ViewedModel("0", made_up, {"network": network, FINAL: made_up.poses})
    second = model(ring_of_cameras(3), 10)
    run = ViewedRun((viewed, ViewedModel("1", second, {FINAL: second.poses})), photos)
    running = serve(run, "127.0.0.1", 8123)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def opened(tab: Tab, server: Server) -> Tab:
    """The viewer's page once points are drawn."""
    tab.page.goto(server.url)
    tab.page.get_by_text("4 images, 3,000 points").wait_for()
    tab.wait_until(lambda: num_colors(tab.picture("viewer", CANVAS)) > 200, "the viewer draws")
    return tab


def choose(page: Any, label: str, option: str) -> None:
    page.get_by_label(label).first.click()
    page.get_by_role("option", name=option).click()


def spot_of(server: Server, point: np.ndarray) -> tuple[float, float]:  # type: ignore[type-arg]
    """Where a point (3,) of the viewer's world is on the screen."""
    (client,) = server.get_clients().values()
    camera = client.camera
    cam_from_view = Rigid(np.array(camera.wxyz), np.array(camera.position)).inverse()
    x, y, z = cam_from_view.apply(point)
    half_height = camera.image_height / 2
    focal_px = half_height / np.tan(camera.fov / 2)
    return camera.image_width / 2 + focal_px * x / z, half_height + focal_px * y / z


def test_stages_can_be_compared(opened: Tab) -> None:
    tab, page, before = opened, opened.page, opened.picture("viewer", CANVAS)
    assert page.get_by_text("After bundle adjustment").count() == 1
    choose(page, "Poses", "Network")
    page.get_by_text("Median distance from the final poses").wait_for()
    tab.wait_until(lambda: (tab.picture("network", CANVAS) != before).mean() > 0.002, "the cameras move")
    choose(page, "Poses", "Final")
    page.get_by_text("After bundle adjustment").wait_for()
    assert tab.troubles == []


def test_a_click_on_a_camera_shows_its_photo_and_its_harmful_name(
    opened: Tab, server: Server, made_up: Reconstruction
) -> None:
    tab, page = opened, opened.page
    cameras = view_world(made_up).view_from_world.apply_to_cameras(made_up.poses.cam_from_world)
    name = page.get_by_text(EVIL_NAMES[0], exact=False)
    for depth in (0.05, 0.1, 0.2, 0.3, 0.02):
        inside = cameras[0].inverse().apply(np.array([0.0, 0.0, depth]))
        page.mouse.click(*spot_of(server, inside))
        page.wait_for_timeout(1500)
        if name.count():
            break
    assert name.count() == 1
    tab.picture("clicked")
    assert page.locator("img[src=x]").count() == 0
    assert page.locator("img[onerror]").count() == 0
    assert page.get_by_role("button", name="Look through this camera").count() == 1
    assert tab.troubles == []


def test_another_model_takes_the_place_of_the_first(opened: Tab) -> None:
    tab, page, before = opened, opened.page, opened.picture("first", CANVAS)
    choose(page, "Model", "1: 3 images")
    page.get_by_text("3 images, 10 points").wait_for()
    assert page.get_by_text("4 images, 3,000 points").count() == 0
    tab.wait_until(lambda: (tab.picture("second", CANVAS) != before).mean() > 0.002, "the points change")
    choose(page, "Model", "0: 4 images")
    page.get_by_text("4 images, 3,000 points").wait_for()
    assert tab.troubles == []
