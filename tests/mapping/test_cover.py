"""Subsets of tracks: every image keeps its share."""

from __future__ import annotations

import numpy as np
import pytest

from vgpa.mapping.cover import MIN_NUM_SHARED, covering_tracks, firm_core, sampled_tracks
from vgpa.scene import Tracks


@pytest.fixture
def tracks() -> Tracks:
    """200 tracks of 2 to 6 out of 8 images."""
    rng = np.random.default_rng(0)
    seen = [np.sort(rng.choice(8, rng.integers(2, 7), replace=False)) for _ in range(200)]
    offsets = np.concatenate([[0], np.cumsum([len(images) for images in seen])])
    return Tracks(offsets, np.concatenate(seen), np.repeat(np.arange(200), [len(images) for images in seen]))


@pytest.mark.parametrize("min_num", [1, 10, 10_000])
def test_every_image_sees_enough_of_a_subset_or_all_that_it_has(tracks: Tracks, min_num: int) -> None:
    wanted = np.minimum(np.bincount(tracks.image_idx), min_num)
    for chosen in (covering_tracks(tracks, min_num), sampled_tracks(tracks, min_num, seed=0)):
        assert (np.bincount(tracks.select(chosen).image_idx, minlength=8) >= wanted).all()


def test_a_cover_has_long_tracks_and_a_sample_tracks_of_every_length(tracks: Tracks) -> None:
    typical = tracks.lengths.mean()
    assert tracks.select(covering_tracks(tracks, 5)).lengths.mean() > typical + 1
    assert tracks.select(sampled_tracks(tracks, 20, seed=0)).lengths.mean() < typical + 0.6


def test_a_sample_depends_on_nothing_but_its_seed(tracks: Tracks) -> None:
    first, again, other = (sampled_tracks(tracks, 5, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_no_tracks_have_no_subset() -> None:
    assert len(covering_tracks(Tracks.empty(), 5)) == len(sampled_tracks(Tracks.empty(), 5, seed=0)) == 0


def tracks_of(*seen: tuple[tuple[int, ...], int]) -> Tracks:
    """Tracks seen in given images, so many of each kind."""
    images = [np.array(image_idx) for image_idx, num in seen for _ in range(num)]
    lengths = [len(image_idx) for image_idx in images]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Tracks(offsets, np.concatenate(images), np.repeat(np.arange(len(images)), lengths))


def test_the_core_is_what_hangs_together_by_many_points() -> None:
    firm, loose = MIN_NUM_SHARED, MIN_NUM_SHARED - 1
    tracks = tracks_of(((0, 1, 2), 2 * firm), ((2, 3), firm), ((3, 4), loose), ((4, 5), 3 * firm))
    np.testing.assert_array_equal(firm_core(tracks, 7), [True, True, True, True, False, False, False])


def test_images_that_share_little_with_each_of_a_set_share_enough_with_all_of_it() -> None:
    part = 2 * MIN_NUM_SHARED // 3 + 1
    ties = [((k, 3), part) for k in range(3)]
    assert firm_core(tracks_of(((0, 1, 2), 200), *ties), 4).all()
    np.testing.assert_array_equal(firm_core(tracks_of(((0, 1, 2), 200), *ties[:2]), 4), [True, True, True, False])
