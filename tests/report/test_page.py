"""The report page: names do no harm, nothing is loaded, sizes stay bounded, and odd models still make a page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from tests.report.made_up import EVIL_NAMES, UP, all_pairs, model, ring_of_cameras, summary_of
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import exp_map
from vgpa.mapping.safety import CameraFigures, find_concerns
from vgpa.report import charts, page
from vgpa.report import scene as scene_data
from vgpa.scene import FocalSource, ImageState, Reconstruction


class Outline(HTMLParser):
    """The tags of a page with their attributes, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.title = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.tags[-1] if self.tags else ("", {})
        if tag == "script" and data.strip():
            self.scripts.append((attributes, data))
        if tag == "title":
            self.title += data

    @property
    def data(self) -> dict[str, Any]:
        """The page's JSON, which must be JSON in the strict sense."""
        (text,) = (text for attributes, text in self.scripts if attributes.get("id") == "data")
        return dict(json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON")))

    @property
    def policy(self) -> str:
        """The content security policy."""
        (content,) = (a["content"] for _, a in self.tags if a.get("http-equiv") == "Content-Security-Policy")
        return str(content)


@pytest.fixture
def no_plotly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short script in plotly's place: most tests are not about its five megabytes."""
    stand_in = tmp_path / "plotly.js"
    stand_in.write_text("var Plotly;", encoding="utf-8")
    monkeypatch.setattr(page, "_plotly_path", lambda: stand_in)


def outline_of(reconstruction: Reconstruction, folder: Path, title: str = "title", **changes: Any) -> Outline:
    path = folder / "report.html"
    page.write_page(summary_of(reconstruction) | changes, reconstruction, path, title)
    return Outline(path.read_text(encoding="utf-8"))


def decoded(array: dict[str, str]) -> np.ndarray:  # type: ignore[type-arg]
    return np.frombuffer(base64.b64decode(array["bdata"]), dtype="<" + array["dtype"])


# ---- Names and titles do no harm --------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_plotly")
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(min_size=1, max_size=20) | st.sampled_from(EVIL_NAMES), min_size=3, max_size=5, unique=True))
def test_names_and_titles_never_change_the_structure_of_the_page(tmp_path: Path, names: list[str]) -> None:
    plain = outline_of(model(ring_of_cameras(len(names)), 10), tmp_path)
    odd = outline_of(model(ring_of_cameras(len(names)), 10, names), tmp_path, title=names[0])
    assert odd.tags == plain.tags
    assert [row["name"] for row in odd.data["summary"]["images"]] == names


@pytest.mark.usefixtures("no_plotly")
def test_data_holds_no_letter_that_could_end_its_element(tmp_path: Path) -> None:
    outline = outline_of(model(ring_of_cameras(4), 10, list(EVIL_NAMES)), tmp_path, title=EVIL_NAMES[1])
    (text,) = (text for attributes, text in outline.scripts if attributes.get("id") == "data")
    assert not set(text) & set("<>&\u2028\u2029")
    assert outline.title.startswith(EVIL_NAMES[1])


@pytest.mark.usefixtures("no_plotly")
def test_a_title_that_is_no_text_is_still_written(tmp_path: Path) -> None:
    assert outline_of(model(ring_of_cameras(3), 5), tmp_path, title="caf\udce9").title.startswith("caf?")


def test_scripts_write_text_and_never_markup() -> None:
    for name in page.SCRIPTS:
        script = files("vgpa.report").joinpath(f"{name}.js").read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", script), name
        assert "</script" not in script, name


# ---- One file, nothing loaded, bounded size ---------------------------------------------------------------------


def test_a_large_page_is_self_contained_and_below_ten_megabytes(tmp_path: Path) -> None:
    reconstruction = model(ring_of_cameras(300), 80_000)
    summary = summary_of(reconstruction, all_pairs(300))
    path = tmp_path / "report.html"
    page.write_page(summary, reconstruction, path, "large")
    assert path.stat().st_size < 10e6
    outline = Outline(path.read_text(encoding="utf-8"))
    for tag, attributes in outline.tags:
        assert not attributes.keys() & {"src", "href", "srcset", "action"}, f"{tag} loads something"
        assert tag not in {"link", "iframe", "object", "embed", "img", "base"}
    assert not re.search(r"url\(|@import", files("vgpa.report").joinpath("page.css").read_text(encoding="utf-8"))
    assert list(tmp_path.iterdir()) == [path]


def test_policy_allows_these_scripts_and_no_others(tmp_path: Path) -> None:
    outline = outline_of(model(ring_of_cameras(3), 10), tmp_path)
    run = [text for attributes, text in outline.scripts if attributes.get("type") != "application/json"]
    assert len(run) == len(page.SCRIPTS) + 1
    (sources,) = re.findall(r"script-src ([^;]*);", outline.policy)
    wanted = {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in run}
    assert set(sources.split()) == wanted
    assert "default-src 'none'" in outline.policy


