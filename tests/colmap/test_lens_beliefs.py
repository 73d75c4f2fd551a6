"""Lenses of single photos: found from pairs of unknown cameras, and EXIF is believed unless most of it is wrong."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from vgpa.colmap import lens_beliefs
from vgpa.colmap.calibration import EpipolarPairs
from vgpa.colmap.cameras import mean_focal_px
from vgpa.colmap.lens_beliefs import believe_lenses
from vgpa.geometry.rotation import normalize, skew
from vgpa.scene import Camera, FocalSource, ImageSet

NUM, SIDE_PX = 24, 1000
TRUE_PX = SIDE_PX * np.random.default_rng(7).uniform(0.6, 3.0, NUM)
GUESS_PX = 1.2 * SIDE_PX


def make_images(focal_px: np.ndarray, sources: list[FocalSource]) -> ImageSet:
    cameras = tuple(
        Camera("SIMPLE_RADIAL", SIDE_PX, 800, np.array([f, 500.0, 400.0, 0.0]), source)
        for f, source in zip(focal_px, sources, strict=True)
    )
    return ImageSet(tuple(f"{k}.jpg" for k in range(NUM)), np.arange(NUM), cameras, np.arange(1, NUM + 1))


def make_pairs(num_wrong: int = 0) -> EpipolarPairs:
    """Exact fundamental matrices of all pairs, but some that say nothing."""
    camera_idx = np.array(list(combinations(range(NUM), 2))).T
    num = camera_idx.shape[1]
    rng = np.random.default_rng(0)
    rotation = Rotation.from_rotvec(rng.normal(size=(num, 3)) * 0.3).as_matrix()
    essential = skew(normalize(rng.normal(size=(num, 3)))) @ rotation
    inverse = np.linalg.inv([[[f, 0, 500.0], [0, f, 400.0], [0, 0, 1]] for f in TRUE_PX])
    fundamental = np.swapaxes(inverse[camera_idx[1]], -1, -2) @ essential @ inverse[camera_idx[0]]
    fundamental[rng.permutation(num)[:num_wrong]] = rng.normal(size=(num_wrong, 3, 3))
    return EpipolarPairs(camera_idx, fundamental, np.full(num, 100))


def focal_px(images: ImageSet) -> np.ndarray:
    return np.array([mean_focal_px(camera) for camera in images.cameras])


@pytest.mark.parametrize("num_wrong", [0, 80])
def test_cameras_that_nobody_knows_are_found_from_pairs_of_unknowns(num_wrong: int) -> None:
    images = make_images(np.full(NUM, GUESS_PX), [FocalSource.GUESS] * NUM)
    found = believe_lenses(images, make_pairs(num_wrong))
    np.testing.assert_allclose(focal_px(found), TRUE_PX, rtol=0.11)
    is_moved = np.abs(np.log(TRUE_PX / GUESS_PX)) > 0.2
    assert {found.cameras[k].focal_source for k in np.flatnonzero(is_moved)} == {FocalSource.VOTED}


def test_focal_lengths_of_cropped_photos_are_found_wrong() -> None:
    said_px = np.where(np.arange(NUM) % 4 == 0, TRUE_PX, 2 * TRUE_PX)
    found = believe_lenses(make_images(said_px, [FocalSource.EXIF] * NUM), make_pairs())
    np.testing.assert_allclose(focal_px(found), TRUE_PX, rtol=0.11)


def test_where_most_are_right_each_is_believed() -> None:
    """Eight are wrong, enough to doubt; but sixteen are right."""
    said_px = np.where(np.arange(NUM) % 3 == 0, 2 * TRUE_PX, TRUE_PX)
    images = make_images(said_px, [FocalSource.PRIOR] * NUM)
    np.testing.assert_array_equal(focal_px(believe_lenses(images, make_pairs())), said_px)


def test_a_lens_that_was_calibrated_with_its_distortion_is_not_doubted() -> None:
    images = make_images(2 * TRUE_PX, [FocalSource.PRIOR] * NUM)
    cameras = tuple(replace(c, params=np.array([*c.params[:3], -0.1])) for c in images.cameras)
    calibrated = images.with_cameras(cameras)
    assert believe_lenses(calibrated, make_pairs()) is calibrated


def test_what_nobody_can_see_through_is_no_trouble() -> None:
    """Focal lengths of zero, below zero and beyond belief are left as they are, and the others are found."""
    said_px = np.full(NUM, GUESS_PX)
    said_px[:3] = 0.0, -500.0, 1e6
    found_px = focal_px(believe_lenses(make_images(said_px, [FocalSource.GUESS] * NUM), make_pairs()))
    np.testing.assert_array_equal(found_px[:3], said_px[:3])
    np.testing.assert_allclose(found_px[3:], TRUE_PX[3:], rtol=0.11)


def test_two_photos_with_a_wrong_pair_keep_their_guesses_beside_others_that_are_sure() -> None:
    pairs = make_pairs()
    is_apart = pairs.camera_idx >= NUM - 2
    stays = ~is_apart.any(axis=0) | is_apart.all(axis=0)
    F = pairs.F.copy()
    F[is_apart.all(axis=0)] = np.random.default_rng(1).normal(size=(3, 3)) @ np.diag([1.0, 1, 0])
    images = make_images(np.full(NUM, GUESS_PX), [FocalSource.GUESS] * NUM)
    found = believe_lenses(images, EpipolarPairs(pairs.camera_idx[:, stays], F[stays], pairs.num_inliers[stays]))
    np.testing.assert_array_equal(focal_px(found)[-2:], GUESS_PX)
    np.testing.assert_allclose(focal_px(found)[:-2], TRUE_PX[:-2], rtol=0.11)


def test_large_collections_ask_fewer_pairs_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lens_beliefs, "MAX_NUM_PAIRS", 8 * NUM)
    monkeypatch.setattr(lens_beliefs, "PAIRS_AT_ONCE", 7)
    found = believe_lenses(make_images(np.full(NUM, GUESS_PX), [FocalSource.GUESS] * NUM), make_pairs())
    np.testing.assert_allclose(focal_px(found), TRUE_PX, rtol=0.11)


def test_a_few_that_are_known_are_beyond_doubt_and_help_the_others() -> None:
    sources = [FocalSource.EXIF] * 3 + [FocalSource.GUESS] * (NUM - 3)
    said_px = np.where(np.arange(NUM) < 3, TRUE_PX, GUESS_PX)
    found = believe_lenses(make_images(said_px, sources), make_pairs())
    np.testing.assert_array_equal(focal_px(found)[:3], TRUE_PX[:3])
    np.testing.assert_allclose(focal_px(found), TRUE_PX, rtol=0.11)


def test_what_the_user_says_stands_and_the_others_follow() -> None:
    """Half of the cameras are said to be twice as long as they are."""
    is_said = np.arange(NUM) % 2 == 0
    sources = [FocalSource.USER if said else FocalSource.GUESS for said in is_said]
    images = make_images(np.where(is_said, 2 * TRUE_PX, GUESS_PX), sources)
    np.testing.assert_array_equal(focal_px(believe_lenses(images, make_pairs()))[is_said], 2 * TRUE_PX[is_said])


def test_shared_cameras_and_photos_without_pairs_are_left_alone() -> None:
    images = make_images(np.full(NUM, GUESS_PX), [FocalSource.GUESS] * NUM)
    shared = ImageSet(images.names, np.arange(NUM) // 2, images.cameras[: NUM // 2], images.image_id)
    everyone = make_pairs()
    within = (everyone.camera_idx < NUM // 2).all(axis=0)
    of_shared = EpipolarPairs(everyone.camera_idx[:, within], everyone.F[within], everyone.num_inliers[within])
    assert believe_lenses(shared, of_shared) is shared
    nobody = EpipolarPairs(np.zeros((2, 0), dtype=np.int64), np.zeros((0, 3, 3)), np.zeros(0, dtype=np.int64))
    assert believe_lenses(images, nobody) is images
