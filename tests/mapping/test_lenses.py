"""Lenses that run away in an adjustment are held; the others are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.synthetic import Truth, make_problem
from vgpa.colmap.bundle import BundleOptions, bundle_adjust
from vgpa.config import GraphConfig
from vgpa.frontend.tracks import build_tracks
from vgpa.mapping.lenses import adjust_believably, known_lenses, lenses_as_given, lost_lenses, with_given_lenses
from vgpa.scene import FocalSource, Keypoints, Poses, Reconstruction

FREE = BundleOptions("huber", 1.0, 1e-6, 100, refine_intrinsics=True, num_threads=1)


@pytest.fixture(scope="module")
def truth() -> Truth:
    return make_problem(6, 80, noise_px=0.3)


@pytest.fixture(scope="module")
def model(truth: Truth) -> Reconstruction:
    tracks = build_tracks(truth.problem, GraphConfig())
    grey = np.full((len(tracks), 3), 128, dtype=np.uint8)
    poses = Poses.of_all(truth.cam_from_world)
    return Reconstruction(truth.problem.images, poses, truth.xyz, tracks, np.zeros(len(tracks)), grey)


def stretched(truth: Truth, factor: float) -> Keypoints:
    """The keypoints of a lens whose focal length along x is so many times longer."""
    cx = truth.problem.images.cameras[0].params[2]
    xy_px = truth.problem.keypoints.xy_px.copy()
    xy_px[:, 0] = cx + factor * (xy_px[:, 0] - cx)
    return replace(truth.problem.keypoints, xy_px=xy_px)


def test_a_lens_that_lenses_have_is_found(truth: Truth, model: Reconstruction) -> None:
    given = model.images.cameras[0].params
    adjusted = adjust_believably(model, stretched(truth, 1.2), FREE, model.images)
    np.testing.assert_allclose(adjusted.images.cameras[0].params[:2], given[:2] * [1.2, 1], rtol=0.01)


def test_a_lens_that_runs_away_is_held_as_it_was_given(truth: Truth, model: Reconstruction) -> None:
    adjusted = adjust_believably(model, stretched(truth, 2.5), FREE, model.images)
    np.testing.assert_array_equal(adjusted.images.cameras[0].params, model.images.cameras[0].params)
    assert not np.array_equal(adjusted.poses.cam_from_world.translation, model.poses.cam_from_world.translation)


@pytest.mark.parametrize(("factor", "held"), [(1.2, ()), (2.5, (0,))])
def test_a_lens_that_ran_away_is_known_by_being_as_it_was_given(
    truth: Truth, model: Reconstruction, factor: float, held: tuple[int, ...]
) -> None:
    adjusted = adjust_believably(model, stretched(truth, factor), FREE, model.images)
    assert lenses_as_given(adjusted.images, model.images) == held


def test_a_lens_of_too_few_images_is_let_go(truth: Truth, model: Reconstruction) -> None:
    adjusted = adjust_believably(model, stretched(truth, 2.5), FREE, model.images, min_num_images=7)
    assert adjusted.images.cameras[0].params[0] > 1.5 * model.images.cameras[0].params[0]


@pytest.mark.parametrize(("factors", "is_lost"), [((1, 1), False), ((3, 3), False), ((20, 20), True), ((-1, -1), True)])
def test_lost_is_what_no_lens_has(model: Reconstruction, factors: tuple[float, float], is_lost: bool) -> None:
    camera = model.images.cameras[0]
    found = model.images.with_cameras((replace(camera, params=camera.params * [*factors, 1, 1]),))
    assert lost_lenses(found, model.images).tolist() == [is_lost]
    back = with_given_lenses(found, model.images, np.array([True]))
    np.testing.assert_array_equal(back.cameras[0].params, camera.params)


@pytest.mark.parametrize(("factor", "is_lost"), [(1.5, False), (0.1, False), (3, True), (-1, True)])
def test_a_lens_that_is_longer_than_lenses_are_may_run_away_too(
    model: Reconstruction, factor: float, is_lost: bool
) -> None:
    camera = model.images.cameras[0]
    side_px = max(camera.width_px, camera.height_px)
    long = replace(camera, params=np.array([15 * side_px, 15 * side_px, *camera.params[2:]]))
    given = model.images.with_cameras((long,))
    found = model.images.with_cameras((replace(long, params=long.params * [factor, factor, 1, 1]),))
    assert lost_lenses(found, given).tolist() == [is_lost]


def test_somebody_knew_what_is_neither_guessed_nor_voted(model: Reconstruction) -> None:
    sources = (FocalSource.USER, FocalSource.GUESS, FocalSource.EXIF, FocalSource.VOTED, FocalSource.PRIOR)
    cameras = tuple(replace(model.images.cameras[0], focal_source=source) for source in sources)
    images = replace(model.images, cameras=cameras, camera_idx=np.arange(6) % 5)
    assert known_lenses(images) == (0, 2, 4)


def test_distortion_may_be_held_where_the_focal_length_is_free(truth: Truth, model: Reconstruction) -> None:
    radial = tuple(
        replace(camera, model="SIMPLE_RADIAL", params=np.array([0.9 * camera.params[0], *camera.params[2:4], 0.05]))
        for camera in model.images.cameras
    )
    seen = replace(model, images=model.images.with_cameras(radial))
    for is_free in (True, False):
        adjusted = bundle_adjust(seen, truth.problem.keypoints, replace(FREE, refine_distortion=is_free))
        focal, *_, distortion = adjusted.images.cameras[0].params
        assert focal != radial[0].params[0]
        assert bool(distortion != 0.05) is is_free
