"""The report's 3D view in a real browser: it follows mouse, wheel, fingers, keys and controls, and rests otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser.chromium import CHROMIUM, OPTIONS
from tests.browser.conftest import Tab, num_colors
from tests.report.made_up import model, ring_of_cameras, summary_of
from vgpa.report.page import write_page

WIDTH, HEIGHT = 900, 700
COUNT_FRAMES = """async () => {
  const view = await sceneIsDone;
  const draw = view.draw.bind(view);
  window.numFrames = 0;
  view.draw = () => { window.numFrames += 1; draw(); };
}"""
LOSE_AND_RESTORE = """async () => {
  const { canvas } = await sceneIsDone;
  const extension = canvas.getContext("webgl").getExtension("WEBGL_lose_context");
  const told = (name) => new Promise((done) => canvas.addEventListener(name, () => setTimeout(done)));
  const [lost, restored] = [told("webglcontextlost"), told("webglcontextrestored")];
  extension.loseContext();
  await lost;
  extension.restoreContext();
  await restored;
}"""
# Places (in halves of the view's height) of three points before and after a change of the eye: the centre, another in
# the plane through it, and one before it.
PLACES = """([change, ...given]) => {
  const eye = { side: 0.4, height: -0.3, center: [0.1, 0.2, -0.3], distance: 1.7 };
  const after = { turned, panned, zoomed }[change](eye, ...given);
  const [right, above, back] = axesOf(eye);
  const aspect = 1.5;
  const place = (seenBy, point) => {
    const m = clipFromScene(seenBy, aspect);
    const [x, y, z, w] = [0, 1, 2, 3].map((r) => dot([m[r], m[4 + r], m[8 + r]], point) + m[12 + r]);
    return [(aspect * x) / w, y / w, z / w];
  };
  const at = ([x, y, z]) => eye.center.map((value, k) => (
    value + eye.distance * HALF_FIELD * (x * right[k] + y * above[k] + z * back[k])));
  return [[0, 0, 0], [0.5, -0.25, 0], [0, 0, 0.5]].map((spot) => [place(eye, at(spot)), place(after, at(spot))]);
}"""
# The first view of a cluster of corners and a single one, so deep in the scene along the view: how far away it is from
# what it turns about, and the corners' places in units of the picture's rim.
START = """([cluster, stray]) => {
  const back = axesOf({ side: -0.5, height: 0.45 })[2];
  const at = (depth, k) => back.map((value, axis) => depth * value + 0.02 * Math.cos(k + axis));
  const corners = [...Array.from({ length: 40 }, (_, k) => at(cluster, k)), at(stray, 0)];
  const eye = startEye([], corners, 1.5);
  const m = clipFromScene(eye, 1.5);
  return [eye.distance, corners.map((point) => {
    const clip = [0, 1, 2, 3].map((r) => dot([m[r], m[4 + r], m[8 + r]], point) + m[12 + r]);
    return [clip[0] / clip[3], clip[1] / clip[3], clip[2] / clip[3], clip[3]];
  })];
}"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    reconstruction = model(ring_of_cameras(12), 2000)
    path = tmp_path_factory.mktemp("scene") / "report.html"
    write_page(summary_of(reconstruction), reconstruction, path, "scene")
    return path


