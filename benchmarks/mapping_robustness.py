"""docs/robustness.md and its plots, from the records of `mapping.py corrupt`. Nothing is run here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from line_plots import Curve, Panel, write_panels
from mapping_tables import WEAK_REFERENCES, Runs

WRONG_PERCENT, TOP = (10, 20, 30, 40), (30, 15, 8)
DOCS = Path(__file__).parent.parent / "docs"
COLORS = {"default": "#2563c9", "fast": "#35a9c4", "paper": "#8b5cd6"}
COLORS |= {"glomap": "#e07814", "colmap": "#6b7280", "theia": "#b0853a"}


@dataclass(frozen=True)
class Damage:
    """One way to damage a scene, more and more.

    Attributes:
        name: of the plots' file.
        title: of the section.
        about: what is done to the database.
        xlabel: below the plots.
        copies: what stands on the axis, and the name of the damaged copy; an empty one is the scene as it is.
    """

    name: str
    title: str
    about: str
    xlabel: str
    copies: dict[str, str]


WRONG = Damage(
    "wrong",
    "Wrong pairs",
    "Part of the verified pairs get another relative pose and matches that agree with it: keypoints near each "
    "other's epipolar lines, in front of both cameras, as many as before where there are enough. Half of the poses are "
    "arbitrary, half are the measured one turned about the image's vertical, as repeated structures turn it. Pairs "
    "that are wrong at 10% are wrong at 20% too, and so on; every repeat draws others.",
    "wrong pairs, %",
    {"0": ""} | {str(percent): f"wrong-{percent}" for percent in WRONG_PERCENT},
)
MISSING = Damage(
    "missing",
    "Missing pairs",
    "Of all verified pairs only those stay that are among the N with most inliers of one of their images.",
    "pairs kept of each image",
    {"all": ""} | {str(num): f"top-{num:02d}" for num in TOP},
)


DAMAGES = (WRONG, MISSING)


def write_page(records: Iterable[dict[str, Any]], caption: str, folder: Path) -> None:
    """Write robustness.md and figures/robustness*.svg into the folder."""
    runs = Runs(records)
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    means = [_panel("RA-AUC@5, mean of scenes", _scored_scenes(runs, damage), runs, damage) for damage in DAMAGES]
    write_panels(means, folder / "figures" / "robustness.svg")
    parts = [
        "# Robustness",
        "How well mappers take wrong and missing pairs. The pairs are spoiled in the database, relative pose and "
        "inlier matches alike, so that every method reads the same. What counts is RA-AUC@5 against the reference of "
        "each scene, the mean of all repeats; a run that leaves nothing to score counts as 0.",
        "![Mean RA-AUC@5 of each method against the part of wrong pairs, and against the number of pairs kept]"
        "(figures/robustness.svg)",
        caption,
    ]
    for damage in DAMAGES:
        parts += _section(runs, damage, folder)
    (folder / "robustness.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _section(runs: Runs, damage: Damage, folder: Path) -> list[str]:
    scenes, scored = _complete_scenes(runs, damage), _scored_scenes(runs, damage)
    picture = f"figures/robustness-{damage.name}.svg"
    write_panels([_panel(scene, [scene], runs, damage) for scene in scenes], folder / picture)
    weak = sorted(set(scenes) - set(scored))
    but = f", without {', '.join(weak)}, whose reference is weak" if weak else ""
    return [
        f"## {damage.title}",
        damage.about,
        f"Mean RA-AUC@5 over the scenes below{but}; in brackets, the part that is left of it:",
        _table([damage.xlabel, *damage.copies], [_mean_row(runs, method, scored, damage) for method in runs.methods]),
        f"![RA-AUC@5 of each method, scene by scene]({picture})",
        "RA-AUC@5 and images registered (median):",
        _table(["scene (images)", "method", *damage.copies], _scene_rows(runs, scenes, damage)),
    ]


def _scored_scenes(runs: Runs, damage: Damage) -> list[str]:
    """Those whose mean is taken."""
    scenes = _complete_scenes(runs, damage)
    return [scene for scene in scenes if scene not in WEAK_REFERENCES] or scenes


def _complete_scenes(runs: Runs, damage: Damage) -> list[str]:
    """Scenes that every method was run on, at every level: only they can be compared."""
    names = sorted({scene.split("/")[0] for scene in runs.scenes})
    wanted = [(method, copy) for method in runs.methods for copy in damage.copies.values()]
    complete = [name for name in names if all((_copy(name, copy), method) in runs.cells for method, copy in wanted)]
    if not complete:
        raise SystemExit(f"no scene has all runs of {damage.title.lower()} yet")
    return complete


def _copy(scene: str, copy: str) -> str:
    return f"{scene}/{copy}" if copy else scene


def _areas(runs: Runs, method: str, scenes: Sequence[str], damage: Damage) -> list[float]:
    """Mean RA-AUC@5 over the scenes, at every level."""
    return [mean(runs.ra_auc(_copy(scene, copy), method) or 0.0 for scene in scenes) for copy in damage.copies.values()]


def _panel(title: str, scenes: Sequence[str], runs: Runs, damage: Damage) -> Panel:
    curves = [Curve(method, COLORS[method], _areas(runs, method, scenes, damage)) for method in runs.methods]
    return Panel(title, damage.xlabel, list(damage.copies), curves)


def _mean_row(runs: Runs, method: str, scenes: Sequence[str], damage: Damage) -> list[str]:
    first, *rest = _areas(runs, method, scenes, damage)
    return [method, f"{first:.3f}", *(f"{area:.3f} ({area / max(first, 1e-9):.0%})" for area in rest)]


def _scene_rows(runs: Runs, scenes: Sequence[str], damage: Damage) -> list[list[str]]:
    """RA-AUC@5 and registered images."""
    rows = []
    for scene in scenes:
        for method in runs.methods:
            areas = _areas(runs, method, [scene], damage)
            images = [runs.middle(_copy(scene, copy), method, "num_registered") for copy in damage.copies.values()]
            cells = [f"{area:.3f}, {num or 0:g}" for area, num in zip(areas, images, strict=True)]
            rows.append([f"{scene} ({runs.num_images(scene)})", method, *cells])
    return rows


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
