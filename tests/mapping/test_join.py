"""Models are joined by the similarity between their points, and only if ties and view graph agree on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.synthetic import Truth, make_edges_wrong, make_matches_wrong, make_problem
from vgpa.config import GraphConfig, ReintegrateConfig
from vgpa.frontend.tracks import build_tracks
from vgpa.geometry.alignment import Similarity
from vgpa.geometry.rotation import rotation_angle_rad
from vgpa.mapping.join import joint_poses, with_cameras_of
from vgpa.mapping.triangulate import PointFilter, triangulate
from vgpa.scene import Matches, Poses, Problem, Reconstruction

NUM_IMAGES = 9
IS_FIRST = np.arange(NUM_IMAGES) < 5
OTHER_FROM_WORLD = Similarity(
    2.5, np.asarray(Rotation.from_euler("zyx", [80, -30, 140], degrees=True).as_matrix()), np.array([10.0, -4, 3])
)


@pytest.fixture(scope="module")
def truth() -> Truth:
    return make_problem(NUM_IMAGES, 80, noise_px=0.3, seed=8)


def part_of(truth: Truth, is_in: np.ndarray) -> Reconstruction:
    """The model of some images, in the true world."""
    problem = truth.problem
    poses = Poses.of_all(truth.cam_from_world).keep(is_in)
    tracks = build_tracks(problem, GraphConfig())
    points = triangulate(problem.images, poses, problem.keypoints, tracks, PointFilter(4.0, 1.0, 2))
    grey = np.full((len(points.xyz), 3), 128, dtype=np.uint8)
    return Reconstruction(problem.images, poses, points.xyz, points.tracks, points.error_px, grey)


@pytest.fixture(scope="module")
def pair(truth: Truth) -> tuple[Reconstruction, Reconstruction]:
    """Two models without a common image, the second in a world of its own."""
    first, second = part_of(truth, IS_FIRST), part_of(truth, ~IS_FIRST)
    moved = Poses(OTHER_FROM_WORLD.apply_to_cameras(second.poses.cam_from_world), second.poses.is_known)
    return first, replace(second, poses=moved.keep(~IS_FIRST), xyz=OTHER_FROM_WORLD.apply(second.xyz))


def test_models_of_one_scene_find_together(truth: Truth, pair: tuple[Reconstruction, Reconstruction]) -> None:
    poses = joint_poses(truth.problem, *pair, ReintegrateConfig())
    assert poses is not None
    assert poses.is_known.all()
    error = np.degrees(rotation_angle_rad(poses.cam_from_world.rotation, truth.cam_from_world.rotation))
    assert error.max() < 0.2
    np.testing.assert_allclose(poses.cam_from_world.centre, truth.cam_from_world.centre, atol=0.03)
    np.testing.assert_array_equal(
        poses.cam_from_world.translation[IS_FIRST], pair[0].poses.cam_from_world.translation[IS_FIRST]
    )


def thread_of(truth: Truth, num_matches: int) -> Problem:
    """The problem with one pair between the two models, and so many of its matches."""
    is_thread = (truth.problem.view_graph.edge_index == np.array([[4], [5]])).all(axis=0)
    thread = truth.problem.select_edges(is_thread)
    matches = Matches(np.array([0, num_matches]), thread.matches.keypoint_idx[:num_matches])
    return replace(thread, matches=matches)


def test_few_ties_are_enough_where_nearly_all_agree(truth: Truth, pair: tuple[Reconstruction, Reconstruction]) -> None:
    assert joint_poses(thread_of(truth, 12), *pair, ReintegrateConfig()) is not None
    some_wrong = make_matches_wrong(thread_of(truth, 12), np.array([True]))
    assert joint_poses(some_wrong, *pair, ReintegrateConfig()) is None


def test_too_few_ties_join_nothing(truth: Truth, pair: tuple[Reconstruction, Reconstruction]) -> None:
    assert joint_poses(thread_of(truth, 6), *pair, ReintegrateConfig()) is None


def test_ties_that_contradict_each_other_join_nothing(
    truth: Truth, pair: tuple[Reconstruction, Reconstruction]
) -> None:
    """The points of the second model are shuffled."""
    first, second = pair
    shuffled = replace(second, xyz=np.random.default_rng(0).permutation(second.xyz))
    assert joint_poses(truth.problem, first, shuffled, ReintegrateConfig()) is None


def test_a_view_graph_that_denies_the_place_prevents_it(
    truth: Truth, pair: tuple[Reconstruction, Reconstruction]
) -> None:
    is_wrong = np.random.default_rng(6).random(truth.problem.view_graph.num_edges) < 0.7
    problem = make_matches_wrong(truth.problem, is_wrong)
    problem = replace(problem, view_graph=make_edges_wrong(problem.view_graph, 1.0))
    assert joint_poses(problem, *pair, ReintegrateConfig()) is None


def test_intrinsics_come_from_the_model_whose_images_have_them(pair: tuple[Reconstruction, Reconstruction]) -> None:
    first, second = pair
    camera = first.images.cameras[0]
    wide, long = (replace(camera, params=camera.params * factor) for factor in (0.5, 2.0))
    images = replace(first.images, camera_idx=np.where(IS_FIRST, 0, 1), cameras=(camera, camera))
    first, second = replace(first, images=images), replace(second, images=images.with_cameras((wide, long)))
    assert with_cameras_of(first, second).images.cameras == (camera, long)


def test_many_views_of_two_points_are_not_clear(truth: Truth, pair: tuple[Reconstruction, Reconstruction]) -> None:
    """All ties of two points agree with some similarity: they say nothing."""
    first, second = pair
    problem = truth.problem
    is_seen = np.isin(problem.matches.keypoint_idx[:, 0], [3, 4])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(problem.matches.edge_idx[is_seen]))])
    few = replace(problem, matches=Matches(offsets, problem.matches.keypoint_idx[is_seen]))
    assert joint_poses(few, first, second, ReintegrateConfig()) is None