@pytest.fixture(scope="module")
def scene(browser: Any, report: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """The page after its 3D view was drawn."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    tab = Tab(page, tmp_path_factory.mktemp("screenshots"), "scene-")
    page.goto(report.as_uri())
    page.evaluate("() => sceneIsDone.then(() => null)")
    page.locator("#view3d").scroll_into_view_if_needed()
    yield tab
    page.close()


@pytest.fixture(autouse=True)
def as_at_the_start(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test leaves the view as it found it, and the page without a trouble."""
    yield
    if "scene" in request.fixturenames:
        tab = request.getfixturevalue("scene")
        for name in ("Reset view", "Colour"):
            tab.page.get_by_role("button", name=name, exact=True).click()
        for name in ("#show-points", "#show-cameras"):
            tab.page.locator(name).check()
        tab.page.locator("#point-size").fill("1.5")
        assert tab.troubles == []


def look(tab: Tab) -> np.ndarray:  # type: ignore[type-arg]
    """What the view shows while the mouse is elsewhere."""
    tab.page.mouse.move(2, 2)
    tab.page.wait_for_timeout(100)
    return tab.picture("view", "#view3d canvas")


def middle(tab: Tab) -> tuple[float, float]:
    box = tab.page.locator("#view3d canvas").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def share_of_change(before: np.ndarray, after: np.ndarray) -> float:  # type: ignore[type-arg]
    return float((before != after).any(axis=-1).mean())


def spread_px(pixels: np.ndarray) -> float:  # type: ignore[type-arg]
    """How far what is drawn reaches from its own middle."""
    rows, columns = np.nonzero((pixels != pixels[2, 2]).any(axis=-1))
    return float(np.hypot(rows.std(), columns.std()))


def middle_px(pixels: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """(x, y) of the middle of what is drawn."""
    rows, columns = np.nonzero((pixels != pixels[2, 2]).any(axis=-1))
    return np.array([columns.mean(), rows.mean()])


def drag(tab: Tab, right: float, down: float, button: str = "left") -> None:
    x, y = middle(tab)
    tab.page.mouse.move(x, y)
    tab.page.mouse.down(button=button)
    tab.page.mouse.move(x + right / 2, y + down / 2)
    tab.page.mouse.move(x + right, y + down)
    tab.page.mouse.up(button=button)


def scroll(tab: Tab, amount: float) -> None:
    tab.page.mouse.move(*middle(tab))
    tab.page.mouse.wheel(0, amount)
    tab.page.wait_for_timeout(100)


def pinch(tab: Tab) -> None:
    """Two fingers that go apart."""
    session = tab.page.context.new_cdp_session(tab.page)
    x, y = middle(tab)
    for kind, half in (("touchStart", 40), ("touchMove", 60), ("touchMove", 80), ("touchEnd", None)):
        points = [] if half is None else [{"x": x + side * half, "y": y, "id": k} for k, side in enumerate((-1, 1))]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    session.detach()


# ---- The eye ----------------------------------------------------------------------------------------------------


def test_zooming_keeps_what_is_below_the_pointer(scene: Tab) -> None:
    _, (before, after), _ = scene.page.evaluate(PLACES, ["zoomed", 0.6, [0.5, -0.25]])
    assert before[:2] == pytest.approx([0.5, -0.25], abs=1e-5)
    assert after[:2] == pytest.approx(before[:2], abs=1e-5)


def test_panning_takes_the_scene_along_with_the_hand(scene: Tab) -> None:
    for before, after in scene.page.evaluate(PLACES, ["panned", 0.3, 0.2])[:2]:
        assert np.subtract(after, before)[:2] == pytest.approx([0.3, 0.2], abs=1e-5)


def test_turning_keeps_the_centre_takes_the_front_along_and_never_goes_over_the_top(scene: Tab) -> None:
    (before, after), _, (front, front_after) = scene.page.evaluate(PLACES, ["turned", 0.2, 0.1])
    assert before == pytest.approx(after, abs=1e-5)
    assert front[:2] == pytest.approx([0, 0], abs=1e-5)
    assert front_after[0] > front_after[1] > 0.02
    height = scene.page.evaluate("() => turned({ side: 0, height: 0 }, 0, -100).height")
    assert 1.5 < height < np.pi / 2


@pytest.mark.parametrize("depths", [(-0.3, -0.9), (-0.9, -0.3), (0.3, 0.9), (0.5, -0.5)])
def test_the_first_view_shows_every_camera_even_a_stray_one(scene: Tab, depths: tuple[float, float]) -> None:
    distance, places = scene.page.evaluate(START, depths)
    assert distance > 0.05
    assert (np.abs(places)[:, :3] <= 1).all()
    assert (np.array(places)[:, 3] > 0).all()


# ---- What a reader does -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "act",
    [
        lambda tab: drag(tab, 150, 40),
        lambda tab: tab.page.locator("#view3d canvas").press("ArrowLeft"),
        lambda tab: tab.page.locator("#view3d canvas").press("Shift+ArrowUp"),
        lambda tab: tab.page.locator("#view3d canvas").press("+"),
        lambda tab: drag(tab, 60, 30, button="right"),
        pinch,
        lambda tab: scroll(tab, -200),
    ],
    ids=["drag", "key", "key that moves", "key that zooms", "right button", "pinch", "wheel"],
)
def test_the_view_follows_and_reset_brings_it_back(scene: Tab, act: Callable[[Tab], None]) -> None:
    start = look(scene)
    act(scene)
    assert share_of_change(start, look(scene)) > 0.01
    scene.page.get_by_role("button", name="Reset view").click()
    assert share_of_change(start, look(scene)) == 0


@pytest.mark.parametrize("enlarge", [pinch, lambda tab: scroll(tab, -200)], ids=["pinch", "wheel"])
def test_zooming_in_makes_the_scene_larger(scene: Tab, enlarge: Callable[[Tab], None]) -> None:
    scroll(scene, 600)
    before = spread_px(look(scene))
    top = scene.page.evaluate("window.scrollY")
    enlarge(scene)
    assert spread_px(look(scene)) > 1.15 * before
    assert scene.page.evaluate("window.scrollY") == top


def test_dragging_with_shift_moves_the_scene_by_as_much(scene: Tab) -> None:
    scroll(scene, 600)
    before = middle_px(look(scene))
    scene.page.keyboard.down("Shift")
    drag(scene, 50, -30)
    scene.page.keyboard.up("Shift")
    assert middle_px(look(scene)) - before == pytest.approx([50, -30], abs=6)


def test_controls_change_what_is_drawn(scene: Tab) -> None:
    everything = look(scene)
    assert num_colors(everything) > 500
    scene.page.locator("#point-size").fill("5")
    assert share_of_change(everything, look(scene)) > 0.02
    scene.page.locator("#point-size").fill("1.5")
    scene.page.get_by_role("button", name="Error", exact=True).click()
    assert share_of_change(everything, look(scene)) > 0.02
    scene.page.locator("#show-points").uncheck()
    cameras = look(scene)
    assert 0.001 < (cameras != cameras[2, 2]).any(axis=-1).mean() < 0.2
    scene.page.locator("#show-cameras").uncheck()
    assert num_colors(look(scene)) == 1


def test_a_camera_below_the_mouse_is_named_and_lit_until_the_mouse_leaves(scene: Tab) -> None:
    before = look(scene)
    places = scene.page.evaluate("() => sceneIsDone.then((view) => view.cornersOnScreen())")
    box = scene.page.locator("#view3d canvas").bounding_box()
    x, y = places[8][0]
    scene.page.mouse.move(box["x"] + x, box["y"] + y)
    assert scene.page.locator("#camera-name:visible b").text_content() == "0008.jpg"
    lit = scene.picture("hover", "#view3d canvas")
    assert lit[round(y), round(x)].min() > 240
    assert share_of_change(before, look(scene)) == 0
    assert scene.page.locator("#camera-name").is_hidden()


def test_a_tap_on_a_camera_names_it_and_a_tap_elsewhere_hides_the_name(scene: Tab) -> None:
    box = scene.page.locator("#view3d canvas").bounding_box()
    places = scene.page.evaluate("() => sceneIsDone.then((view) => view.cornersOnScreen())")
    session = scene.page.context.new_cdp_session(scene.page)

    def tap(x: float, y: float) -> None:
        finger = {"x": box["x"] + x, "y": box["y"] + y}
        session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [finger]})
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    tap(*places[4][0])
    assert scene.page.locator("#camera-name:visible b").text_content() == "0004.jpg"
    tap(3, 3)
    assert scene.page.locator("#camera-name").is_hidden()
    session.detach()


