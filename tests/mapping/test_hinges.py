"""Groups that hang on one image: found by what images share, and as large as the few tracks beyond the hinge say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.synthetic import Truth, make_problem
from vgpa.geometry.rigid import Rigid
from vgpa.mapping.hinges import MIN_NUM_TIES, find_hinges, scale_hanging_groups
from vgpa.scene import Keypoints, Poses, Reconstruction, Tracks

NUM, HINGE, NUM_POINTS, NUM_TIES = 10, 3, 200, 20
GROUP = np.arange(HINGE)


@pytest.fixture(scope="module")
def truth() -> Truth:
    return make_problem(NUM, NUM_POINTS, noise_px=0.2)


def make_tracks(num_ties: int) -> Tracks:
    """Half of the points are seen by the group and its hinge, half by the rest and the hinge; ties by all."""
    seen = []
    for point in range(NUM_POINTS):
        images = range(NUM) if point < num_ties else range(HINGE + 1) if point % 2 else range(HINGE, NUM)
        seen.append([(image, point) for image in images])
    offsets = np.concatenate([[0], np.cumsum([len(track) for track in seen])])
    image_idx, keypoint_idx = np.concatenate(seen).T
    return Tracks(offsets, image_idx, keypoint_idx)


def with_group_scaled(truth: Truth, factor: float) -> Reconstruction:
    """A model whose group has the wrong size, and the points of all tracks but ties, which do not fit then."""
    cams = truth.cam_from_world
    centre = cams.centre.copy()
    centre[GROUP] = centre[HINGE] + factor * (centre[GROUP] - centre[HINGE])
    poses = Poses.of_all(Rigid.from_centre(cams.rotation, centre))
    tracks = make_tracks(NUM_TIES).select(np.arange(NUM_POINTS) >= NUM_TIES)
    grey = np.full((len(tracks), 3), 128, dtype=np.uint8)
    return Reconstruction(truth.problem.images, poses, truth.xyz[NUM_TIES:], tracks, np.zeros(len(tracks)), grey)


def size_of_group(model: Reconstruction, truth: Truth) -> float:
    """Its size over the true one."""
    ours, true = (cams.centre for cams in (model.poses.cam_from_world, truth.cam_from_world))
    return float(np.linalg.norm(ours[0] - ours[HINGE]) / np.linalg.norm(true[0] - true[HINGE]))


def test_the_hinge_and_its_group_are_found_in_spite_of_a_few_wrong_points() -> None:
    tracks = make_tracks(0)
    stray = Tracks(np.array([0, 2, 4, 6]), np.array([0, 7, 0, 7, 0, 7]), np.array([300, 300, 301, 301, 302, 302]))
    joined = Tracks(
        np.concatenate([tracks.offsets, tracks.offsets[-1] + stray.offsets[1:]]),
        np.concatenate([tracks.image_idx, stray.image_idx]),
        np.concatenate([tracks.keypoint_idx, stray.keypoint_idx]),
    )
    for given in (tracks, joined):
        assert [(h.image_idx, h.group.tolist()) for h in find_hinges(given, NUM)] == [(HINGE, GROUP.tolist())]
    assert not find_hinges(make_tracks(NUM_POINTS), NUM)
    assert not find_hinges(Tracks.empty(), NUM)


@pytest.mark.parametrize("factor", [0.3, 0.8, 1.5, 3.0])
def test_a_group_gets_the_size_that_its_ties_tell(truth: Truth, factor: float) -> None:
    model, tracks, keypoints = with_group_scaled(truth, factor), make_tracks(NUM_TIES), truth.problem.keypoints
    assert size_of_group(model, truth) == pytest.approx(factor)
    scaled = scale_hanging_groups(model, keypoints, tracks)
    assert size_of_group(scaled, truth) == pytest.approx(1, abs=0.01)
    rest = np.arange(HINGE, NUM)
    before, after = (m.poses.cam_from_world.centre for m in (model, scaled))
    np.testing.assert_allclose(after[rest], before[rest])
    assert scale_hanging_groups(scaled, keypoints, tracks) is scaled


def test_a_size_that_few_or_contradicting_tracks_tell_is_not_believed(truth: Truth) -> None:
    model, keypoints = with_group_scaled(truth, 2.0), truth.problem.keypoints
    assert scale_hanging_groups(model, keypoints, make_tracks(MIN_NUM_TIES - 1)) is model
    assert scale_hanging_groups(model, keypoints, make_tracks(0)) is model
    # Each tie leads to one point in the group's images and to another one in those of the rest.
    xy_px = keypoints.xy_px.reshape(NUM, NUM_POINTS, 2).copy()
    xy_px[: HINGE + 1, :NUM_TIES] = np.random.default_rng(0).permutation(xy_px[: HINGE + 1, :NUM_TIES], axis=1)
    wrong = Keypoints(keypoints.offsets, xy_px.reshape(-1, 2))
    assert size_of_group(scale_hanging_groups(model, wrong, make_tracks(NUM_TIES)), truth) == pytest.approx(2.0)


def test_nothing_changes_where_nothing_hangs(truth: Truth) -> None:
    model = with_group_scaled(truth, 1.0)
    whole = replace(model, tracks=make_tracks(NUM_POINTS).select(np.arange(NUM_POINTS) >= NUM_TIES))
    assert scale_hanging_groups(whole, truth.problem.keypoints, make_tracks(NUM_POINTS)) is whole
