"""Every scene x method x setup x seed of a table, each once. A scene is a shard: it may run on any machine.

A run that has a record is not run again, unless it did not end by itself; so a sweep that was stopped goes on where it
was, and tables that need the same runs share them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vgpa.benchmark.methods import Method
from vgpa.benchmark.offers import make_offer, outlier_percent
from vgpa.benchmark.records import Record, RunKey, read_record, record_path, write_record
from vgpa.benchmark.scenes import ScenePlace
from vgpa.benchmark.tables import Setup
from vgpa.compute import Executor
from vgpa.errors import VgpaError


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Attributes:
        places: the scenes.
        methods, setups: every method is run in every setup; what is read from files has only the first.
        num_seeds: seeds 0, 1, ...
        num_neighbours: of each image, in setups with fewer pairs.
        folder: where records and databases are kept.
    """

    places: tuple[ScenePlace, ...]
    methods: tuple[Method, ...]
    setups: tuple[Setup, ...]
    num_seeds: int
    num_neighbours: int
    folder: Path

    def runs_of(self, place: ScenePlace) -> Iterator[tuple[Method, Setup, int, RunKey]]:
        """Every run on a scene, in an order that gives no method the same place in every turn."""
        first = self.places.index(place)
        for seed in range(self.num_seeds):
            turn = (first + seed) % len(self.methods)
            for method in self.methods[turn:] + self.methods[:turn]:
                if not method.is_measured and seed > 0:
                    continue
                for setup in self.setups if method.is_measured else self.setups[:1]:
                    yield method, setup, seed, (place.name, method.name, self.setup_name(setup), seed)

    def setup_name(self, setup: Setup) -> str:
        """A setup's name in records."""
        return f"{setup.name}{self.num_neighbours}" if setup.pairs == "nearest" else setup.name

    @property
    def keys(self) -> list[RunKey]:
        """All runs."""
        return [key for place in self.places for *_, key in self.runs_of(place)]

    def num_done(self) -> int:
        """Runs that have a record; for a progress bar, while a sweep runs."""
        return sum(record_path(self.folder, key).exists() for key in self.keys)


@dataclass(frozen=True)
class Shard:
    """All runs of one scene."""

    plan: Plan
    place: ScenePlace


@dataclass(frozen=True)
class Swept:
    """What a sweep left.

    Attributes:
        records: of all runs that took place, now or before.
        skipped: scenes that could not be read, and why.
    """

    records: tuple[Record, ...]
    skipped: dict[str, str]


def forget_unfinished(plan: Plan) -> None:
    """Remove the records of runs that will be run again."""
    for place in plan.places:
        for method, _, _, key in plan.runs_of(place):
            if not _is_finished(plan, place, method, key):
                record_path(plan.folder, key).unlink(missing_ok=True)


def sweep(plan: Plan, executor: Executor) -> Swept:
    """Run everything that is not finished."""
    forget_unfinished(plan)
    skipped = {}
    for outcome in executor.run(run_shard, [Shard(plan, place) for place in plan.places]):
        reason = outcome.error or outcome.result
        if reason is not None:
            skipped[plan.places[outcome.task_idx].name] = reason
    records = [record for key in plan.keys if (record := read_record(plan.folder, key)) is not None]
    return Swept(tuple(records), {place.name: skipped[place.name] for place in plan.places if place.name in skipped})


def run_shard(shard: Shard) -> str | None:
    """Run on one scene what is not finished; gives back why the scene cannot be used, where it cannot."""
    plan, place = shard.plan, shard.place
    missing = [run for run in plan.runs_of(place) if not _is_finished(plan, place, run[0], run[-1])]
    if not missing:
        return None
    try:
        scene = place.load()
        num_images = int(scene.reference.poses.is_known.sum())
        folder = plan.folder / "databases" / place.key
        outliers = outlier_percent(make_offer(scene, Setup(), folder, plan.num_neighbours))
        for method, setup, seed, key in missing:
            result = method.run(make_offer(scene, setup, folder, plan.num_neighbours), seed)
            write_record(Record(*key, place.source, num_images, outliers, result), plan.folder)
    except VgpaError as error:
        return str(error)
    return None


def _is_finished(plan: Plan, place: ScenePlace, method: Method, key: RunKey) -> bool:
    """Whether there is a record of the run on the same scene; what is read from files is read anew each time."""
    record = read_record(plan.folder, key) if method.is_measured else None
    return record is not None and record.source == place.source and record.result.is_final
