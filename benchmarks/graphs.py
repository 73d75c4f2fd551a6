"""View graphs with a known answer, for benchmarks: generated worlds, stored worlds, real scenes, real cameras.

Everything becomes a `Case`. Real scenes need pycolmap, which is imported only when they are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from vgpa.averaging.average import Evidence
from vgpa.config import default
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import normalize
from vgpa.scene import ViewGraph
from vgpa.train.kinds import KIND_NAMES
from vgpa.train.worlds import WorldBatch, WorldOptions, make_worlds

MIN_NUM_CAMS = 5


@dataclass(frozen=True, eq=False)
class Case:
    """A connected view graph and the truth about it.

    Attributes:
        name: what it is; cases of the same kind share `kind`.
        truth: cam_from_world of every image; the identity where the reference does not have it.
        has_truth: (num_images,) images that the reference has; only they are scored.
        is_wrong: (num_edges,) wrong edges, where that is known.
        evidence: matches and their rays, where there are photos behind the graph.
    """

    name: str
    kind: str
    graph: ViewGraph
    truth: Rigid
    has_truth: NDArray[np.bool_]
    is_wrong: NDArray[np.bool_] | None = None
    evidence: Evidence | None = None


def read_test_worlds(path: Path) -> Iterator[Case]:
    """The graphs of a worlds file (arrays `NN_kind`, `NN_edge_index`, `NN_rotation`, ...)."""
    with np.load(path, allow_pickle=False) as file:
        for number in sorted({name.split("_", 1)[0] for name in file.files}):
            part = {name: file[f"{number}_{name}"] for name in _WORLD_ARRAYS}
            truth = Rigid.from_centre(part["true_rotation"].astype(float), part["true_centre"].astype(float))
            graph = _view_graph(len(truth), part["edge_index"], part["rotation"], part["direction"], part["num_shared"])
            everyone = np.ones(len(truth), dtype=np.bool_)
            yield Case(number, str(part["kind"]), graph, truth, everyone, part["is_wrong"].astype(np.bool_))


def make_own_worlds(num_per_kind: int, seed: int) -> Iterator[Case]:
    """Generated worlds that no training sees (the seed is not a training seed)."""
    generator = torch.Generator().manual_seed(seed)
    for turn in range(num_per_kind):
        worlds = make_worlds(len(WorldOptions().kinds), generator, WorldOptions(small_part=0.0))
        yield from split_worlds(worlds, str(turn))


def split_worlds(worlds: WorldBatch, name: str) -> Iterator[Case]:
    """One case per graph of the batch; graphs of very few cameras are left out."""
    union = worlds.graph
    label = union.graph_idx.numpy()
    for number, kind_idx in enumerate(worlds.kind_idx.tolist()):
        cams = np.flatnonzero(label == number)
        if len(cams) < MIN_NUM_CAMS:
            continue
        inside = label[union.edge_index[0].numpy()] == number
        direction = np.where(union.has_direction[inside, None], union.direction[inside], 0.0)
        edges = union.edge_index[:, inside].numpy() - cams[0]
        graph = _view_graph(len(cams), edges, union.rotation[inside], direction, union.num_matches[inside])
        truth = Rigid.from_centre(worlds.cam_from_world[cams].double().numpy(), worlds.centre[cams].double().numpy())
        everyone = np.ones(len(cams), dtype=np.bool_)
        yield Case(f"{name}-{number}", KIND_NAMES[kind_idx], graph, truth, everyone, worlds.is_wrong[inside].numpy())


def read_real_scenes(folder: Path) -> Iterator[Case]:
    """The largest component of every scene: folders with `database.db` and `reference/`."""
    for scene in sorted(path for path in folder.iterdir() if (path / "database.db").is_file()):
        yield read_real_scene(scene)


def read_real_scene(scene: Path) -> Case:
    """The largest component of a scene's view graph, as `vgpa map` averages it, and its reference poses."""
    from vgpa.colmap.database import read_problem
    from vgpa.colmap.model import read_model
    from vgpa.frontend.graph import select_reliable_edges
    from vgpa.solve import evidence_of, largest_component

    reliable = select_reliable_edges(read_problem(scene / "database.db"), default().graph)
    component, image_idx = largest_component(reliable)
    graph, _ = component.view_graph.subgraph(image_idx)
    reference, _ = read_model(scene / "reference")
    known = {name: k for k, name in enumerate(reference.images.names) if reference.poses.is_known[k]}
    at = np.array([known.get(component.images.names[k], -1) for k in image_idx])
    quaternion_wxyz, translation = Rigid.identity(len(at)).quaternion_wxyz, np.zeros((len(at), 3))
    quaternion_wxyz[at >= 0] = reference.poses.cam_from_world.quaternion_wxyz[at[at >= 0]]
    translation[at >= 0] = reference.poses.cam_from_world.translation[at[at >= 0]]
    evidence = evidence_of(component)
    return Case(scene.name, "real", graph, Rigid(quaternion_wxyz, translation), at >= 0, evidence=evidence)


_WORLD_ARRAYS = (
    *("kind", "edge_index", "rotation", "direction"),
    *("num_shared", "is_wrong", "true_rotation", "true_centre"),
)


def _view_graph(
    num_images: int, edges: np.ndarray, rotation: np.ndarray, direction: np.ndarray, num_matches: np.ndarray
) -> ViewGraph:
    """A view graph of arrays in any precision; a direction of length zero is no direction."""
    count = np.asarray(num_matches).astype(np.int64)
    unit = normalize(np.asarray(direction).astype(float))
    motion = Rigid.from_matrix(np.asarray(rotation).astype(float), unit)
    return ViewGraph(num_images, np.asarray(edges).astype(np.int64), motion, unit.any(axis=-1), count, count)
