"""Training worlds beside reality: how dense, how noisy and how wrong their view graphs are, and what they look like.

    VGPA_DATA=... python benchmarks/worlds.py fit        tables into docs/worlds.md
    VGPA_DATA=... python benchmarks/worlds.py pictures   docs/worlds/KIND.png

`fit` compares worlds with the scenes that are meant for fitting (the others are for testing, and are not read), with
real edge lists of internet collections, and modelled overlaps with real ones. `pictures` draws one world of each kind
from above; the one of real cameras needs VGPA_DATA.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr
from world_pictures import draw_pictures

from vgpa.geometry.torch_rotation import direction_angle, rotation_angle
from vgpa.train.cameras import OVERLAP_FACTOR, CameraSet, find_training_cameras, lay_out, load_cameras
from vgpa.train.covisibility import Views, find_covisibility, find_visible
from vgpa.train.draw import Draw
from vgpa.train.kinds import KINDS
from vgpa.train.worlds import WorldBatch, WorldOptions, make_worlds

FITTING_SCENES = ("seneca167", "statue_of_liberty_135", "fox50", "kitchen25", "door12")
MATCH_BINS = (15, 30, 60, 120, 250, 500, 10_000)
WRONG_DEG = 15.0
NUM_WORLDS = 200
SUBGRAPH_SIZE = 128
DOCS = Path(__file__).parent.parent / "docs"
CPU = torch.device("cpu")


@dataclass(frozen=True)
class EdgeErrors:
    """E measured edges of one view graph (or of many) against the truth, degrees."""

    name: str
    rotation_deg: NDArray[np.float64]
    direction_deg: NDArray[np.float64]
    num_matches: NDArray[np.int64]
    degree: NDArray[np.int64]


def errors_of_scene(folder: Path) -> EdgeErrors:
    """The edges that `vgpa` would trust, against the reference model."""
    # Only this part needs pycolmap, which machines for training may not have.
    from vgpa import config
    from vgpa.colmap.database import read_problem
    from vgpa.colmap.model import read_model
    from vgpa.frontend.graph import select_reliable_edges

    problem = select_reliable_edges(read_problem(folder / "database.db"), config.default().graph)
    reference, _ = read_model(folder / "reference")
    graph = problem.view_graph
    known = {name: k for k, name in enumerate(reference.images.names)}
    reference_idx = np.array([known.get(name, -1) for name in problem.images.names])
    i, j = reference_idx[graph.edge_index]
    keep = (i >= 0) & (j >= 0) & graph.has_direction
    pose = reference.poses.cam_from_world
    truth = (torch.tensor(pose.rotation), torch.tensor(pose.centre))
    measured = graph.cam_j_from_cam_i[keep]
    errors = _errors(truth, np.stack([i, j])[:, keep], torch.tensor(measured.rotation), measured.translation)
    return EdgeErrors(folder.name, *errors, graph.num_inliers[keep], graph.degree[graph.degree > 0])


def errors_of_worlds(worlds: WorldBatch, name: str) -> EdgeErrors:
    """All edges of worlds."""
    graph = worlds.graph
    has_direction = graph.has_direction
    truth = (worlds.cam_from_world, worlds.centre)
    index = graph.edge_index[:, has_direction].numpy()
    errors = _errors(truth, index, graph.rotation[has_direction], graph.direction[has_direction].numpy())
    degree = torch.bincount(graph.edge_index.flatten(), minlength=graph.num_cams)
    return EdgeErrors(name, *errors, graph.num_matches[has_direction].numpy(), degree.numpy())


def _errors(
    truth: tuple[torch.Tensor, torch.Tensor],
    index: NDArray[np.int64],
    rotation: torch.Tensor,
    direction: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    cam_from_world, centre = truth
    i, j = torch.as_tensor(index)
    offset = (cam_from_world[j] @ (centre[i] - centre[j])[:, :, None]).squeeze(-1)
    rotation_rad = rotation_angle(cam_from_world[j] @ cam_from_world[i].mT, rotation)
    true_direction = torch.nn.functional.normalize(offset, dim=-1)
    direction_rad = direction_angle(true_direction, torch.as_tensor(direction))
    return rotation_rad.rad2deg().numpy(), direction_rad.rad2deg().numpy()


def noise_rows(errors: EdgeErrors) -> list[str]:
    """One row per range of matches: how many edges, how wrong the right ones are, how many are wrong."""
    rows = []
    for low, high in pairwise(MATCH_BINS):
        inside = (errors.num_matches >= low) & (errors.num_matches < high)
        right = inside & (errors.rotation_deg <= WRONG_DEG)
        if right.sum() < 5:
            continue
        rotation, direction = errors.rotation_deg[right], errors.direction_deg[right]
        wrong = 1 - right.sum() / inside.sum()
        rows.append(
            f"| {errors.name} | {low}-{high} | {inside.sum()} | {np.median(rotation):.2f} / "
            f"{np.quantile(rotation, 0.9):.2f} | {np.median(direction):.2f} / {np.quantile(direction, 0.9):.1f} | "
            f"{100 * wrong:.0f}% |"
        )
    return rows


def density_row(errors: EdgeErrors) -> str:
    """Degrees, matches and wrong edges of a whole graph."""
    degree = " / ".join(f"{x:.0f}" for x in np.quantile(errors.degree, (0.1, 0.5, 0.9)))
    matches = " / ".join(f"{x:.0f}" for x in np.quantile(errors.num_matches, (0.1, 0.5, 0.9)))
    wrong = np.mean(errors.rotation_deg > WRONG_DEG)
    return f"| {errors.name} | {errors.degree.mean():.1f} | {degree} | {matches} | {100 * wrong:.0f}% |"


def topology_rows(path: Path) -> list[str]:
    """Mean degree and clustering of real internet collections, within random-walk subgraphs of a world's size."""
    rows = []
    with np.load(path, allow_pickle=False) as data:
        for name in (key for key in data.files if not key.endswith("__num_cameras")):
            adjacency = np.zeros((int(data[f"{name}__num_cameras"]),) * 2, dtype=bool)
            adjacency[tuple(data[name].T)] = True
            adjacency |= adjacency.T
            figures = np.mean([_subgraph_figures(adjacency, seed) for seed in range(10)], axis=0)
            rows.append(f"| {name} | {figures[0]:.0f} | {figures[1]:.2f} |")
    return rows


