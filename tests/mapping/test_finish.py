"""A model that stands on two feet ends on one, and one whose parts cannot come back stays as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.mapping.built import build_model
from tests.synthetic import Truth, make_problem
from vgpa import config as presets
from vgpa.config import Config
from vgpa.evaluate.scores import score_poses
from vgpa.frontend.tracks import build_tracks
from vgpa.geometry.rigid import Rigid
from vgpa.mapping import finish
from vgpa.mapping.finish import adjust_and_finish, finish_model
from vgpa.mapping.one_round import Given
from vgpa.mapping.rounds import Rough, readjust, refine_model
from vgpa.mapping.triangulate import PointFilter, triangulate
from vgpa.scene import Poses, Problem, Reconstruction, Tracks
from vgpa.stages import StageLog

NUM, SECOND = 12, np.arange(12) >= 8
NUM_TIES = 5


@pytest.fixture(scope="module")
def truth() -> Truth:
    return make_problem(NUM, 200, noise_px=0.3)


def fixed() -> Config:
    config = presets.default()
    return replace(config, mapping=replace(config.mapping, fix_intrinsics=True), num_threads=1)


def two_feet(truth: Truth, angle_deg: float) -> Reconstruction:
    """Images 8 to 11 and all they see, turned against the rest as a whole; a few points have views of both."""
    problem, turn = truth.problem, Rotation.from_rotvec([0, 0, np.radians(angle_deg)]).as_matrix()
    tracks = build_tracks(problem, fixed().graph)
    is_second = SECOND[tracks.image_idx]
    wanted = PointFilter(4.0, 1.0, min_num_views=2)
    feet = []
    for foot, poses in ((~is_second, truth.cam_from_world), (is_second, turned(truth.cam_from_world, turn))):
        own = tracks.select_observations(foot)
        feet.append(triangulate(problem.images, Poses.of_all(poses), problem.keypoints, own, wanted))
    ties = tracks.select(np.arange(len(tracks)) < NUM_TIES)
    # The ties lie where the first foot sees them.
    xyz = np.concatenate([feet[0].xyz[NUM_TIES:], feet[1].xyz[NUM_TIES:], feet[0].xyz[:NUM_TIES]])
    parts = [*(foot.tracks.select(np.arange(len(foot.tracks)) >= NUM_TIES) for foot in feet), ties]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([part.lengths for part in parts]))])
    joined = Tracks(offsets, *(np.concatenate([getattr(p, n) for p in parts]) for n in ("image_idx", "keypoint_idx")))
    rotation = np.where(SECOND[:, None, None], truth.cam_from_world.rotation @ turn, truth.cam_from_world.rotation)
    poses = Poses.of_all(Rigid.from_matrix(rotation, truth.cam_from_world.translation))
    grey = np.full((len(xyz), 3), 128, dtype=np.uint8)
    return Reconstruction(problem.images, poses, xyz, joined, np.zeros(len(xyz)), grey)


def turned(cam_from_world: Rigid, turn: np.ndarray) -> Rigid:
    return Rigid.from_matrix(cam_from_world.rotation @ turn, cam_from_world.translation)


def places(model: Reconstruction) -> np.ndarray:
    return model.poses.cam_from_world.translation


def test_where_images_were_lost_the_lesser_foot_is_taken_off_and_comes_back_in_its_place(truth: Truth) -> None:
    built = two_feet(truth, 8.0)
    assert score_poses(built.poses.cam_from_world, truth.cam_from_world, NUM).rotation_mean_deg > 2
    checked, placed = finish_model(truth.problem, built, NUM + 3, fixed(), StageLog())
    assert checked.model.num_registered == placed.sum() == NUM
    assert score_poses(checked.model.poses.cam_from_world, truth.cam_from_world, NUM).rotation_mean_deg < 0.1


def test_where_none_was_lost_the_model_is_not_doubted(truth: Truth) -> None:
    built = two_feet(truth, 8.0)
    checked, _ = finish_model(truth.problem, built, NUM, fixed(), StageLog())
    assert score_poses(checked.model.poses.cam_from_world, truth.cam_from_world, NUM).rotation_mean_deg > 2


def test_a_foot_that_cannot_come_back_stays(truth: Truth) -> None:
    """No pair joins the feet."""
    apart = truth.problem.select_edges(np.asarray(np.equal(*SECOND[truth.problem.view_graph.edge_index])))
    built = two_feet(truth, 8.0)
    checked, _ = finish_model(apart, built, NUM + 3, fixed(), StageLog())
    assert checked.model.num_registered == NUM
    np.testing.assert_array_equal(
        checked.model.poses.cam_from_world.translation, built.poses.cam_from_world.translation
    )


def test_a_good_model_is_the_same_whether_it_is_doubted_or_not(truth: Truth) -> None:
    tracks = build_tracks(truth.problem, fixed().graph)
    poses, problem = Poses.of_all(truth.cam_from_world), truth.problem
    built = build_model(problem.images, poses, problem.keypoints, tracks, fixed().mapping)
    checked, _ = finish_model(problem, built, NUM + 3, fixed(), StageLog())
    np.testing.assert_array_equal(
        checked.model.poses.cam_from_world.translation, built.poses.cam_from_world.translation
    )


def from_start(problem: Problem, start: Reconstruction, config: Config) -> tuple[Reconstruction, list[str]]:
    """The finished model from a start's poses and tracks, of a group of a few images more; and the stages it took."""
    log = StageLog()
    given = Given(problem.images, problem.keypoints, start.tracks, config.mapping, num_threads=1)
    checked, _ = adjust_and_finish(problem, given, start.poses, None, NUM + 3, config, log)
    return checked.model, [record.name for record in log.records]


