"""Points and tracks: counts are those of the model, and exactly the observations made wrong are found wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.datasets.layouts import NUM_IMAGES, NUM_POINTS, make_truth, model_of
from tests.synthetic import Truth
from vgpa.evaluate.points import describe_points, outlier_fraction
from vgpa.scene import Keypoints, Poses, Tracks


@pytest.fixture(scope="module")
def truth() -> Truth:
    return make_truth()


def moved(keypoints: Keypoints, chosen: np.ndarray, by_px: float) -> Keypoints:
    xy_px = keypoints.xy_px.copy()
    xy_px[chosen] += by_px
    return replace(keypoints, xy_px=xy_px)


def test_counts(truth: Truth) -> None:
    model = model_of(truth)
    model = replace(model, error_px=np.linspace(0, 1, NUM_POINTS) ** 2)
    points = describe_points(model, truth.problem.keypoints, model)
    assert (points.num_points, points.num_observations) == (NUM_POINTS, NUM_POINTS * NUM_IMAGES)
    assert points.mean_track_length == NUM_IMAGES
    assert points.mean_error_px == pytest.approx(np.mean(model.error_px))
    assert points.median_error_px == pytest.approx(np.median(model.error_px))
    assert points.outlier_fraction == 0


@pytest.mark.parametrize("num_wrong", [1, 2, 3])
def test_wrong_observations_are_counted(truth: Truth, num_wrong: int) -> None:
    """Up to half the observations of every track, displaced differently in each image."""
    model = model_of(truth)
    rng = np.random.default_rng(num_wrong)
    chosen = np.concatenate([rng.permutation(NUM_IMAGES)[:num_wrong] * NUM_POINTS + k for k in range(NUM_POINTS)])
    keypoints = truth.problem.keypoints
    xy_px = keypoints.xy_px.copy()
    xy_px[chosen] += rng.uniform(40, 90, size=(len(chosen), 2)) * rng.choice([-1, 1], size=(len(chosen), 2))
    wrong = outlier_fraction(model.images, model.poses, replace(keypoints, xy_px=xy_px), model.tracks)
    assert wrong == pytest.approx(num_wrong / NUM_IMAGES, abs=0.01)


def test_small_displacements_are_right(truth: Truth) -> None:
    model = model_of(truth)
    close = moved(truth.problem.keypoints, np.arange(0, NUM_IMAGES * NUM_POINTS, 7), 1.0)
    assert outlier_fraction(model.images, model.poses, close, model.tracks) == 0


def test_wrong_poses_contradict_the_tracks(truth: Truth) -> None:
    model = model_of(truth)
    order = np.roll(np.arange(NUM_IMAGES), 1)
    wrong = outlier_fraction(
        model.images, Poses.of_all(truth.cam_from_world[order]), truth.problem.keypoints, model.tracks
    )
    assert wrong is not None
    assert wrong > 0.3


def test_images_without_poses_are_not_judged(truth: Truth) -> None:
    model = model_of(truth)
    keypoints = moved(truth.problem.keypoints, np.arange(NUM_POINTS), 500.0)  # all of the first image
    known = np.ones(NUM_IMAGES, dtype=bool)
    assert outlier_fraction(model.images, model.poses, keypoints, model.tracks) == pytest.approx(1 / NUM_IMAGES)
    known[0] = False
    assert outlier_fraction(model.images, model.poses.keep(known), keypoints, model.tracks) == 0
    assert outlier_fraction(model.images, model.poses.keep(~known), keypoints, model.tracks) is None
    assert outlier_fraction(model.images, model.poses, keypoints, Tracks.empty()) is None


def test_the_reference_is_matched_by_name(truth: Truth) -> None:
    """A reference in another order, of fewer images, judges the same observations."""
    model = model_of(truth)
    order = np.array([4, 2, 0])
    images = replace(
        model.images,
        names=tuple(model.images.names[k] for k in order),
        camera_idx=model.images.camera_idx[order],
        image_id=model.images.image_id[order],
    )
    empty = model.select_points(np.zeros(NUM_POINTS, dtype=bool))
    reference = replace(empty, images=images, poses=Poses.of_all(truth.cam_from_world[order]))
    keypoints = moved(truth.problem.keypoints, np.arange(2 * NUM_POINTS, 3 * NUM_POINTS), 300.0)
    assert describe_points(model, keypoints, reference).outlier_fraction == pytest.approx(1 / 3)