# ---- Frames -----------------------------------------------------------------------------------------------------


def test_nothing_is_drawn_while_nothing_changes(scene: Tab) -> None:
    look(scene)
    scene.page.evaluate(COUNT_FRAMES)
    scene.page.wait_for_timeout(1000)
    assert scene.page.evaluate("window.numFrames") == 0
    scene.page.locator("#view3d canvas").press("ArrowRight")
    scene.page.wait_for_timeout(500)
    assert scene.page.evaluate("window.numFrames") == 1


def test_the_view_fills_its_place_after_the_window_changed(scene: Tab) -> None:
    start = look(scene)
    scene.page.set_viewport_size({"width": 500, "height": HEIGHT})
    narrow = look(scene)
    assert narrow.shape[1] < start.shape[1]
    assert num_colors(narrow) > 500
    scene.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    assert share_of_change(start, look(scene)) == 0


def test_the_view_comes_back_when_the_graphics_card_had_lost_it(scene: Tab) -> None:
    scene.page.get_by_role("button", name="Error", exact=True).click()
    start = look(scene)
    scene.page.evaluate(LOSE_AND_RESTORE)
    assert share_of_change(start, look(scene)) == 0


def test_without_webgl_a_sentence_says_so_and_the_rest_is_there(browser: Any, report: Path, tmp_path: Path) -> None:
    without = browser.browser_type.launch(executable_path=CHROMIUM, args=[*OPTIONS, "--disable-3d-apis"])
    tab = Tab(without.new_page(), tmp_path, "without-")
    tab.page.goto(report.as_uri())
    tab.page.wait_for_selector("#view3d .excuse")
    assert "WebGL" in tab.page.locator("#view3d").text_content()
    assert tab.page.locator("#view-controls").is_hidden()
    assert tab.page.locator("#images tbody tr").count() == 12
    tab.page.locator("#graph").scroll_into_view_if_needed()
    tab.page.wait_for_selector("#graph .main-svg")
    tab.picture("page")
    without.close()
    assert tab.troubles == []