def _subgraph_figures(adjacency: NDArray[np.bool_], seed: int) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    here = int(rng.choice(np.flatnonzero(adjacency.any(1))))
    visited = {here}
    for _ in range(20 * SUBGRAPH_SIZE):
        here = int(rng.choice(np.flatnonzero(adjacency[here])))
        visited.add(here)
        if len(visited) == SUBGRAPH_SIZE:
            break
    chosen = sorted(visited)
    return _figures(adjacency[np.ix_(chosen, chosen)])


def _figures(adjacency: NDArray[np.bool_]) -> tuple[float, float]:
    """Mean degree, and the part of the pairs of neighbours that are neighbours of each other."""
    edges = adjacency.astype(np.float64)
    degree = edges.sum(1)
    return float(degree.mean()), float(np.trace(edges @ edges @ edges) / max((degree * (degree - 1)).sum(), 1))


def world_topology_row(worlds: WorldBatch, kind: str) -> str:
    """The same figures for worlds."""
    figures = []
    for graph in range(worlds.graph.num_graphs):
        cams = torch.nonzero(worlds.graph.graph_idx == graph).squeeze(-1)
        inside = worlds.graph.graph_idx[worlds.graph.edge_index[0]] == graph
        edges = (worlds.graph.edge_index[:, inside] - cams.min()).numpy()
        adjacency = np.zeros((len(cams), len(cams)), dtype=bool)
        adjacency[tuple(edges)] = True
        figures.append(_figures(adjacency | adjacency.T))
    degree, clustering = np.array(figures).T
    low, high = np.quantile(degree, (0.1, 0.9))
    return f"| {kind} | {degree.mean():.0f} ({low:.0f}-{high:.0f}) | {clustering.mean():.2f} |"


