"""Calibration by voting: guesses become right where pairs agree, and stay where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from vgpa.colmap.calibration import EpipolarPairs, calibrate_guesses
from vgpa.geometry.rotation import normalize, skew
from vgpa.scene import Camera, FocalSource, ImageSet

TRUE_PX, GUESS_PX = 900.0, 1200.0


def make_images(sources: list[FocalSource]) -> ImageSet:
    """Two images per camera; every camera really has the same focal length."""
    focal = [GUESS_PX if source is FocalSource.GUESS else TRUE_PX for source in sources]
    cameras = tuple(
        Camera("SIMPLE_RADIAL", 1000, 800, np.array([f, 500.0, 400.0, 0.0]), source)
        for f, source in zip(focal, sources, strict=True)
    )
    num = 2 * len(sources)
    return ImageSet(tuple(f"{k}.jpg" for k in range(num)), np.arange(num) // 2, cameras, np.arange(1, num + 1))


def make_pairs(camera_idx: np.ndarray, num_wrong: int = 0) -> EpipolarPairs:
    num = camera_idx.shape[1]
    rng = np.random.default_rng(0)
    rotation = Rotation.from_rotvec(rng.normal(size=(num, 3)) * 0.3).as_matrix()
    essential = skew(normalize(rng.normal(size=(num, 3)))) @ rotation
    inverse = np.linalg.inv([[TRUE_PX, 0, 500.0], [0, TRUE_PX, 400.0], [0, 0, 1]])
    fundamental = inverse.T @ essential @ inverse
    u, s, vt = np.linalg.svd(rng.normal(size=(num_wrong, 3, 3)))
    s[:, 2] = 0
    fundamental[:num_wrong] = u @ (s[..., None] * vt) * np.linalg.norm(fundamental[0])
    return EpipolarPairs(camera_idx, fundamental, np.full(num, 100))


@pytest.mark.parametrize("num_wrong", [0, 12])
def test_a_shared_camera_is_calibrated_by_its_own_pairs(num_wrong: int) -> None:
    images = make_images([FocalSource.GUESS])
    (camera,) = calibrate_guesses(images, make_pairs(np.zeros((2, 40), dtype=np.int64), num_wrong)).cameras
    assert camera.focal_source is FocalSource.VOTED
    assert camera.params[0] == pytest.approx(TRUE_PX, rel=0.02)
    np.testing.assert_array_equal(camera.params[1:], [500, 400, 0])


def test_a_camera_learns_from_known_ones_and_passes_it_on() -> None:
    images = make_images([FocalSource.EXIF, FocalSource.GUESS, FocalSource.GUESS])
    pairs = make_pairs(np.array([[0] * 20 + [1] * 20, [1] * 20 + [2] * 20]))
    known, second, third = calibrate_guesses(images, pairs).cameras
    assert known.focal_source is FocalSource.EXIF
    assert second.params[0] == pytest.approx(TRUE_PX, rel=0.02)
    assert third.params[0] == pytest.approx(TRUE_PX, rel=0.03)


def test_two_unknown_cameras_say_nothing_about_each_other() -> None:
    images = make_images([FocalSource.GUESS, FocalSource.GUESS])
    assert calibrate_guesses(images, make_pairs(np.array([[0] * 40, [1] * 40]))) is images


@pytest.mark.parametrize(("num", "num_wrong"), [(5, 0), (40, 40)])
def test_too_few_or_quarrelling_pairs_keep_the_guess(num: int, num_wrong: int) -> None:
    images = make_images([FocalSource.GUESS])
    assert calibrate_guesses(images, make_pairs(np.zeros((2, num), dtype=np.int64), num_wrong)) is images
