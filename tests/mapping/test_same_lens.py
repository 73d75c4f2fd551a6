"""Photos that were taken with one lens get one, and no others do."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from tests.synthetic import FOCAL_PX, make_problem
from vgpa import config as presets
from vgpa.frontend.tracks import build_tracks
from vgpa.mapping.extend import without_images
from vgpa.mapping.one_round import Given, model_of, run_round
from vgpa.mapping.same_lens import tie_lenses, untie_lenses
from vgpa.mapping.triangulate import Points
from vgpa.scene import Camera, FocalSource, ImageSet, Poses, Problem, Reconstruction, Tracks
from vgpa.solve import solve
from vgpa.stages import StageLog

NUM = 8


def own_cameras(images: ImageSet) -> ImageSet:
    """A camera for each image, of which nothing is known but its size."""
    given = images.cameras[0]
    guess = Camera("SIMPLE_RADIAL", given.width_px, given.height_px, np.array([900.0, 500, 400, 0]))
    return replace(images, camera_idx=np.arange(len(images)), cameras=(guess,) * len(images))


@cache
def zoomed(num_zoomed: int, factor: float, num: int = NUM) -> Problem:
    """A camera for each image; the first images see with a longer lens."""
    problem = make_problem(num, 150, noise_px=0.3).problem
    keypoints = problem.keypoints
    factors = np.where(np.arange(num) < num_zoomed, factor, 1.0)[:, None]
    centre = problem.images.cameras[0].params[2:]
    xy_px = centre + np.repeat(factors, keypoints.num_of(), axis=0) * (keypoints.xy_px - centre)
    return replace(problem, images=own_cameras(problem.images), keypoints=replace(keypoints, xy_px=xy_px))


def after_first_round(problem: Problem) -> tuple[Reconstruction, Given]:
    """The model when lenses are to be tied, and what is given."""
    config = presets.default()
    given = Given(problem.images, problem.keypoints, build_tracks(problem, config.graph), config.mapping, 1)
    poses = Poses.of_all(make_problem(len(problem.images), 150).cam_from_world)
    start = model_of(problem.images, poses, Points(np.zeros((0, 3)), Tracks.empty(), np.zeros(0)))
    first = config.mapping.rounds[0]
    return run_round(start, given, first, given.options(first, start)), given


def test_one_lens_is_found_to_be_one() -> None:
    free, given = after_first_round(zoomed(0, 1.0))
    model, tied = tie_lenses(free, given)
    assert len(set(model.images.camera_idx)) == 1
    np.testing.assert_array_equal(tied.images.camera_idx, model.images.camera_idx)
    assert model.images.camera_of(0).params[0] == pytest.approx(FOCAL_PX, rel=0.005)


@pytest.mark.parametrize("factor", [1.03, 1.1])
def test_two_lenses_are_left_alone(factor: float) -> None:
    free, given = after_first_round(zoomed(NUM // 2, factor))
    assert tie_lenses(free, given) == (free, given)


@pytest.mark.parametrize(("num", "factor"), [(20, 1.2), (40, 1.2), (40, 0.8)])
def test_a_single_other_lens_is_not_overruled_by_many(num: int, factor: float) -> None:
    free, given = after_first_round(zoomed(1, factor, num))
    model, _ = tie_lenses(free, given)
    assert len(set(model.images.camera_idx[1:])) == 1
    assert model.images.camera_idx[0] != model.images.camera_idx[1]
    assert model.images.camera_of(0).params[0] == pytest.approx(factor * FOCAL_PX, rel=0.01)
    assert model.images.camera_of(1).params[0] == pytest.approx(FOCAL_PX, rel=0.01)


def test_an_image_that_is_not_placed_keeps_its_own_camera() -> None:
    """Nothing tells yet that it has the same lens."""
    free, given = after_first_round(zoomed(0, 1.0))
    without = without_images(free, np.arange(NUM) == 0)
    model, tied = tie_lenses(without, given)
    assert len(set(model.images.camera_idx[1:])) == 1
    for after, before in ((model.images, without.images), (tied.images, given.images)):
        assert after.camera_idx[0] == 0
        np.testing.assert_array_equal(after.camera_of(0).params, before.camera_of(0).params)


def test_what_differs_in_size_or_was_told_is_not_one_lens() -> None:
    free, given = after_first_round(zoomed(0, 1.0))
    odd = np.arange(NUM) % 2 == 1

    def tied_with(other: Camera) -> Given:
        mixed = tuple(other if is_odd else camera for is_odd, camera in zip(odd, given.images.cameras, strict=True))
        return tie_lenses(free, replace(given, images=given.images.with_cameras(mixed)))[1]

    camera = given.images.cameras[0]
    for other in (replace(camera, width_px=1002), replace(camera, focal_source=FocalSource.EXIF)):
        assert len(set(tied_with(other).images.camera_idx)) == NUM


def test_cameras_that_are_held_or_shared_stay_as_they_are() -> None:
    free, given = after_first_round(zoomed(0, 1.0))
    held = replace(given, config=replace(given.config, held_cameras=tuple(range(4))))
    assert tie_lenses(free, held)[1] is held
    shared = replace(given.images, camera_idx=np.arange(NUM) // 2)
    assert tie_lenses(free, replace(given, images=shared))[1].images is shared


@for_all(st.lists(st.integers(0, 3), min_size=2, max_size=8))
def test_untied_images_have_the_lens_they_shared(shared_with: list[int]) -> None:
    """Whatever is tied to whatever: each image sees with the same parameters as before, by a camera of its own."""
    num = len(shared_with)
    images = own_cameras(replace(make_problem(num, 3).problem.images))
    sources = (FocalSource.GUESS, FocalSource.VOTED)
    own = images.with_cameras(
        tuple(replace(c, params=c.params + k, focal_source=sources[k % 2]) for k, c in enumerate(images.cameras))
    )
    tied = replace(own, camera_idx=np.array([min(group, num - 1) for group in shared_with]))
    untied = untie_lenses(tied, own)
    np.testing.assert_array_equal(untied.camera_idx, own.camera_idx)
    for k in range(num):
        np.testing.assert_array_equal(untied.camera_of(k).params, tied.camera_of(k).params)
        assert untied.camera_of(k).focal_source is own.camera_of(k).focal_source


def test_a_solution_has_a_camera_for_every_image_that_had_one() -> None:
    problem = zoomed(0, 1.0)
    images = solve(problem, presets.default(), StageLog()).model.images
    np.testing.assert_array_equal(images.camera_idx, problem.images.camera_idx)
    assert len({tuple(camera.params) for camera in images.cameras}) == 1


def test_lenses_that_are_fixed_are_not_tied() -> None:
    problem, config = zoomed(0, 1.0), presets.default()
    fixed = replace(config, mapping=replace(config.mapping, fix_intrinsics=True))
    exact = replace(problem.images.cameras[0], params=np.array([FOCAL_PX, 500, 400, 0]))
    barely_off = replace(exact, params=exact.params + np.array([1e-3, 0, 0, 0]))
    cameras = (barely_off, *(exact,) * (NUM - 1))
    problem = replace(problem, images=problem.images.with_cameras(cameras))
    images = solve(problem, fixed, StageLog()).model.images
    assert [camera.params[0] for camera in images.cameras] == [camera.params[0] for camera in cameras]