def overlap_rows(paths: tuple[Path, ...]) -> list[str]:
    """Overlaps of pairs of real photos as they are known and as they are modelled."""
    rows = []
    for path in paths:
        cameras, draw = load_cameras((path,), CPU), Draw(torch.Generator().manual_seed(0))
        with np.load(path, allow_pickle=False) as data:
            pairs, known = torch.tensor(data["pairs"]), data["overlap"]
        modelled = _model_overlaps(draw, cameras, pairs)
        others = _model_overlaps(draw, cameras, (draw.uniform(0, len(cameras), 2000, 2)).long())
        rows.append(
            f"| {path.stem} | {100 * np.mean(modelled > 0.02):.0f}% | {np.median(known):.2f} | "
            f"{np.median(modelled):.2f} | {spearmanr(modelled, known).statistic:.2f} | "
            f"{100 * np.mean(others > 0.05):.0f}% |"
        )
    return rows


def _model_overlaps(draw: Draw, cameras: CameraSet, pairs: torch.Tensor) -> NDArray[np.float64]:
    layout = lay_out(draw, cameras, pairs, torch.full((len(pairs), 1), 2), 600)
    # With one feature per photo, as real cameras have them, matches are overlaps.
    layout = replace(layout, num_features=torch.full((len(pairs),), OVERLAP_FACTOR))
    views = Views(layout.centre, layout.half_size, find_visible(layout))
    return find_covisibility(layout, views, views).num_shared[:, 0, 1].numpy()


def fit(data: Path) -> dict[str, str]:
    """Markdown tables by the name of their section."""
    generator = torch.Generator().manual_seed(0)
    cameras = find_training_cameras(data)
    options = WorldOptions(cameras=cameras)
    everything = [errors_of_worlds(make_worlds(10, generator, options), "") for _ in range(NUM_WORLDS // 10)]
    names = ("rotation_deg", "direction_deg", "num_matches", "degree")
    joined = (np.concatenate([getattr(errors, name) for errors in everything]) for name in names)
    graphs = [errors_of_scene(data / "scenes" / name) for name in FITTING_SCENES]
    graphs.append(EdgeErrors("**worlds**", *joined))
    topology = topology_rows(data / "data" / "onedsfm_topology.npz")
    for kind in (*KINDS, "cameras"):
        kinds, files = ((kind,), ()) if kind in KINDS else ((), cameras)
        options = WorldOptions(num_cams=(96, 128), small_part=0.0, kinds=kinds, cameras=files)
        topology.append(world_topology_row(make_worlds(24, generator, options), kind))
    return {
        "noise": _table(
            "| graph | matches | edges | rotation error, median / 90% | direction error | wrong |",
            [row for errors in graphs for row in noise_rows(errors)],
        ),
        "density": _table(
            "| graph | mean degree | degree 10 / 50 / 90% | matches 10 / 50 / 90% | wrong |",
            [density_row(errors) for errors in graphs],
        ),
        "topology": _table("| graph | mean degree | clustering |", topology),
        "overlap": _table(
            "| cameras | pairs found | known overlap | modelled | rank correlation | random pairs that overlap |",
            overlap_rows(cameras),
        ),
    }


def _table(header: str, rows: list[str]) -> str:
    return "\n".join([header, "|---" * (header.count("|") - 1) + "|", *rows])


def write_tables(tables: dict[str, str], page: Path) -> None:
    """Put each table between the two comments with its name."""
    text = page.read_text()
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        head, rest = text.split(begin)
        text = f"{head}{begin}\n{table}\n{end}{rest.split(end)[1]}"
    page.write_text(text)


def main() -> None:
    """Parse the command line and do one of the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("fit", "pictures"))
    parser.add_argument(
        "--out", type=Path, default=DOCS, help="folder of worlds.md and of the pictures' folder worlds/"
    )
    given = parser.parse_args()
    if given.what == "fit":
        tables = fit(Path(os.environ["VGPA_DATA"]))
        write_tables(tables, given.out / "worlds.md")
        print("\n\n".join(tables.values()))
    else:
        data = os.environ.get("VGPA_DATA")
        draw_pictures(find_training_cameras(Path(data)) if data else (), given.out / "worlds")


if __name__ == "__main__":
    main()
