"""Real data to train on: a folder of npz files to view graphs with their truth, by what the files hold.

    view graph   edge_index, rotation, direction, ...: written by `save_view_graph`, read as it is
    RESfM        M, Ns: point tracks and inverse calibrations; relative poses are estimated from the tracks two images
                 share, which needs pycolmap and takes minutes (save the result); Ps_gt: the true cameras, if present
    MegaDepth    poses, intrinsics, and which pairs overlap: relative poses are the true ones with noise (`megadepth`)

Python objects (pickle) are never loaded, since loading one can run any code. Cameras and edges outside the largest
component are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from vgpa import config
from vgpa.errors import InputError
from vgpa.geometry.components import label_components
from vgpa.geometry.torch_rotation import direction_angle, rotation_angle
from vgpa.network.graph import GraphTensors
from vgpa.train.cameras import BROKEN_NPZ
from vgpa.train.kinds import KIND_NAMES
from vgpa.train.megadepth import read_scene_info
from vgpa.train.worlds import WorldBatch

_WRONG_ROTATION_DEG = 15.0
_WRONG_DIRECTION_DEG = 30.0
_GRAPH_KEYS = ("edge_index", "rotation", "direction", "has_direction", "num_matches")
_TRUTH_KEYS = ("is_wrong", "cam_from_world", "centre")


def load_view_graphs(folder: Path) -> list[WorldBatch]:
    """One view graph for each npz in a folder, in the order of their names, on the CPU.

    Where a file has no truth, `cam_from_world` and `centre` are NaN and no edge is called wrong; that is enough for
    the paper's networks, which learn from the measured edges alone.
    """
    paths = sorted(folder.glob("*.npz"))
    if not paths:
        raise InputError(f"There are no view graphs in {folder}", "Give a folder with npz files of RESfM or MegaDepth")
    return [load_view_graph(path) for path in paths]


def load_view_graph(path: Path) -> WorldBatch:
    """The view graph of one file."""
    try:
        arrays = _Arrays(path, frozenset(np.load(path, allow_pickle=False).files))
        if arrays.has("edge_index"):
            return _read_saved(arrays)
        if arrays.has("M", "Ns"):
            return _largest_component(_read_resfm(arrays))
        if arrays.has("poses", "intrinsics") or arrays.has("T_w2c", "K", "pairs"):
            return _largest_component(read_scene_info(arrays.read))
    except BROKEN_NPZ as error:
        hint = "Save its arrays again as plain numbers" if "allow_pickle" in str(error) else "Check that it is complete"
        reason = "it keeps Python objects, which are not loaded" if "allow_pickle" in str(error) else str(error)
        raise InputError(f"{path} cannot be read as a view graph ({reason})", hint) from error
    raise InputError(
        f"{path} holds {', '.join(sorted(arrays.names)) or 'nothing'}, which is no view graph",
        "Give npz files of RESfM (M, Ns) or MegaDepth (poses, intrinsics, pair_infos)",
    )


def save_view_graph(worlds: WorldBatch, path: Path) -> None:
    """Write a view graph, so that reading it again takes no time and needs no pycolmap."""
    graph = {key: getattr(worlds.graph, key).numpy() for key in _GRAPH_KEYS}
    np.savez_compressed(path, **graph, **{key: getattr(worlds, key).numpy() for key in _TRUTH_KEYS})


@dataclass(frozen=True)
class _Arrays:
    """The arrays of a file, read one at a time: those that are not asked for may hold anything."""

    path: Path
    names: frozenset[str]

    def has(self, *keys: str) -> bool:
        return self.names.issuperset(keys)

    def read(self, *keys: str) -> NDArray[Any] | None:
        """The first of the arrays that is there."""
        with np.load(self.path, allow_pickle=False) as data:
            return next((data[key] for key in keys if key in self.names), None)


def _read_saved(arrays: _Arrays) -> WorldBatch:
    missing = set(_GRAPH_KEYS + _TRUTH_KEYS) - arrays.names
    if missing:
        raise ValueError(f"there is no {min(missing)}")
    edge_index, rotation, direction, has_direction, num_matches = (torch.tensor(arrays.read(k)) for k in _GRAPH_KEYS)
    is_wrong, cam_from_world, centre = (torch.tensor(arrays.read(k)) for k in _TRUTH_KEYS)
    num_cams, num_edges = len(centre), edge_index.shape[-1]
    if any(len(value) != num_edges for value in (rotation, direction, has_direction, num_matches, is_wrong)):
        raise ValueError("its edges are not all of the same number")
    if edge_index.min() < 0 or edge_index.max() >= num_cams:
        raise ValueError(f"edge_index names cameras beyond the {num_cams} there are")
    graph_idx = torch.zeros(num_cams, dtype=torch.int64)
    graph = GraphTensors(edge_index, rotation, direction, has_direction, num_matches, graph_idx)
    return WorldBatch(graph, is_wrong, cam_from_world, centre, _kind_idx())


def _read_resfm(arrays: _Arrays) -> WorldBatch:
    """Estimate the relative poses of a RESfM scene with the front end, as they would be estimated for photos."""
    # Not imported above: training runs on machines without the front end unless it is given tracks.
    from vgpa.frontend.graph import select_reliable_edges
    from vgpa.frontend.resfm import read_resfm

    settings = config.default()
    view_graph = select_reliable_edges(read_resfm(arrays.path, settings), settings.graph).view_graph
    cam_j_from_cam_i = view_graph.cam_j_from_cam_i
    graph = GraphTensors(
        edge_index=torch.tensor(view_graph.edge_index),
        rotation=_float(cam_j_from_cam_i.rotation),
        direction=_float(cam_j_from_cam_i.translation),
        has_direction=torch.tensor(view_graph.has_direction),
        num_matches=torch.tensor(view_graph.num_inliers),
        graph_idx=torch.zeros(view_graph.num_images, dtype=torch.int64),
    )
    rotation, centre = _true_cameras(arrays.read("Ns"), arrays.read("Ps_gt"), view_graph.num_images)
    return WorldBatch(graph, _find_wrong(graph, rotation, centre), rotation, centre, _kind_idx())


def _true_cameras(
    inverse_calibration: NDArray[Any] | None, projection: NDArray[Any] | None, num: int
) -> tuple[Tensor, Tensor]:
    """Rotations (n, 3, 3) and centres (n, 3) of projections K [R | t] (n, 3, 4), NaN where there are none."""
    if inverse_calibration is None or projection is None or projection.shape != (num, 3, 4):
        return torch.full((num, 3, 3), torch.nan), torch.full((num, 3), torch.nan)
    pose = np.asarray(inverse_calibration, dtype=np.float64) @ np.asarray(projection, dtype=np.float64)
    rotation, translation = pose[:, :, :3], pose[:, :, 3]
    scale = np.cbrt(np.linalg.det(rotation))[:, None]
    rotation, translation = rotation / scale[..., None], translation / scale
    return _float(rotation), _float(-np.einsum("nba,nb->na", rotation, translation))


def _find_wrong(graph: GraphTensors, rotation: Tensor, centre: Tensor) -> Tensor:
    """(E,) edges far from the truth; where there is none, no edge is."""
    i, j = graph.edge_index
    direction = normalize((rotation[j] @ (centre[i] - centre[j])[:, :, None]).squeeze(-1), dim=-1)
    rotation_deg = rotation_angle(rotation[j] @ rotation[i].mT, graph.rotation).rad2deg()
    direction_deg = direction_angle(direction, graph.direction).rad2deg()
    return (rotation_deg > _WRONG_ROTATION_DEG) | (graph.has_direction & (direction_deg > _WRONG_DIRECTION_DEG))


def _largest_component(worlds: WorldBatch) -> WorldBatch:
    """The cameras and edges of the largest component, renumbered."""
    graph = worlds.graph
    label = label_components(graph.edge_index.numpy(), graph.num_cams)
    is_kept = torch.tensor(label == np.bincount(label).argmax())
    cams, edges = is_kept.nonzero().squeeze(-1), is_kept[graph.edge_index[0]].nonzero().squeeze(-1)
    if len(edges) == 0:
        raise ValueError("no two of its images are connected")
    new_idx = is_kept.cumsum(0) - 1
    kept = {key: getattr(graph, key)[edges] for key in ("rotation", "direction", "has_direction", "num_matches")}
    edge_index, graph_idx = new_idx[graph.edge_index[:, edges]], graph.graph_idx[cams]
    return replace(
        worlds,
        graph=replace(graph, edge_index=edge_index, graph_idx=graph_idx, **kept),
        is_wrong=worlds.is_wrong[edges],
        cam_from_world=worlds.cam_from_world[cams],
        centre=worlds.centre[cams],
    )


def _kind_idx() -> Tensor:
    return torch.tensor([KIND_NAMES.index("real")])


def _float(values: NDArray[Any]) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)
