"""Votes for focal lengths: highest at the truth, whatever the motion, on exact fundamental matrices."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from vgpa.geometry.focal import focal_votes, pair_votes
from vgpa.geometry.rotation import normalize, skew

CANDIDATES = np.geomspace(300, 3000, 200)


def essential_matrices(num: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rotation = Rotation.from_rotvec(rng.normal(size=(num, 3)) * 0.3).as_matrix()
    return skew(normalize(rng.normal(size=(num, 3)))) @ rotation


@pytest.mark.parametrize(("is_i", "is_j"), [(True, True), (True, False), (False, True)])
def test_the_true_focal_length_gets_every_vote(is_i: bool, is_j: bool) -> None:
    inverse = np.diag([1 / 800, 1 / 800, 1.0])
    fundamental = essential_matrices(20)
    fundamental = inverse @ fundamental if is_j else fundamental
    fundamental = fundamental @ inverse if is_i else fundamental
    sides = np.full(20, is_i), np.full(20, is_j)
    np.testing.assert_allclose(focal_votes(fundamental, *sides, np.array([800.0])), 1, atol=1e-6)
    votes = focal_votes(fundamental, *sides, CANDIDATES).sum(axis=1)
    assert CANDIDATES[votes.argmax()] == pytest.approx(800, rel=0.02)


def test_votes_do_not_depend_on_the_scale_of_a_fundamental_matrix() -> None:
    fundamental = essential_matrices(5, seed=1)
    both = np.ones(5, dtype=bool), np.ones(5, dtype=bool)
    np.testing.assert_allclose(
        focal_votes(1e-6 * fundamental, *both, CANDIDATES), focal_votes(fundamental, *both, CANDIDATES), atol=1e-9
    )


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_tiny_and_huge_matrices_vote_alike_and_none_does_not(scale: float) -> None:
    fundamental = essential_matrices(5, seed=1)
    both = np.ones(5, dtype=bool), np.ones(5, dtype=bool)
    votes = focal_votes(fundamental, *both, CANDIDATES)
    np.testing.assert_allclose(focal_votes(scale * fundamental, *both, CANDIDATES), votes, atol=1e-6)
    assert (focal_votes(0 * fundamental, *both, CANDIDATES) == 0).all()


def test_votes_are_what_the_singular_values_say() -> None:
    fundamental = essential_matrices(6, seed=2) @ np.diag([1 / 700, 1 / 900, 1.0])
    is_i, is_j = np.arange(6) % 2 == 0, np.arange(6) > 2
    votes = focal_votes(fundamental, is_i, is_j, CANDIDATES)
    for pair in range(6):
        for focal, vote in zip(CANDIDATES[::20], votes[::20, pair], strict=True):
            scale_i, scale_j = (np.diag([focal, focal, 1.0]) if own[pair] else np.eye(3) for own in (is_i, is_j))
            first, second, _ = np.linalg.svd(scale_j @ fundamental[pair] @ scale_i, compute_uv=False)
            assert vote == pytest.approx(np.exp(-(1 - second / first) / 0.03), rel=1e-5)


def test_votes_on_two_unknown_cameras_are_what_the_singular_values_say() -> None:
    fundamental = essential_matrices(4, seed=3) @ np.diag([1 / 700, 1 / 700, 1.0])
    votes = pair_votes(fundamental, CANDIDATES[::40])
    for pair, (a, f_i), (b, f_j) in product(range(4), enumerate(CANDIDATES[::40]), enumerate(CANDIDATES[::40])):
        scaled = np.diag([f_j, f_j, 1.0]) @ fundamental[pair] @ np.diag([f_i, f_i, 1.0])
        first, second, _ = np.linalg.svd(scaled, compute_uv=False)
        assert votes[pair, a, b] == pytest.approx(np.exp(-(1 - second / first) / 0.03), rel=1e-2, abs=1e-6)


def test_two_cameras_that_are_one_vote_as_one() -> None:
    fundamental = essential_matrices(5, seed=4)
    both = np.ones(5, dtype=bool), np.ones(5, dtype=bool)
    diagonal = np.diagonal(pair_votes(fundamental, CANDIDATES), axis1=1, axis2=2)
    np.testing.assert_allclose(diagonal.T, focal_votes(fundamental, *both, CANDIDATES), atol=0.02)
