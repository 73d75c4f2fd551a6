"""The solver on problems of several groups: each gets a model, and every image a state."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.synthetic import Truth, make_problem
from vgpa import config as presets
from vgpa.config import Config
from vgpa.errors import NoModelError
from vgpa.evaluate.scores import score_poses
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import rotation_angle_rad
from vgpa.mapping.reintegrate import reintegrate
from vgpa.mapping.rounds import readjust
from vgpa.scene import ImageSet, ImageState, Keypoints, Matches, Problem, Reconstruction, ViewGraph
from vgpa.solve import register, solve
from vgpa.stages import StageLog


def quiet() -> Config:
    config = presets.fast()
    return replace(config, mapping=replace(config.mapping, fix_intrinsics=True), num_threads=1)


def side_by_side(first: Problem, second: Problem) -> Problem:
    """One problem that holds both, without a match between them."""
    num, graphs = len(first.images), (first.view_graph, second.view_graph)
    total = num + len(second.images)
    motions = [graph.cam_j_from_cam_i for graph in graphs]
    return Problem(
        ImageSet(
            tuple(f"photo_{k:02d}.jpg" for k in range(total)),
            np.zeros(total, dtype=np.int64),
            first.images.cameras,
            np.arange(1, total + 1),
        ),
        Keypoints(
            np.r_[first.keypoints.offsets, first.keypoints.offsets[-1] + second.keypoints.offsets[1:]],
            np.concatenate([first.keypoints.xy_px, second.keypoints.xy_px]),
        ),
        ViewGraph(
            total,
            np.concatenate([graphs[0].edge_index, num + graphs[1].edge_index], axis=1),
            Rigid(
                np.concatenate([motion.quaternion_wxyz for motion in motions]),
                np.concatenate([motion.translation for motion in motions]),
            ),
            *(
                np.concatenate([getattr(graph, name) for graph in graphs])
                for name in ("has_direction", "num_inliers", "num_matches")
            ),
        ),
        Matches(
            np.r_[first.matches.offsets, first.matches.offsets[-1] + second.matches.offsets[1:]],
            np.concatenate([first.matches.keypoint_idx, second.matches.keypoint_idx]),
        ),
    )


@pytest.fixture(scope="module")
def small() -> Truth:
    return make_problem(5, 100, noise_px=0.3, seed=1)


@pytest.fixture(scope="module")
def large() -> Truth:
    return make_problem(8, 100, noise_px=0.3, seed=2)


def test_every_group_gets_a_model_largest_first(small: Truth, large: Truth) -> None:
    solution = solve(side_by_side(small.problem, large.problem), quiet(), StageLog())
    assert [part.model.num_registered for part in solution.parts] == [8, 5]
    assert solution.model is solution.parts[0].model
    assert set(solution.states.values()) == {ImageState.REGISTERED}
    for part, truth, image_idx in zip(solution.parts, (large, small), (np.arange(5, 13), np.arange(5)), strict=True):
        np.testing.assert_array_equal(np.flatnonzero(part.model.poses.is_known), image_idx)
        found = part.model.poses.cam_from_world[image_idx]
        assert score_poses(found, truth.cam_from_world, len(image_idx)).rotation_mean_deg < 0.05


def test_a_pair_beside_the_largest_group_gets_no_model(large: Truth) -> None:
    pair = make_problem(2, 100, seed=3)
    solution = solve(side_by_side(large.problem, pair.problem), quiet(), StageLog())
    assert len(solution.parts) == 1
    assert [solution.states[f"photo_{k:02d}.jpg"] for k in (8, 9)] == [ImageState.NOT_IN_COMPONENT] * 2


def test_two_images_alone_get_a_model() -> None:
    pair = make_problem(2, 100, noise_px=0.3, seed=3)
    model = solve(pair.problem, quiet(), StageLog()).model
    assert model.num_registered == 2
    found, true = model.poses.cam_from_world.rotation, pair.cam_from_world.rotation
    assert np.degrees(rotation_angle_rad(found[1] @ found[0].T, true[1] @ true[0].T)) < 0.2


def adjust_once_more(problem: Problem, model: Reconstruction, config: Config) -> Reconstruction:
    return readjust(model, problem.keypoints, config.mapping, config.num_threads)


@pytest.mark.parametrize("then", [reintegrate, adjust_once_more], ids=["", "adjusted once more"])
def test_a_later_group_has_the_lens_that_the_first_one_found(
    small: Truth,
    large: Truth,
    then: Callable[[Problem, Reconstruction, Config], Reconstruction],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All images have one camera, whose focal length is given 10% too long."""
    monkeypatch.setattr("vgpa.mapping.finish.reintegrate", then)
    both = side_by_side(small.problem, large.problem)
    wrong = replace(both.images.cameras[0], params=both.images.cameras[0].params * [1.1, 1.1, 1, 1])
    config = quiet()
    config = replace(config, mapping=replace(config.mapping, fix_intrinsics=False))
    first, second = solve(replace(both, images=both.images.with_cameras((wrong,))), config, StageLog()).parts
    assert first.model.images.cameras[0].params[0] == pytest.approx(both.images.cameras[0].params[0], rel=0.01)
    np.testing.assert_array_equal(first.model.images.cameras[0].params, second.model.images.cameras[0].params)


