"""What can stand in a table: presets of vgpa, other people's mappers, yours, and results read from files.

A mapper runs in a process of its own by the same commands that a user types: `vgpa map`, `vgpa baseline`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, get_args

from vgpa.baselines import BaselineName
from vgpa.baselines.imported import find_imported, read_imported
from vgpa.benchmark.measure import Cost, measure
from vgpa.benchmark.offers import Offer
from vgpa.benchmark.records import Result, score_figures
from vgpa.colmap.model import read_model
from vgpa.config import PRESETS
from vgpa.errors import InputError, NoModelError, VgpaError
from vgpa.evaluate import evaluate
from vgpa.scene import Reconstruction

LABELS = {
    "default": "VGPA default",
    "fast": "VGPA fast",
    "paper": "VGPA as in the paper",
    "colmap": "COLMAP",
    "glomap": "GLOMAP",
    "theia": "Theia",
}
NOTES = {
    "default": "The preset `default` places lost images again and frees the principal point of cameras that took many "
    "images; the paper's main tables do neither.",
    "paper": "The preset `paper` follows the paper to the letter with weights that were trained on generated view "
    "graphs, not on MegaDepth.",
    "theia": "Theia is given the view graph and the tracks (three images or more) that vgpa reads from the database.",
}


class Method(Protocol):
    """What a sweep runs. Small and picklable: it may travel to another machine."""

    @property
    def name(self) -> str:
        """Tells its records from others."""
        ...

    @property
    def label(self) -> str:
        """What the table calls it."""
        ...

    @property
    def note(self) -> str:
        """What the table should say of it, or nothing."""
        ...

    @property
    def is_measured(self) -> bool:
        """Whether it is run here, in every setup; what is read from files is not."""
        ...

    def run(self, offer: Offer, seed: int) -> Result:
        """Run it once."""
        ...


@dataclass(frozen=True)
class MapperMethod:
    """A preset of vgpa, a baseline, or a Python file with a function `map_database`."""

    command: str
    is_measured = True

    @property
    def name(self) -> str:
        """The preset's or the mapper's name; a file's without its folder and ending."""
        return Path(self.command).stem if self.command.endswith(".py") else self.command

    @property
    def label(self) -> str:
        """How the table calls it."""
        return LABELS.get(self.name, self.name)

    @property
    def note(self) -> str:
        """What differs from the paper."""
        return NOTES.get(self.name, "")

    def run(self, offer: Offer, seed: int) -> Result:
        """Map the database, and score the largest model."""
        with TemporaryDirectory() as folder:
            costs = []
            for command in self._commands(offer, seed, Path(folder)):
                cost = measure([sys.executable, "-m", "vgpa", *command])
                if cost.exit_code != 0:
                    return _failure(cost)
                costs.append(cost)
            return _score(costs, Path(folder, "last", "sparse", "0"), offer.reference)

    def _commands(self, offer: Offer, seed: int, folder: Path) -> Iterator[list[str]]:
        """What a user would type; the last one leaves its model in folder/last."""
        is_preset = self.command in PRESETS
        has_reintegration = is_preset and PRESETS[self.command]().mapping.reintegrate is not None
        registers = offer.reintegrate is True and not has_reintegration
        first = folder / ("first" if registers else "last")
        flags = ["--fix-intrinsics"] if offer.fix_intrinsics else []
        if is_preset:
            flags += ["--quiet", "--preset", self.command] + (
                ["--no-reintegrate"] if offer.reintegrate is False else []
            )
        verb = ["map"] if is_preset else ["baseline", self.command]
        yield [*verb, str(offer.database), "-o", str(first), "--seed", str(seed), *flags]
        if registers:
            model = first / "sparse" / "0"
            yield ["register", str(model), str(offer.database), "-o", str(folder / "last"), "--quiet"]


@dataclass(frozen=True)
class ImportedMethod:
    """Poses that another method left in files, one file or folder per scene."""

    name: str
    path: Path
    is_measured = False

    @property
    def label(self) -> str:
        """The name it was given."""
        return self.name

    @property
    def note(self) -> str:
        """That it did not run here."""
        return f"{self.name} was read from files: it may have had other input, and its time is not known."

    def run(self, offer: Offer, seed: int) -> Result:
        """Read the poses of a scene, and score them."""
        found = find_imported(self.path, offer.scene)
        if found is None:
            return Result(error=f"there is no {offer.scene} in {self.path}")
        try:
            return Result(score_figures(evaluate(read_imported(found, offer.reference.images), offer.reference)))
        except VgpaError as error:
            return Result(error=str(error), is_final=False)


def parse_method(name: str) -> MapperMethod:
    """A method by its name on the command line."""
    known = (*PRESETS, *get_args(BaselineName))
    if name not in known and not (name.endswith(".py") and Path(name).is_file()):
        raise InputError(
            f"There is no method {name!r}",
            f"Use one of {', '.join(known)}, a Python file with map_database(), or --import NAME=PATH",
        )
    return MapperMethod(str(Path(name).resolve()) if name.endswith(".py") else name)


def parse_import(text: str) -> ImportedMethod:
    """A method of "NAME=PATH"."""
    name, _, path = text.partition("=")
    if not name or not path or not Path(path).exists():
        raise InputError(f"{text!r} does not name imported results", "Give --import NAME=PATH with a folder of scenes")
    return ImportedMethod(name, Path(path).resolve())


def _failure(cost: Cost) -> Result:
    words = cost.last_words.removeprefix("vgpa: ") or f"ended with {cost.exit_code}"
    return Result(_cost_figures([cost]), words, is_final=cost.exit_code == NoModelError.exit_code)


def _score(costs: list[Cost], folder: Path, reference: Reconstruction) -> Result:
    figures = _cost_figures(costs)
    try:
        figures |= score_figures(evaluate(read_model(folder)[0], reference))
    except InputError as error:
        return Result(figures, str(error))
    return Result(figures | {"registered_per_minute": figures["registered"] / figures["minutes"]})


def _cost_figures(costs: list[Cost]) -> dict[str, float]:
    seconds = sum(cost.seconds for cost in costs)
    return {
        "seconds": seconds,
        "minutes": seconds / 60,
        "cpu_seconds": sum(cost.cpu_seconds for cost in costs),
        "peak_mb": max(cost.peak_mb for cost in costs),
        "load_before": max(cost.load_before for cost in costs),
    }
