"""Large inputs: how long they take and how much memory. Part of `reliability.py`.

Everything is measured in a process of its own. Graphs: cameras on a wide lawn, each joined to its nearest others,
with noise and wrong edges. Databases: an aerial block of such cameras over bumpy ground, features with noise and
wrong matches, verified by COLMAP. Every block is cut from the same ground at the same density, so that only the number
of images changes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from tests.hostile.runner import ROOT
from tests.synthetic import look_at, make_graph
from vgpa import config as presets
from vgpa.colmap.database import read_problem
from vgpa.colmap.extraction import verify_matches
from vgpa.colmap.store import StoreImage, replaced, sync_store
from vgpa.colmap.tables import write_keypoints, write_matches
from vgpa.geometry.rigid import Rigid
from vgpa.scene import Camera, FocalSource, ViewGraph

BLOCKS = ROOT / "build" / "blocks"
"""Databases stay here, for making them takes as long as mapping them; each depends on its size alone."""
SIZES = (250, 500, 1000, 2000)
PEER_SIZES = (500, 1000)
NUM_CAMERAS, NUM_EDGES = 20_000, 600_000
WRONG_FRACTION = 0.1
FOCAL_PX, WIDTH_PX, HEIGHT_PX = 1000.0, 1200, 900
HEIGHT_M, STEP_M = 50.0, 12.0
POINTS_PER_SQUARE_M = 1.0
NOISE_PX = 0.5
MIN_SHARED = 40
LIMIT_S = 4 * 3600


@dataclass(frozen=True)
class Cost:
    """What a process took: seconds, processor seconds, peak memory, and what it printed last, as JSON."""

    wall_s: float
    cpu_s: float
    peak_gb: float
    answer: dict[str, Any]


def measure_graph() -> str:
    """The section of the page on one large graph."""
    graph = run_measured([sys.executable, __file__, "graph", str(NUM_CAMERAS), str(NUM_EDGES)])
    if not graph.answer:
        return "The graph did not come to an end."
    return (
        f"A view graph of {NUM_CAMERAS:,} cameras and {NUM_EDGES:,} edges ({WRONG_FRACTION:.0%} of them wrong) through "
        f"the network and robust averaging: {graph.wall_s:.0f} s, {graph.cpu_s:.0f} s of processor time "
        f"({graph.answer['network_cpu_s']:.0f} s of them the network), {graph.peak_gb:.1f} GB at most. "
        f"{graph.answer['num_known']:,.0f} cameras are placed, with a median rotation error of "
        f"{graph.answer['rotation_deg']:.2f} degrees."
    )


def measure(largest: int) -> str:
    """The section of the page on databases, which have at most `largest` images."""
    with TemporaryDirectory() as name:
        rows = {size: _map(Path(name), size) for size in SIZES if size <= largest}
    lines = [
        "Synthetic aerial blocks (simulated images, matches with noise and errors, verified by COLMAP) through "
        "`vgpa map`, and through GLOMAP (pycolmap's global mapper) from the same databases, each in a process of its "
        "own; time is on the clock, CPU is processor time, memory is the most that the process held:",
        "",
        "| images | verified pairs | VGPA: time | CPU | memory | placed | GLOMAP: time | CPU | memory | placed |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for size, (num_pairs, ours, theirs) in rows.items():
        cells = [f"{size:,}", f"{num_pairs:,}", *_cells(ours), *(_cells(theirs) if theirs else ["", "", "", ""])]
        lines.append(f"| {' | '.join(cells)} |")
    ours = {size: cost for size, (_, cost, _) in rows.items()}
    return "\n".join([*lines, "", _growth(ours), "", *_stages(ours)])


def _stages(costs: dict[int, Cost]) -> list[str]:
    """Which stages the time went to, and how each of them grows."""
    seconds: dict[str, dict[int, float]] = {}
    for size, cost in costs.items():
        for record in cost.answer.get("stages", []):
            of_stage = seconds.setdefault(record["name"], dict.fromkeys(costs, 0.0))
            of_stage[size] += record["seconds"]
    lines = [
        f"| stage | {' | '.join(f'{size:,} images' for size in costs)} | grows with the power |",
        "|---" * (len(costs) + 2) + "|",
    ]
    for name, of_stage in seconds.items():
        cells = " | ".join(f"{value:.1f} s" for value in of_stage.values())
        lines.append(f"| {name} | {cells} | {_power(of_stage)} |")
    return lines


def _power(cost_of: dict[int, float]) -> str:
    """The power of the number of images by which a cost grows, by least squares of logarithms."""
    if len(cost_of) < 2 or min(cost_of.values()) <= 0:
        return ""
    return f"{np.polyfit(np.log(list(cost_of)), np.log(list(cost_of.values())), 1)[0]:.2f}"


def _cells(cost: Cost) -> list[str]:
    registered = f"{cost.answer.get('num_registered', 0):.0f}"
    return [f"{cost.wall_s:.0f} s", f"{cost.cpu_s:.0f} s", f"{cost.peak_gb:.1f} GB", registered]


def _growth(costs: dict[int, Cost]) -> str:
    """How costs grow with the number of images."""
    if len(costs) < 2:
        return "One size is not enough to tell how the cost grows."
    powers = {
        what: _power({size: getattr(cost, name) for size, cost in costs.items()})
        for what, name in (("time", "wall_s"), ("processor time", "cpu_s"), ("memory", "peak_gb"))
    }
    fits = ", ".join(f"{what} with the power {power}" for what, power in powers.items())
    return f"With n images, VGPA's cost grows like n to a power: {fits} (fit over {len(costs)} sizes)."


def _map(folder: Path, size: int) -> tuple[int, Cost, Cost | None]:
    database = BLOCKS / f"{size}.db"
    if not database.is_file():
        BLOCKS.mkdir(parents=True, exist_ok=True)
        with replaced(database) as fresh:
            make_block(fresh, size)
    num_pairs = read_problem(database).view_graph.num_edges
    vgpa = [sys.executable, "-m", "vgpa"]
    ours = run_measured([*vgpa, "map", str(database), "-o", str(folder / f"ours-{size}"), "--json"])
    if size not in PEER_SIZES:
        return num_pairs, ours, None
    theirs = [*vgpa, "baseline", "glomap", str(database), "-o", str(folder / f"theirs-{size}"), "--json"]
    return num_pairs, ours, run_measured(theirs)


def run_measured(command: list[str]) -> Cost:
    """Run a command in a process of its own, and take its time and memory."""
    start = time.monotonic()
    environment = os.environ | {"PYTHONPATH": str(ROOT)}  # this module, started as a script, needs the tests' worlds
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        words = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    answer = json.loads(words.strip().splitlines()[-1]) if process.returncode == 0 else {}
    cpu_s = usage.ru_utime + usage.ru_stime
    return Cost(time.monotonic() - start, cpu_s, usage.ru_maxrss / 1e6, answer)


def lawn_cameras(num: int, rng: np.random.Generator) -> Rigid:
    """Cameras in rows above a square lawn, looking down and a little aside."""
    side = int(np.ceil(np.sqrt(num)))
    place = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)[:num] * STEP_M
    centre = np.column_stack([place, np.full(num, HEIGHT_M)]) + rng.normal(size=(num, 3)) * (2, 2, 1)
    target = np.column_stack([centre[:, :2] + rng.normal(size=(num, 2)) * 8, np.zeros(num)])
    return Rigid.from_centre(look_at(centre, target), centre)


def make_block(database: Path, num_images: int, seed: int = 0) -> None:
    """Write a database of an aerial block."""
    rng = np.random.default_rng(seed)
    cams = lawn_cameras(num_images, rng)
    extent = cams.centre.max(axis=0)[:2] + 2 * HEIGHT_M
    num_points = int(POINTS_PER_SQUARE_M * np.prod(extent))
    ground = rng.uniform(-HEIGHT_M, extent, (num_points, 2))
    height = 5 * np.sin(ground[:, 0] / 9) * np.cos(ground[:, 1] / 7) + rng.uniform(0, 3, num_points)
    xyz = np.column_stack([ground, height])
    seen = _seen(cams, xyz, rng)
    camera = Camera(
        "SIMPLE_RADIAL", WIDTH_PX, HEIGHT_PX, np.array([FOCAL_PX, WIDTH_PX / 2, HEIGHT_PX / 2, 0.0]), FocalSource.PRIOR
    )
    names = [f"{k:05d}.jpg" for k in range(num_images)]
    sync_store(database, [StoreImage(name, "", "0", camera) for name in names], {})
    write_keypoints(database, ((name, xy_px) for name, (_, xy_px) in zip(names, seen, strict=True)))
    write_matches(database, _matches(cams, names, seen, rng))
    config = presets.default()
    verify_matches(database, config.matching, seed, config.num_threads)


Seen = list[tuple[np.ndarray, np.ndarray]]
"""Points (rising) and their pixels, of every image."""


def _seen(cams: Rigid, xyz: np.ndarray, rng: np.random.Generator) -> Seen:
    tree = cKDTree(xyz[:, :2])
    seen = []
    for k in range(len(cams)):
        near = np.array(sorted(tree.query_ball_point(cams.centre[k, :2], 1.3 * HEIGHT_M)), dtype=np.int64)
        in_cam = xyz[near] @ cams.rotation[k].T + cams.translation[k]
        xy_px = FOCAL_PX * in_cam[:, :2] / in_cam[:, 2:] + (WIDTH_PX / 2, HEIGHT_PX / 2)
        inside = ((xy_px > 0) & (xy_px < (WIDTH_PX, HEIGHT_PX))).all(axis=1) & (rng.random(len(near)) < 0.6)
        seen.append((near[inside], xy_px[inside] + rng.normal(size=(inside.sum(), 2)) * NOISE_PX))
    return seen


def _matches(
    cams: Rigid, names: list[str], seen: Seen, rng: np.random.Generator
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Matches of all images that are near enough to share points; some of each pair's are wrong."""
    for i, j in sorted(cKDTree(cams.centre[:, :2]).query_pairs(3.2 * STEP_M)):
        _, first, second = np.intersect1d(seen[i][0], seen[j][0], assume_unique=True, return_indices=True)
        if len(first) >= MIN_SHARED:
            wrong = rng.random(len(first)) < WRONG_FRACTION
            second[wrong] = rng.permutation(second[wrong])
            yield names[i], names[j], np.stack([first, second], axis=-1)