def test_a_doubted_model_is_taken_apart_after_its_first_round(truth: Truth) -> None:
    model, stages = from_start(truth.problem, two_feet(truth, 8.0), fixed())
    assert stages == ["bundle adjust", "check cameras", "reintegrate images"]
    assert model.num_registered == NUM
    assert score_poses(model.poses.cam_from_world, truth.cam_from_world, NUM).rotation_mean_deg < 0.1


def test_what_was_taken_apart_rough_is_adjusted_even_if_hardly_any_image_came_back(
    truth: Truth, monkeypatch: pytest.MonkeyPatch
) -> None:
    adjusted = []

    def adjust(model: Reconstruction, *how: Any) -> Reconstruction:
        adjusted.append(model.num_registered)
        return readjust(model, *how)

    monkeypatch.setattr(finish, "READJUST_GROWTH", 10.0)
    monkeypatch.setattr(finish, "readjust", adjust)
    finish_model(truth.problem, two_feet(truth, 8.0), NUM + 3, fixed(), StageLog())
    assert adjusted == []
    from_start(truth.problem, two_feet(truth, 8.0), fixed())
    assert adjusted == [NUM]


def test_a_doubted_model_that_cannot_grow_goes_through_all_rounds(truth: Truth) -> None:
    apart = truth.problem.select_edges(np.asarray(np.equal(*SECOND[truth.problem.view_graph.edge_index])))
    model, stages = from_start(apart, two_feet(truth, 8.0), fixed())
    assert stages.count("bundle adjust") == 2
    assert model.num_registered == NUM


def test_a_doubted_model_that_may_tell_a_principal_point_goes_through_all_rounds_first(
    truth: Truth, monkeypatch: pytest.MonkeyPatch
) -> None:
    refined = []

    def refine(rough: Rough, last_tracks: Tracks | None) -> Reconstruction:
        refined.append(rough)
        return refine_model(rough, last_tracks)

    monkeypatch.setattr(finish, "refine_model", refine)
    free = replace(fixed(), mapping=replace(fixed().mapping, fix_intrinsics=False))
    _, stages = from_start(truth.problem, two_feet(truth, 8.0), free)
    assert len(refined) == stages.count("bundle adjust") == 1
