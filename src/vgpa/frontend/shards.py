"""The front end in pieces: a share of the features, then a share of the pairs, each a small database of its own.

Any batch system can compute the shares (`vgpa reconstruct --shard 3/8 --step features`, then `--step pairs`), and so
can an executor. Every share registers the same photos under the same numbers, so shares never need to talk, and
merging is copying rows. The result does not depend on how many shares there were.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from vgpa.colmap.extraction import extract_features, match_pairs
from vgpa.colmap.store import merge_store, read_keys, read_settings
from vgpa.colmap.tables import names_without_features, verified_pairs
from vgpa.compute import Executor
from vgpa.config import Config
from vgpa.errors import InputError, NoModelError
from vgpa.frontend.pairs import choose_pairs
from vgpa.frontend.register import register_photos
from vgpa.stages import advance

Step = Literal["features", "pairs"]
SHARES_PER_WORKER = 2


@dataclass(frozen=True)
class Share:
    """One piece of one step.

    Attributes:
        step: which step.
        number, total: share `number` of `total`, counted from 1.
        images: the folder of photos; output: the run's folder, on a disk that all workers see.
        config: the settings of the run.
    """

    step: Step
    number: int
    total: int
    images: Path
    output: Path
    config: Config

    @property
    def database(self) -> Path:
        """The small database that this share fills."""
        return self.output / "shards" / f"{self.step}-{self.number}-of-{self.total}.db"


def parse_shard(text: str) -> tuple[int, int]:
    """(i, n) of "i/n"."""
    shape = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    number, total = (int(part) for part in shape.groups()) if shape else (0, 0)
    if not 1 <= number <= total:
        raise InputError(f"The shard {text!r} is not of the form i/n", "Give for example 3/8 for the third of eight")
    return number, total


def compute_share(share: Share) -> None:
    """Compute one share; what its database already holds is kept."""
    share.database.parent.mkdir(parents=True, exist_ok=True)
    register_photos(share.images, share.database, share.config)
    names = sorted(read_keys(share.database))
    config = share.config
    if share.step == "features":
        missing = set(names_without_features(share.database))
        own = [name for name in names[share.number - 1 :: share.total] if name in missing]
        if own:
            extract_features(share.database, share.images, own, config.features, config.num_threads)
        return
    merge_shards(share.output, share.database, "features")
    if names_without_features(share.database):
        raise NoModelError(
            f"{len(names_without_features(share.database))} photos have no features yet",
            "Compute all shares of --step features before --step pairs",
        )
    pairs = choose_pairs(share.database, share.images, names, config)
    done = verified_pairs(share.database)
    own_pairs = [pair for pair in pairs[share.number - 1 :: share.total] if pair not in done]
    if own_pairs:
        match_pairs(share.database, own_pairs, config.matching, config.seed, config.num_threads)


def merge_shards(output: Path, database: Path, step: Step) -> None:
    """Copy the rows of all shares of a step that were made from the same photos and settings."""
    keys, settings = read_keys(database), read_settings(database)
    for part in sorted((output / "shards").glob(f"{step}-*.db")):
        if read_keys(part) == keys and read_settings(part) == settings:
            merge_store(database, part)


def compute_step(step: Step, images: Path, output: Path, config: Config, executor: Executor) -> None:
    """Compute all shares of a step with an executor and merge them into the run's database."""
    total = SHARES_PER_WORKER * executor.num_workers
    small = replace(config, num_threads=1)
    shares = [Share(step, number, total, images, output, small) for number in range(1, total + 1)]
    failed = []
    for num_done, outcome in enumerate(executor.run(compute_share, shares), start=1):
        advance(num_done, total)
        failed += [outcome] if outcome.error is not None else []
    if failed:
        raise NoModelError(
            f"{len(failed)} of {total} shares of the {step} failed, the first with: {failed[0].error}",
            "Run the same command again; shares that are done are kept",
        )