def test_one_image_of_a_camera_does_not_tell_its_lens_to_others(small: Truth, large: Truth) -> None:
    """Camera 1 took one image of the first group and all of the second."""
    both = side_by_side(small.problem, large.problem)
    camera_idx = np.where(np.arange(13) < 6, 1, 0)
    images = replace(both.images, camera_idx=camera_idx, cameras=both.images.cameras * 2)
    config = quiet()
    config = replace(config, mapping=replace(config.mapping, fix_intrinsics=False))
    first, second = solve(replace(both, images=images), config, StageLog()).parts
    assert first.model.poses.is_known[5]
    assert not np.array_equal(first.model.images.cameras[1].params, second.model.images.cameras[1].params)


def test_a_group_whose_matches_are_wrong_leaves_the_other_model_alone(small: Truth, large: Truth) -> None:
    xy_px = np.random.default_rng(0).uniform([0, 0], [1000, 800], small.problem.keypoints.xy_px.shape)
    nonsense = replace(small.problem, keypoints=replace(small.problem.keypoints, xy_px=xy_px))
    solution = solve(side_by_side(nonsense, large.problem), quiet(), StageLog())
    assert [part.model.num_registered for part in solution.parts] == [8]
    assert not any(solution.states[f"photo_{k:02d}.jpg"] is ImageState.REGISTERED for k in range(5))
    with pytest.raises(NoModelError):
        solve(nonsense, quiet(), StageLog())


def test_the_largest_group_may_fail_and_a_smaller_one_is_still_solved(small: Truth, large: Truth) -> None:
    xy_px = np.random.default_rng(0).uniform([0, 0], [1000, 800], large.problem.keypoints.xy_px.shape)
    nonsense = replace(large.problem, keypoints=replace(large.problem.keypoints, xy_px=xy_px))
    solution = solve(side_by_side(small.problem, nonsense), quiet(), StageLog())
    assert [part.model.num_registered for part in solution.parts] == [5]


