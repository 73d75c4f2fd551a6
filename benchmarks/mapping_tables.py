"""Tables of `mapping.py`'s runs, in Markdown. Plain Python on records; nothing is run here.

With several repeats, times and memory are medians, scores are means, and RA-AUC@5 shows its range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from statistics import mean, median
from typing import Any

Record = dict[str, Any]
METHODS = ("default", "fast", "paper", "colmap", "glomap", "theia")
WEAK_REFERENCES = {"statue_of_liberty_135"}
"""Scenes whose reference is too weak for accuracy; they count for coverage and time."""
BESIDE = ("num_registered", "wall_s", "peak_mb")
HEADER = (
    "| method | registered | of reference | rotation deg | position | AUC@1 / 5 / 30 | RA-AUC@1 / 5 / 30 "
    "| seconds | CPU s | peak MB |\n|---|---|---|---|---|---|---|---|---|---|"
)


class Runs:
    """Records by scene and method."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.cells: dict[tuple[str, str], list[Record]] = {}
        for record in records:
            self.cells.setdefault((record["scene"], record["method"]), []).append(record)
        self.scenes = sorted({scene for scene, _ in self.cells})
        self.methods = [method for method in METHODS if any(method == m for _, m in self.cells)]

    def good(self, scene: str, method: str) -> list[Record]:
        """The runs that left a model."""
        return [record for record in self.cells.get((scene, method), []) if record["error"] is None]

    def middle(self, scene: str, method: str, key: str) -> float | None:
        """The median of a figure."""
        values = [record[key] for record in self.good(scene, method)]
        return median(values) if values else None

    def ra_auc(self, scene: str, method: str, threshold: str = "5") -> float | None:
        """The mean RA-AUC; 0 where a run left nothing to score, None where there was no run."""
        runs = self.cells.get((scene, method), [])
        return mean(_area(record, "ra_auc", threshold) for record in runs) if runs else None

    def about(self, scene: str, key: str) -> Any:
        """A fact about a scene that all its runs share."""
        return next(runs[0][key] for (name, _), runs in self.cells.items() if name == scene)

    def num_images(self, scene: str) -> int:
        """Images of a scene."""
        return int(self.about(scene, "num_images"))


def comparison_page(records: Iterable[Record], caption: str) -> str:
    """The whole of RESULTS.md."""
    runs = Runs(records)
    parts = ["# Results", caption, *_summary(runs)]
    for scene in runs.scenes:
        parts.append(f"## {scene} ({runs.num_images(scene)} images)")
        parts += [f"Reference: {kind}." for kind in [runs.about(scene, "reference")] if kind]
        parts.append("\n".join([HEADER, *_scene_rows(runs, scene)]))
    return "\n\n".join([*parts, *_profile(runs)]) + "\n"


def _summary(runs: Runs) -> Iterator[str]:
    yield "## In short"
    accurate = [scene for scene in runs.scenes if scene not in WEAK_REFERENCES]
    rows = []
    for method in runs.methods:
        registered = [runs.middle(scene, method, "num_registered") or 0 for scene in runs.scenes]
        areas = [value for value in (runs.ra_auc(scene, method) for scene in accurate) if value is not None]
        total = sum(map(runs.num_images, runs.scenes))
        rows.append([method, f"{sum(registered):g} / {total}", _number(mean(areas) if areas else None, 4)])
    yield _table(["method", "images registered, all scenes", "mean RA-AUC@5"], rows)
    if WEAK_REFERENCES & set(runs.scenes):
        yield f"Mean RA-AUC@5 leaves out {', '.join(sorted(WEAK_REFERENCES))}, whose reference is weak."
    pairs = [
        (ours, peer)
        for ours in ("default", "fast")
        for peer in ("colmap", "glomap", "theia")
        if {ours, peer} <= set(runs.methods)
    ]
    for kind, key in (("wall time, process start included", "wall_s"), ("processor time", "cpu_s")):
        yield f"Times faster, geometric mean over scenes that both solved ({kind}):"
        yield _speeds(runs, pairs, key)
    if given_up := [r for cell in runs.cells.values() for r in cell if _is_given_up(r)]:
        names = ", ".join(sorted({f"{r['method']} on {r['scene']} with seed {r['seed']}" for r in given_up}))
        yield f"Wall time once more, without the runs that registered less than half of the images ({names}):"
        serious = Runs(r for cell in runs.cells.values() for r in cell if not _is_given_up(r))
        yield _speeds(serious, pairs, "wall_s")
    if {"default", "glomap"} <= set(runs.methods):
        yield "default beside GLOMAP, scene by scene (images and RA-AUC@5: ours minus theirs; memory: over theirs):"
        yield _table(["scene", "images", "RA-AUC@5", "times faster", "peak memory"], list(_beside_glomap(runs)))
    yield from _floors(runs)
    failures = [r for cell in runs.cells.values() for r in cell if r["error"] is not None]
    yield from (f"No model: {r['method']} on {r['scene']}, seed {r['seed']}: {r['error']}" for r in failures)