def test_drawn_points_are_points_of_the_model_and_not_too_many() -> None:
    reconstruction = model(ring_of_cameras(5), scene_data.MAX_NUM_POINTS + 5000)
    scene = page.page_data(summary_of(reconstruction), reconstruction)["scene"]
    lower, upper = np.array(scene["box"]).T
    drawn = lower + decoded(scene["points"]).reshape(-1, 3) / scene_data.NUM_STEPS * (upper - lower)
    assert len(drawn) == scene["num_drawn"] == scene_data.MAX_NUM_POINTS
    upright = scene_data.upright_from_world(reconstruction.poses.cam_from_world)
    distance, point_idx = cKDTree(reconstruction.xyz @ upright.T).query(drawn)
    assert distance.max() <= np.linalg.norm(upper - lower) / scene_data.NUM_STEPS
    assert len(np.unique(point_idx)) > 0.999 * len(drawn)


# ---- Odd models -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_plotly")
@pytest.mark.parametrize(("num_cameras", "num_points"), [(0, 0), (1, 0), (2, 0), (3, 1), (4, 2)])
def test_small_and_empty_models_make_a_page(tmp_path: Path, num_cameras: int, num_points: int) -> None:
    data = outline_of(model(ring_of_cameras(num_cameras), num_points), tmp_path).data
    assert len(decoded(data["scene"]["frusta"])) == 15 * num_cameras
    assert np.isfinite(data["scene"]["box"]).all()
    assert (np.diff(data["scene"]["box"]) > 0).all()


@pytest.mark.usefixtures("no_plotly")
def test_unknown_numbers_become_null(tmp_path: Path) -> None:
    reconstruction = model(ring_of_cameras(3), 5)
    edges = all_pairs(3)
    edges[0]["rotation_deg"] = None
    graph = summary_of(reconstruction, edges)["view_graph"]
    rows = [dict(row, mean_error_px=None) for row in summary_of(reconstruction)["images"]]
    data = outline_of(reconstruction, tmp_path, images=rows, view_graph=graph, median_error_px=float("nan")).data
    assert data["summary"]["median_error_px"] is None
    assert data["summary"]["images"][0]["mean_error_px"] is None
    assert "Infinity" in data["settings"]


def test_points_of_one_colour_count_as_uncoloured() -> None:
    reconstruction = model(ring_of_cameras(3), 20)
    object.__setattr__(reconstruction, "color", np.full((20, 3), 128, dtype=np.uint8))
    assert page.page_data(summary_of(reconstruction), reconstruction)["scene"]["colors"] is None


@pytest.mark.parametrize(("kind", "table"), [(ImageState, "STATE_WORDS"), (FocalSource, "FOCAL_WORDS")])
def test_everything_that_can_be_said_has_words(kind: type[ImageState] | type[FocalSource], table: str) -> None:
    script = files("vgpa.report").joinpath("page.js").read_text(encoding="utf-8")
    (body,) = re.findall(rf"const {table} = {{(.*?)\n}};", script, re.DOTALL)
    assert set(re.findall(r"^  (\w+):", body, re.MULTILINE)) == {member.value for member in kind}


def test_every_doubt_has_words() -> None:
    nothing = np.full(2, np.nan)
    doubts = find_concerns(CameraFigures(nothing, nothing, nothing, nothing), "doubtful")
    script = files("vgpa.report").joinpath("gallery.js").read_text(encoding="utf-8")
    (body,) = re.findall(r"const DOUBT_WORDS = {(.*?)\n};", script, re.DOTALL)
    assert set(re.findall(r'^  "([^"]+)":', body, re.MULTILINE)) == set(doubts)


@pytest.mark.usefixtures("no_plotly")
def test_the_page_does_not_tell_where_the_photos_lie(tmp_path: Path) -> None:
    outline_of(model(ring_of_cameras(3), 5), tmp_path, image_folder="/somebody/private")
    assert "somebody" not in (tmp_path / "report.html").read_text(encoding="utf-8")


# ---- Geometry of the view ---------------------------------------------------------------------------------------

rotation_vectors = st.lists(st.floats(-3, 3), min_size=3, max_size=3).map(np.array)


def test_up_is_where_the_cameras_stand_upright() -> None:
    assert scene_data.upright_from_world(ring_of_cameras(9)) @ UP == pytest.approx([0, 0, 1], abs=1e-9)


@given(rotation_vectors, st.integers(1, 6))
def test_upright_is_a_rotation_that_undoes_rotations_of_the_world(vector: np.ndarray, num: int) -> None:  # type: ignore[type-arg]
    cameras = ring_of_cameras(12)[:num]
    new_from_old = exp_map(vector)
    turned = Rigid.from_matrix(cameras.rotation @ new_from_old.T, cameras.translation)
    upright, upright_turned = scene_data.upright_from_world(cameras), scene_data.upright_from_world(turned)
    assert upright @ upright.T == pytest.approx(np.eye(3), abs=1e-9)
    assert np.linalg.det(upright) == pytest.approx(1)
    assert upright_turned @ new_from_old == pytest.approx(upright, abs=1e-6)


