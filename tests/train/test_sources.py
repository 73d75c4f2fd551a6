"""What a step sees depends on the seed, the step and the share: not on the processes, not on what came before."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vgpa.train import sources
from vgpa.train.batches import cut_worlds, join_worlds
from vgpa.train.sources import Deal, GeneratedWorlds, StoredWorlds, WorldSource, mix_seed
from vgpa.train.worlds import WorldBatch, WorldOptions, make_worlds

SIZES = WorldOptions(num_cams=(8, 14), num_cams_small=(6, 8), num_points=150)
CPU = torch.device("cpu")
STORED = cut_worlds(make_worlds(5, torch.Generator().manual_seed(0), SIZES), 1)


def generated(rank: int, num_processes: int, batch_size: int, seed: int = 20) -> WorldSource:
    return GeneratedWorlds(SIZES, seed, CPU, Deal.to_process(rank, num_processes, batch_size, share_size=2))


def stored(rank: int, num_processes: int, batch_size: int, seed: int = 20) -> WorldSource:
    return StoredWorlds(STORED, seed, CPU, Deal.to_process(rank, num_processes, batch_size, share_size=2))


@pytest.fixture(params=[1, 3], ids=["one step at once", "three steps at once"])
def _chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sources._STEPS_AT_ONCE, "cpu", request.param)


def is_same(ours: WorldBatch, theirs: WorldBatch) -> bool:
    return torch.equal(ours.graph.rotation, theirs.graph.rotation) and torch.equal(ours.centre, theirs.centre)


@pytest.mark.usefixtures("_chunks")
@pytest.mark.parametrize("make", [generated, stored])
class TestEverySource:
    """Laws of both sources."""

    def test_two_processes_see_what_one_sees(self, make: type) -> None:
        both, first, second = make(0, 1, 4), make(0, 2, 2), make(1, 2, 2)
        for step in range(4):
            assert is_same(join_worlds([first.batch(step), second.batch(step)]), both.batch(step)), step

    def test_no_step_depends_on_the_steps_before(self, make: type) -> None:
        in_order = make(0, 1, 4)
        batches = [in_order.batch(step) for step in range(4)]
        for step in (3, 0, 2):
            assert is_same(make(0, 1, 4).batch(step), batches[step]), step

    def test_steps_and_seeds_differ(self, make: type) -> None:
        source = make(0, 1, 2)
        assert not is_same(source.batch(0), source.batch(1))
        other = make(0, 1, 2, seed=21)
        assert not all(is_same(source.batch(step), other.batch(step)) for step in range(3))

    def test_batches_are_as_large_as_asked(self, make: type) -> None:
        assert make(0, 1, 6).batch(1).graph.num_graphs == 6


@pytest.mark.usefixtures("_chunks")
def test_no_share_is_like_another() -> None:
    one, two = cut_worlds(generated(0, 1, 4).batch(0), 2)
    assert not is_same(one, two)


def test_stored_graphs_come_equally_often() -> None:
    source = StoredWorlds(STORED, 20, CPU, Deal.to_process(0, 1, 3, share_size=1))
    seen = Counter(
        float(piece.graph.rotation.sum()) for step in range(5) for piece in cut_worlds(source.batch(step), 1)
    )
    assert list(seen.values()) == [3] * 5


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_the_shares_of_all_processes_are_all_shares(num_processes: int, num_own: int, share_size: int) -> None:
    deals = [Deal.to_process(rank, num_processes, num_own * share_size, share_size) for rank in range(num_processes)]
    dealt = [share for deal in deals for share in deal.own]
    assert dealt == list(range(deals[0].num_shares))


def test_mixed_seeds_are_all_different() -> None:
    seeds = [mix_seed(*parts) for parts in np.ndindex(4, 10, 10)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**64 for seed in seeds)