def _is_given_up(record: Record) -> bool:
    """Whether a run left a model of less than half of the images: its time says little."""
    return record["error"] is None and record["num_registered"] < record["num_images"] / 2


def _speeds(runs: Runs, pairs: list[tuple[str, str]], key: str) -> str:
    """How many times faster the first of each pair of methods is, on scenes of three sizes."""
    rows = [
        [f"{ours} over {peer}", *(_number(_speed(runs, (ours, peer), key, size), 2) for size in (0, 25, 100))]
        for ours, peer in pairs
    ]
    return _table(["", "all scenes", "25 images or more", "100 images or more"], rows)


def _speed(runs: Runs, pair: tuple[str, str], key: str, min_num_images: int) -> float | None:
    """How many times less of a figure the first method of a pair needs than the second."""
    scenes = [scene for scene in runs.scenes if runs.num_images(scene) >= min_num_images]
    figures = [[runs.middle(scene, method, key) for method in pair] for scene in scenes]
    ratios = [theirs / ours for ours, theirs in figures if ours and theirs]
    return math.exp(mean(map(math.log, ratios))) if ratios else None


def _beside_glomap(runs: Runs) -> Iterator[list[str]]:
    for scene in runs.scenes:
        ours, theirs = (
            [runs.ra_auc(scene, method), *(runs.middle(scene, method, key) for key in BESIDE)]
            for method in ("default", "glomap")
        )
        if None not in ours + theirs:
            (area, images, wall, peak), (its_area, its_images, its_wall, its_peak) = ours, theirs
            figures = f"{images - its_images:+g}", f"{area - its_area:+.4f}", f"{its_wall / wall:.2f}"
            yield [scene, *figures, f"{peak / its_peak:.2f}"]


def _floors(runs: Runs) -> Iterator[str]:
    rows = []
    for scene in runs.scenes:
        for record in runs.good(scene, "default"):
            if "floor_s" in record:
                floors = [(record[key], record["wall_s"] / record[key]) for key in ("floor_s", "full_floor_s")]
                cells = [f"{seconds:.2f} s ({multiple:.1f} x)" for seconds, multiple in floors]
                rows.append([scene, f"{record['wall_s']:.1f}", *cells])
    if rows:
        yield "The floor: one bundle adjustment of the final model from itself, and our total as a multiple of it:"
        yield _table(
            ["scene", "default, seconds", "to a tolerance of 1e-6", "without tolerance (pycolmap's own)"], rows
        )


def _scene_rows(runs: Runs, scene: str) -> Iterator[str]:
    for method in runs.methods:
        good = runs.good(scene, method)
        scored = [record["scores"] for record in good if record["scores"]]
        if not scored:
            yield f"| {method} | no model to score |" + " |" * 8
            continue
        registered = median(record["num_registered"] for record in good)
        of_reference = f"{median(s['num_registered'] for s in scored):g} / {scored[0]['num_images']}"
        cells = [
            f"{registered:g} / {runs.num_images(scene)}",
            of_reference,
            f"{mean(s['rotation_mean_deg'] for s in scored):.3f}",
            f"{mean(s['position_mean'] for s in scored):.3g}",
            _areas(good, "auc"),
            _areas(good, "ra_auc") + _spread(good),
            *(f"{runs.middle(scene, method, key):.{d}f}" for key, d in (("wall_s", 1), ("cpu_s", 1), ("peak_mb", 0))),
        ]
        yield f"| {method} | {' | '.join(cells)} |"


def _areas(records: list[Record], kind: str) -> str:
    return " / ".join(f"{mean(_area(record, kind, t) for record in records):.3f}" for t in ("1", "5", "30"))


def _spread(records: list[Record]) -> str:
    """The range of RA-AUC@5 over repeats."""
    values = [_area(record, "ra_auc", "5") for record in records]
    return f" ({min(values):.3f}-{max(values):.3f})" if len(values) > 1 else ""


def _area(record: Record, kind: str, threshold: str) -> float:
    scores = record.get("scores")
    return float(scores[kind][threshold]) if scores else 0.0


def _profile(runs: Runs) -> Iterator[str]:
    """Where the time goes on the largest scene."""
    scene = max(runs.scenes, key=runs.num_images)
    for record in runs.good(scene, "default")[:1]:
        total = record["wall_s"]
        stages = [(stage["name"], stage["seconds"]) for stage in record["stages"]]
        stages.append(("start, report and all else", total - sum(seconds for _, seconds in stages)))
        yield f"## Where the time goes: {scene}, default"
        rows = [[name, f"{seconds:.2f}", f"{100 * seconds / total:.0f}%"] for name, seconds in stages]
        yield _table(["stage", "seconds", "share"], rows)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
