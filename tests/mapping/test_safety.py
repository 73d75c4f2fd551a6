"""The safety net: wrong cameras are caught, each kind by its own question, and good ones are left alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.synthetic import Truth, make_edges_wrong, make_problem
from vgpa.geometry.alignment import Similarity
from vgpa.geometry.rigid import Rigid
from vgpa.mapping.extend import without_images
from vgpa.mapping.safety import (
    CameraFigures,
    check_cameras,
    doubtful_cameras,
    find_concerns,
    measure_cameras,
    rotation_disagreement_deg,
)
from vgpa.scene import Poses, Reconstruction, Tracks

NUM_IMAGES, NUM_POINTS = 10, 60


@pytest.fixture(scope="module")
def truth() -> Truth:
    return make_problem(NUM_IMAGES, NUM_POINTS, noise_px=0.4)


def model_with(truth: Truth, cam_from_world: Rigid) -> Reconstruction:
    """Every image sees every true point, from the given poses."""
    tracks = Tracks(
        NUM_IMAGES * np.arange(NUM_POINTS + 1),
        np.tile(np.arange(NUM_IMAGES), NUM_POINTS),
        np.repeat(np.arange(NUM_POINTS), NUM_IMAGES),
    )
    grey = np.full((NUM_POINTS, 3), 128, dtype=np.uint8)
    images = truth.problem.images
    return Reconstruction(images, Poses.of_all(cam_from_world), truth.xyz, tracks, np.full(NUM_POINTS, 0.4), grey)


def moved(cams: Rigid, image_idx: int, rotation: np.ndarray, shift: float) -> Rigid:
    """The cameras with one of them turned and its centre shifted."""
    turned, centre = cams.rotation.copy(), cams.centre.copy()
    turned[image_idx] = rotation @ turned[image_idx]
    centre[image_idx] += shift
    return Rigid.from_centre(turned, centre)


def test_a_good_model_is_left_alone(truth: Truth) -> None:
    model = model_with(truth, truth.cam_from_world)
    checked = check_cameras(truth.problem, model)
    assert checked.model is model
    assert doubtful_cameras(checked) == {}


def test_a_turned_camera_is_taken_out_and_its_neighbours_stay(truth: Truth) -> None:
    model = model_with(truth, moved(truth.cam_from_world, 3, np.diag([-1.0, -1, 1]), 0.0))
    cleaned = check_cameras(truth.problem, model).model
    np.testing.assert_array_equal(cleaned.poses.is_known, np.arange(NUM_IMAGES) != 3)
    assert 3 not in cleaned.tracks.image_idx


def test_a_camera_far_away_is_taken_out(truth: Truth) -> None:
    model = model_with(truth, moved(truth.cam_from_world, 5, np.eye(3), 1e4))
    # What it sees it sees in the right place, as degenerate cameras often do.
    model = replace(model, tracks=model.tracks.select_observations(model.tracks.image_idx != 5))
    figures = measure_cameras(truth.problem, model)
    concerns = find_concerns(figures, "wrong")
    np.testing.assert_array_equal(concerns["far away"], np.arange(NUM_IMAGES) == 5)
    assert not check_cameras(truth.problem, model).model.poses.is_known[5]


def test_a_camera_with_few_points_is_doubtful_and_one_with_hardly_any_goes(truth: Truth) -> None:
    model = model_with(truth, truth.cam_from_world)
    point, image = model.tracks.track_idx, model.tracks.image_idx
    few = ((image == 2) & (point >= 20)) | ((image == 7) & (point >= 3))
    model = replace(model, tracks=model.tracks.select_observations(~few))
    checked = check_cameras(truth.problem, model)
    np.testing.assert_array_equal(checked.model.poses.is_known, np.arange(NUM_IMAGES) != 7)
    assert doubtful_cameras(checked) == {"photo_02.jpg": ["few points"]}


def test_a_model_that_grew_has_the_same_figures_if_only_what_is_new_is_measured(truth: Truth) -> None:
    model = model_with(truth, moved(truth.cam_from_world, 3, np.diag([-1.0, -1, 1]), 0.0))
    is_new = np.arange(NUM_IMAGES) >= 8
    before = check_cameras(truth.problem, without_images(model, is_new | (np.arange(NUM_IMAGES) == 3)))
    grown = without_images(model, np.arange(NUM_IMAGES) == 3)
    anew, added = check_cameras(truth.problem, grown), check_cameras(truth.problem, grown, before=before)
    for name in ("num_points", "error_px", "distance"):
        np.testing.assert_allclose(getattr(added.figures, name), getattr(anew.figures, name))
    np.testing.assert_allclose(added.figures.rotation_deg, anew.figures.rotation_deg, atol=1e-3)
    with_wrong = check_cameras(truth.problem, model, before=before)
    np.testing.assert_array_equal(with_wrong.model.poses.is_known, np.arange(NUM_IMAGES) != 3)


def test_wrong_edges_in_the_minority_convict_nobody(truth: Truth) -> None:
    graph = make_edges_wrong(truth.problem.view_graph, 0.25)
    model = model_with(truth, truth.cam_from_world)
    problem = replace(truth.problem, view_graph=graph)
    assert check_cameras(problem, model).model.num_registered == NUM_IMAGES


def test_a_scene_whose_relative_rotations_are_all_bad_loses_nobody(truth: Truth) -> None:
    graph = make_edges_wrong(truth.problem.view_graph, 1.0)
    model = model_with(truth, truth.cam_from_world)
    assert check_cameras(replace(truth.problem, view_graph=graph), model).model.num_registered == NUM_IMAGES


def test_points_left_with_one_view_go(truth: Truth) -> None:
    model = without_images(model_with(truth, truth.cam_from_world), np.arange(NUM_IMAGES) >= 1)
    assert model.num_registered == 1
    assert model.num_points == 0


def test_one_neighbour_is_not_enough_to_convict(truth: Truth) -> None:
    graph = truth.problem.view_graph
    edges = graph.edge_index
    alone = truth.problem.select_edges(~(edges == 9).any(axis=0) | ((edges[0] == 0) & (edges[1] == 9)))
    residual = rotation_disagreement_deg(alone, model_with(truth, truth.cam_from_world))
    assert np.isnan(residual[9])
    np.testing.assert_allclose(residual[:9], 0, atol=1e-4)


@given(
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-1e3, 1e3),
    angle=st.floats(0, 6.0),
)
def test_figures_do_not_depend_on_the_gauge(scale: float, shift: float, angle: float) -> None:
    truth = make_problem(NUM_IMAGES, NUM_POINTS, noise_px=0.4)
    model = model_with(truth, truth.cam_from_world)
    c, s = np.cos(angle), np.sin(angle)
    b_from_a = Similarity(scale, np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]), np.array([shift, 0, -shift]))
    poses = Poses.of_all(b_from_a.apply_to_cameras(model.poses.cam_from_world))
    other = replace(model, poses=poses, xyz=b_from_a.apply(model.xyz))
    before, after = measure_cameras(truth.problem, model), measure_cameras(truth.problem, other)
    np.testing.assert_allclose(after.num_points, before.num_points)
    np.testing.assert_allclose(after.error_px, before.error_px, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(after.rotation_deg, before.rotation_deg, atol=1e-4)
    # Turning the axes moves a median taken axis by axis, but only within the cloud of cameras.
    np.testing.assert_allclose(after.distance, before.distance, atol=0.5)


def test_unregistered_cameras_have_no_concerns() -> None:
    unknown = np.full(3, np.nan)
    concerns = find_concerns(CameraFigures(unknown, unknown, unknown, unknown), "wrong")
    assert not np.any(list(concerns.values()))
