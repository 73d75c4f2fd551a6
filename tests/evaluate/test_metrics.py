"""Metrics: closed forms, invariance to the world, agreement with a naive second implementation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.transform import Rotation

from tests.synthetic import ring_cameras
from vgpa.evaluate import auc, pair_errors_deg, registration_aware
from vgpa.evaluate.scores import score_poses
from vgpa.geometry.alignment import Similarity
from vgpa.geometry.rigid import Rigid

CAMS = ring_cameras(12)


def noisy(cams: Rigid, seed: int = 0) -> Rigid:
    rng = np.random.default_rng(seed)
    turn = Rotation.from_rotvec(rng.normal(size=(len(cams), 3)) * 0.02).as_matrix()
    return Rigid.from_centre(turn @ cams.rotation, cams.centre + rng.normal(size=(len(cams), 3)) * 0.1)


@given(hnp.arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 180)), st.sampled_from([1.0, 5.0, 30.0]))
def test_auc_is_the_area_under_recall(errors: np.ndarray, threshold: float) -> None:
    # Integrate the empirical recall, a step function, piece by piece.
    steps = np.sort(np.concatenate([[0, threshold], errors[errors < threshold]]))
    area = sum((b - a) * np.mean(errors <= a) for a, b in pairwise(steps))
    assert auc(errors, threshold) == pytest.approx(area / threshold, abs=1e-9)


@given(st.integers(2, 40), st.data())
def test_registration_aware_auc_counts_missing_pairs_as_wrong(num_images: int, data: st.DataObject) -> None:
    num_registered = data.draw(st.integers(2, num_images))
    num_pairs = num_registered * (num_registered - 1) // 2
    errors = np.random.default_rng(num_images).uniform(0, 10, num_pairs)
    missing = num_images * (num_images - 1) // 2 - num_pairs
    everything = np.concatenate([errors, np.full(missing, 180.0)])
    closed_form = registration_aware(auc(errors, 5), num_registered, num_images)
    assert closed_form == pytest.approx(auc(everything, 5))


def test_a_model_against_itself_is_perfect() -> None:
    scores = score_poses(CAMS, CAMS, len(CAMS))
    assert scores.rotation_mean_deg == pytest.approx(0, abs=1e-6)
    assert scores.position_mean == pytest.approx(0, abs=1e-9)
    assert scores.auc[1] == pytest.approx(1, abs=1e-6)
    assert scores.auc == pytest.approx(scores.ra_auc)


def test_scores_do_not_depend_on_the_world() -> None:
    other = Similarity(3.0, Rotation.random(random_state=1).as_matrix(), np.array([5.0, 6, 7]))
    before, after = (score_poses(estimate, CAMS, 15) for estimate in (noisy(CAMS), other.apply_to_cameras(noisy(CAMS))))
    assert after.rotation_mean_deg == pytest.approx(before.rotation_mean_deg, abs=1e-6)
    assert after.position_mean == pytest.approx(before.position_mean, rel=1e-4)
    assert after.ra_auc == pytest.approx(before.ra_auc, abs=1e-9)


def test_pair_errors_agree_with_a_naive_loop() -> None:
    estimate = noisy(CAMS)
    rotation, direction = pair_errors_deg(estimate, CAMS)
    expected = [naive_errors(estimate.matrix[[i, j]], CAMS.matrix[[i, j]]) for i in range(12) for j in range(i + 1, 12)]
    np.testing.assert_allclose(np.stack([rotation, direction], axis=-1), expected, atol=1e-5)


def naive_errors(estimate: np.ndarray, true: np.ndarray) -> tuple[float, float]:
    motions = []
    for first, second in (estimate, true):
        rotation = second[:, :3] @ first[:, :3].T
        translation = second[:, 3] - rotation @ first[:, 3]
        motions.append((rotation, translation / np.linalg.norm(translation)))
    (r_a, t_a), (r_b, t_b) = motions
    angle = np.degrees(np.arccos(np.clip((np.trace(r_a.T @ r_b) - 1) / 2, -1, 1)))
    return angle, np.degrees(np.arccos(np.clip(t_a @ t_b, -1, 1)))


def test_the_opposite_direction_is_wrong() -> None:
    mirrored = Rigid.from_centre(CAMS.rotation, -CAMS.centre)
    _, direction = pair_errors_deg(mirrored, CAMS)
    np.testing.assert_allclose(direction, 180, atol=1e-4)