def test_a_group_that_hangs_on_the_largest_by_weak_threads_is_joined_to_it() -> None:
    """Images 7 to 11 share 24 points each with images 0 to 6: too few for an edge, and for any of them alone."""
    truth = make_problem(12, 120, noise_px=0.3, seed=7)
    i, j = truth.problem.view_graph.edge_index
    crosses = (i < 7) & (j >= 7)
    edge = truth.problem.matches.edge_idx
    seen = (truth.problem.matches.keypoint_idx[:, 0] // 24) == (j[edge] - 7)
    keep = ~crosses[edge] | seen
    counts = np.where(crosses, 24, 120)
    problem = replace(
        truth.problem,
        matches=Matches(np.r_[0, np.cumsum(counts)], truth.problem.matches.keypoint_idx[keep]),
        view_graph=replace(truth.problem.view_graph, num_inliers=counts, num_matches=counts),
    )
    config = quiet()
    alone = replace(config, mapping=replace(config.mapping, reintegrate=None))
    assert [part.model.num_registered for part in solve(problem, alone, StageLog()).parts] == [7, 5]
    solution = solve(problem, config, StageLog())
    assert [part.model.num_registered for part in solution.parts] == [12]
    assert score_poses(solution.model.poses.cam_from_world, truth.cam_from_world, 12).rotation_mean_deg < 0.1


def test_a_given_model_wins_images_and_keeps_its_cameras(large: Truth) -> None:
    complete = solve(large.problem, quiet(), StageLog()).model
    is_given = np.arange(8) < 5
    tracks = complete.tracks.select_observations(is_given[complete.tracks.image_idx])
    given = replace(complete, poses=complete.poses.keep(is_given), tracks=tracks)
    solution = register(large.problem, given, quiet(), StageLog())
    assert solution.model.num_registered == 8
    np.testing.assert_array_equal(
        solution.model.poses.cam_from_world.translation[is_given], complete.poses.cam_from_world.translation[is_given]
    )
    assert score_poses(solution.model.poses.cam_from_world, large.cam_from_world, 8).rotation_mean_deg < 0.1


def test_an_image_that_no_match_ties_to_a_given_model_is_not_placed(small: Truth, large: Truth) -> None:
    problem = side_by_side(large.problem, small.problem)
    given = solve(problem, quiet(), StageLog()).model
    solution = register(problem, given, quiet(), StageLog())
    assert solution.model.num_registered == 8
    assert solution.states["photo_12.jpg"] is ImageState.NOT_PLACED
    np.testing.assert_array_equal(solution.model.xyz, given.xyz)


@pytest.mark.parametrize(("few_images", "num_short"), [(6, 60), (5, 0)])
def test_tracks_of_two_images_count_where_images_are_few(few_images: int, num_short: int) -> None:
    """All six images see points 0 to 99, but 100 to 159 are matched between images 0 and 1 only."""
    problem = make_problem(6, 160, noise_px=0.3, seed=3).problem
    matches, edge_index = problem.matches, problem.view_graph.edge_index
    keep = (matches.keypoint_idx[:, 0] < 100) | (edge_index[:, matches.edge_idx] == [[0], [1]]).all(axis=0)
    counts = np.bincount(matches.edge_idx[keep], minlength=edge_index.shape[1])
    fewer = Matches(np.r_[0, np.cumsum(counts)], matches.keypoint_idx[keep])
    config = presets.default()
    config = replace(config, mapping=replace(config.mapping, few_images=few_images), num_threads=1)
    solution = solve(replace(problem, matches=fewer), config, StageLog())
    model = solution.model
    assert len(solution.tracks) == 100 + num_short
    assert (model.tracks.lengths == 6).sum() > 95
    assert abs((model.tracks.lengths == 2).sum() - num_short) <= 5


def test_two_cores_give_the_same_model_as_one() -> None:
    code = """
    from dataclasses import replace
    import numpy as np
    from tests.synthetic import make_problem
    from vgpa import config as presets
    from vgpa.compute import beside
    from vgpa.solve import solve
    from vgpa.stages import StageLog

    truth = make_problem(10, 300, noise_px=0.2)
    keypoints = truth.problem.keypoints
    shifted = replace(keypoints, xy_px=keypoints.xy_px + np.array([12.0, -9.0]))  # principal points are to be freed
    problem = replace(truth.problem, keypoints=shifted)
    forked = []
    fork = beside._fork
    beside._fork = lambda *args: forked.append(1) or fork(*args)
    one, two = (solve(problem, replace(presets.default(), num_threads=n), StageLog()).model for n in (1, 2))
    assert len(forked) == 2, forked
    np.testing.assert_allclose(one.poses.cam_from_world.matrix, two.poses.cam_from_world.matrix, atol=1e-9)
    np.testing.assert_allclose(one.images.cameras[0].params, two.images.cameras[0].params, atol=1e-6)
    assert abs(two.images.cameras[0].params[2] - 512) < 1
    """
    env = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    script = textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode == 0, done.stderr


def test_an_image_of_a_group_that_fails_may_join_another_model() -> None:
    """The keypoints of images 0 to 6 are nonsense; image 7 has weak pairs with images 8 to 12, whose model it joins."""
    truth = make_problem(13, 100, noise_px=0.3, seed=4)
    problem, graph = truth.problem, truth.problem.view_graph
    i, j = graph.edge_index
    is_weak = (i == 7) & (j > 7)
    problem = replace(problem, view_graph=replace(graph, num_inliers=np.where(is_weak, 20, graph.num_inliers)))
    problem = problem.select_edges((j <= 7) | (i >= 7))
    xy_px, end = problem.keypoints.xy_px.copy(), problem.keypoints.offsets[7]
    xy_px[:end] = np.random.default_rng(0).uniform([0, 0], [1000, 800], (end, 2))
    spoiled = replace(problem, keypoints=replace(problem.keypoints, xy_px=xy_px))
    model = solve(spoiled, quiet(), StageLog()).model
    np.testing.assert_array_equal(np.flatnonzero(model.poses.is_known), np.arange(7, 13))
    assert score_poses(model.poses.cam_from_world[7:], truth.cam_from_world[7:], 6).rotation_mean_deg < 0.1


def test_two_images_that_are_left_of_three_are_a_model_where_there_is_no_other() -> None:
    """The keypoints of the third image are too coarse to stay."""
    truth = make_problem(3, 200, noise_px=0.3, seed=1)
    keypoints = truth.problem.keypoints
    xy_px, start = keypoints.xy_px.copy(), keypoints.offsets[2]
    xy_px[start:] += np.random.default_rng(0).normal(0, 20, (len(xy_px) - start, 2))
    model = solve(replace(truth.problem, keypoints=replace(keypoints, xy_px=xy_px)), quiet(), StageLog()).model
    np.testing.assert_array_equal(model.poses.is_known, [True, True, False])