def near_graph(num_cameras: int, num_edges: int) -> tuple[ViewGraph, Rigid]:
    """Cameras above a lawn, each joined to its nearest others, with noise and wrong edges; and the true cameras."""
    from tests.synthetic import make_edges_wrong

    cams = lawn_cameras(num_cameras, np.random.default_rng(0))
    reach = int(2.2 * num_edges / num_cameras) + 1
    _, near = cKDTree(cams.centre).query(cams.centre, k=reach)
    pairs = np.stack([np.repeat(near[:, 0], reach - 1), near[:, 1:].ravel()])
    pairs = np.unique(np.sort(pairs, axis=0), axis=1)
    distance = np.linalg.norm(cams.centre[pairs[0]] - cams.centre[pairs[1]], axis=1)
    edges = pairs[:, np.sort(np.argsort(distance, kind="stable")[:num_edges])]
    return make_edges_wrong(make_graph(cams, edges, noise_deg=1.0), WRONG_FRACTION), cams


def solve_graph(num_cameras: int, num_edges: int) -> dict[str, float]:
    """Take a graph through the network and averaging, and compare with the truth."""
    from vgpa.averaging.average import average_from
    from vgpa.averaging.predict import predict_poses
    from vgpa.evaluate.scores import score_poses

    graph, cams = near_graph(num_cameras, num_edges)
    config = presets.default()
    start_s = time.process_time()
    predicted = predict_poses(graph, config.averaging, "cpu")
    network_cpu_s = time.process_time() - start_s
    averaged = average_from(graph, None, config.averaging, "network", predicted)
    known = averaged.poses.is_known
    # All pairs of 20,000 cameras are too many to score; every twentieth camera tells the same.
    some = np.flatnonzero(known)[::20]
    scores = score_poses(averaged.poses.cam_from_world[some], cams[some], len(some))
    return {
        "network_cpu_s": network_cpu_s,
        "num_edges": float(graph.num_edges),
        "num_known": float(known.sum()),
        "rotation_deg": float(scores.rotation_median_deg),
    }


if __name__ == "__main__":
    print(json.dumps(solve_graph(int(sys.argv[2]), int(sys.argv[3]))))