def test_cameras_that_look_down_have_the_ground_below_them() -> None:
    heading = np.array([0, np.pi / 2, np.pi, 3 * np.pi / 2])
    down = np.array([[[np.cos(a), np.sin(a), 0], [np.sin(a), -np.cos(a), 0], [0, 0, -1]] for a in heading])
    upright = scene_data.upright_from_world(Rigid.from_matrix(down, np.zeros((4, 3))))
    assert upright[2] == pytest.approx([0, 0, 1], abs=1e-9)


@given(st.floats(0.01, 100), st.lists(st.floats(-50, 50), min_size=3, max_size=3))
def test_box_follows_the_scene_and_ignores_far_points(scale: float, shift: list[float]) -> None:
    rng = np.random.default_rng(3)
    xyz, centre = rng.normal(size=(400, 3)), 4 * rng.normal(size=(10, 3))
    xyz[0] = 1e6
    box = scene_data.display_box(xyz, centre)
    assert (centre >= box[:, 0]).all() and (centre <= box[:, 1]).all()  # noqa: PT018
    assert box.max() < 100
    moved = scene_data.display_box(scale * xyz + shift, scale * centre + shift)
    assert moved == pytest.approx(scale * box + np.array(shift)[:, None], rel=1e-6, abs=1e-6)


def test_a_camera_far_away_does_not_shrink_the_view() -> None:
    cameras = ring_of_cameras(20)
    centre = cameras.centre.copy()
    centre[7] *= 1000
    reconstruction = model(Rigid.from_centre(cameras.rotation, centre), 100)
    scene = page.page_data(summary_of(reconstruction), reconstruction)["scene"]
    assert scene["num_far_cameras"] == 1
    assert 7 not in scene["frusta_row"]
    assert np.abs(scene["box"]).max() < 20


def test_frusta_look_where_the_cameras_look() -> None:
    reconstruction = model(ring_of_cameras(8), 50)
    scene = page.page_data(summary_of(reconstruction), reconstruction)["scene"]
    frusta = decoded(scene["frusta"]).reshape(-1, 5, 3).astype(np.float64)
    poses = reconstruction.poses.cam_from_world
    upright = scene_data.upright_from_world(poses)
    assert frusta[:, 0] == pytest.approx(poses.centre @ upright.T, abs=1e-5)
    forward = frusta[:, 1:].mean(axis=1) - frusta[:, 0]
    forward /= np.linalg.norm(forward, axis=1, keepdims=True)
    assert forward == pytest.approx(poses.rotation[:, 2] @ upright.T, abs=1e-4)


# ---- Histograms and the view graph ------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1e6) | st.just(float("nan")), max_size=60))
def test_histograms_count_every_number_once(numbers: list[float]) -> None:
    values = np.array(numbers, dtype=np.float64)
    for edges in (None, charts.RESIDUAL_EDGES_DEG):
        histogram = charts.histogram("title", "px", {"all": values}, edges)
        assert sum(histogram["counts"]["all"]) == np.isfinite(values).sum()


def test_residuals_before_averaging_stand_beside_those_after_where_they_are_known() -> None:
    reconstruction = model(ring_of_cameras(6), 20)
    *_, rotation, direction = charts.describe_histograms(summary_of(reconstruction), reconstruction)
    edges = all_pairs(6)
    assert sum(rotation["before"]["counts"]) == len(edges)
    assert rotation["before"]["median"] == pytest.approx(3 * rotation["median"])
    assert direction["before"] is None


@pytest.mark.parametrize("num_images", [2, 30, charts.MAX_NUM_CELLS, charts.MAX_NUM_CELLS + 1, 2000])
def test_matrix_of_the_view_graph_stays_small_and_holds_every_edge(num_images: int) -> None:
    rng = np.random.default_rng(0)
    edges = all_pairs(min(num_images, 40))
    for edge in edges:
        edge["i"], edge["j"] = (int(k) for k in rng.permutation(num_images)[:2])
    cells = charts.describe_adjacency(edges, num_images)
    i, j, count = (decoded(cells[key]).astype(np.int64) for key in ("i", "j", "num_pairs"))
    assert cells["size"] <= charts.MAX_NUM_CELLS
    assert cells["size"] * cells["block"] >= num_images
    assert count.sum() == len(edges)
    wanted = {tuple(sorted((edge["i"] // cells["block"], edge["j"] // cells["block"]))) for edge in edges}
    assert set(zip(i.tolist(), j.tolist(), strict=True)) == wanted
    assert (count * decoded(cells["inliers"])).sum() == pytest.approx(sum(edge["num_inliers"] for edge in edges))
