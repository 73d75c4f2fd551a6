"""The figures that the paper prints, as data: one CSV per table, one line per scene and method."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "paper"
FACTS = ("scene", "num_images", "outlier_percent", "method")


@dataclass(frozen=True)
class PublishedRow:
    """One method on one scene in the paper.

    Attributes:
        num_images, outlier_percent: facts about the scene as the paper prints them; empty where it does not.
        figures: by metric, as printed; what the paper leaves out is missing.
    """

    scene: str
    num_images: str
    outlier_percent: str
    method: str
    figures: dict[str, str]


def read_published(table: str) -> list[PublishedRow]:
    """All rows of a table of the paper, in its order; means are left out."""
    with (FOLDER / f"{table}.csv").open(newline="") as file:
        return [
            PublishedRow(
                row["scene"],
                row["num_images"],
                row["outlier_percent"],
                row["method"],
                {key: text for key, text in row.items() if key not in FACTS and text},
            )
            for row in csv.DictReader(file)
        ]


def same_scene(name: str) -> str:
    """A scene's name in a form that its spellings share: Tower_of_London and "Tower of London", 0238_300 and 0238."""
    plain = re.sub(r"[^0-9a-z]", "", name.casefold())
    numbered = re.fullmatch(r"(\d{4})(300)?(new)?", plain)
    return numbered[1] if numbered else plain.replace("herzjesup", "herzjesusp")
