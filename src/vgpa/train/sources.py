"""Where the view graphs of a training step come from.

The batch of a step is made of shares, and what a share holds depends on the seed, the step and the number of the
share alone. So two processes with two shares each see exactly what one process with four shares sees, and a run that
is resumed sees what it would have seen.

    GeneratedWorlds   worlds made on the way, each used once or a few times
    StoredWorlds      view graphs at hand, each once before any of them comes again

Touches torch, numpy, the rest of this room and, for stored graphs, the disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from vgpa.errors import InputError
from vgpa.train.batches import cut_worlds, join_worlds, move_worlds, reorder_worlds
from vgpa.train.real import load_view_graphs
from vgpa.train.worlds import WorldBatch, WorldOptions, make_worlds

# Making worlds on a GPU costs about the same for one graph or a hundred, so several steps are made at once. On a CPU
# the time grows with the number of graphs, and a little faster: all are padded to the largest.
_STEPS_AT_ONCE = {"cpu": 1, "cuda": 8}


class WorldSource(Protocol):
    """Anything that has a batch for every step."""

    def batch(self, step: int) -> WorldBatch:
        """What this process trains on in a step."""


@dataclass(frozen=True)
class Deal:
    """How a step's batch is dealt to the processes: in `num_shares` shares, of which `own` are this process's."""

    share_size: int
    num_shares: int
    own: range

    @staticmethod
    def to_process(rank: int, num_processes: int, batch_size: int, share_size: int) -> Deal:
        """The deal of one of several processes with `batch_size` graphs each, a multiple of `share_size`."""
        num_own = batch_size // share_size
        return Deal(share_size, num_processes * num_own, range(rank * num_own, (rank + 1) * num_own))


class GeneratedWorlds:
    """Worlds made on a device, for a few steps at once; dealt `num_uses` times, in new company every time."""

    def __init__(self, options: WorldOptions, seed: int, device: torch.device, deal: Deal, num_uses: int = 1) -> None:
        self._options, self._seed, self._device, self._deal = options, seed, device, deal
        self._num_uses = num_uses
        self._steps_at_once = _STEPS_AT_ONCE.get(device.type, 1)
        self._chunk = self._round = -1
        self._shares: list[WorldBatch] = []
        self._hands: list[list[WorldBatch]] = []

    def batch(self, step: int) -> WorldBatch:
        """The worlds of a step; those of a few following steps are made along with them."""
        deal_round, turn = divmod(step, self._steps_at_once)
        chunk = deal_round // self._num_uses
        if chunk != self._chunk:
            self._shares = [self._make_share(chunk, share) for share in self._deal.own]
            self._chunk = chunk
        if deal_round != self._round:
            pairs = zip(self._shares, self._deal.own, strict=True)
            self._hands = [self._deal_out(worlds, deal_round, share) for worlds, share in pairs]
            self._round = deal_round
        return join_worlds([hand[turn] for hand in self._hands])

    def _make_share(self, chunk: int, share: int) -> WorldBatch:
        """One share of several steps."""
        generator = torch.Generator(self._device).manual_seed(mix_seed(self._seed, chunk, share))
        return make_worlds(self._deal.share_size * self._steps_at_once, generator, self._options)

    def _deal_out(self, worlds: WorldBatch, deal_round: int, share: int) -> list[WorldBatch]:
        """The share cut into steps. Worlds come sorted by kind, so they are shuffled first."""
        generator = torch.Generator(self._device).manual_seed(mix_seed(self._seed, deal_round, share, 1))
        order = torch.randperm(worlds.graph.num_graphs, generator=generator, device=self._device)
        return cut_worlds(reorder_worlds(worlds, order), self._deal.share_size)


class StoredWorlds:
    """View graphs at hand, in a new order every time round."""

    def __init__(self, worlds: list[WorldBatch], seed: int, device: torch.device, deal: Deal) -> None:
        self._worlds = [move_worlds(item, device) for item in worlds]
        self._seed, self._deal = seed, deal

    def batch(self, step: int) -> WorldBatch:
        """The graphs of a step."""
        size = self._deal.share_size
        first = (step * self._deal.num_shares + self._deal.own.start) * size
        return join_worlds([self._worlds[self._index(first + k)] for k in range(len(self._deal.own) * size)])

    def _index(self, place: int) -> int:
        """Which graph comes at a place in the endless line of graphs."""
        turn, k = divmod(place, len(self._worlds))
        return int(np.random.default_rng((self._seed, turn)).permutation(len(self._worlds))[k])


def load_stored(folder: Path, needs_truth: bool) -> list[WorldBatch]:
    """The view graphs of a folder; refused where the true cameras are needed and not there."""
    graphs = load_view_graphs(folder)
    if needs_truth and any(bool(graph.centre.isnan().any()) for graph in graphs):
        raise InputError(
            f"some view graphs in {folder} come without their true cameras, which this training learns from",
            "train --network paper with --target measured on them",
        )
    return graphs


def mix_seed(*parts: int) -> int:
    """One seed of 64 bits from several numbers; different numbers give unrelated seeds."""
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0])
