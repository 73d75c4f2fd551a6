"""MegaDepth's scene files, as image matchers train on them: real cameras, real pairs, and simulated measurements.

    poses        (n, 4, 4) world to camera (or T_w2c); NaN or zero where an image has none
    intrinsics   (n, 3, 3) (or K)
    pair_infos   (p, 2) pairs of images (or pairs), with overlaps (p,) (or overlap) beside them, or as a third column;
                 or overlap_matrix (n, n)

The files hold no measurements, so those are simulated: matches in proportion to the overlap, noise as for worlds
(`measuring`), a few wrong edges where there are few matches. The same file gives the same graph.

Touches nothing but torch and numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vgpa.network.graph import GraphTensors
from vgpa.train.cameras import CameraSet, make_cameras
from vgpa.train.draw import Draw
from vgpa.train.kinds import KIND_NAMES
from vgpa.train.measuring import Mistakes, SeenPairs, draw_noise, edge_std_rad, measure_edges
from vgpa.train.worlds import WorldBatch

_MIN_OVERLAP = 0.05
_NUM_FEATURES = 1500.0
_MIN_MATCHES = 15.0
_DOUBTFUL_MATCHES = 30.0

ReadArray = Callable[..., NDArray[Any] | None]
"""Gives the first of the named arrays that a file has."""


def read_scene_info(read: ReadArray) -> WorldBatch:
    """The view graph of all pairs of a scene file that overlap; its cameras need not all be connected."""
    world_to_cam, calibration = read("poses", "T_w2c"), read("intrinsics", "K")
    if world_to_cam is None or calibration is None:
        raise ValueError("there are no poses or no intrinsics")
    n = len(world_to_cam)
    if world_to_cam.shape != (n, 4, 4) or calibration.shape != (n, 3, 3):
        raise ValueError(f"poses have shape {world_to_cam.shape} and intrinsics {calibration.shape}")
    pairs, overlap = _read_pairs(read, n)
    is_known = np.isfinite(world_to_cam).all(axis=(1, 2)) & (np.abs(world_to_cam).max(axis=(1, 2)) > 0)
    usable = is_known[pairs].all(axis=1) & (overlap >= _MIN_OVERLAP) & (pairs[:, 0] != pairs[:, 1])
    if not usable.any():
        raise ValueError("no two images with poses overlap")
    cameras = make_cameras(world_to_cam[is_known].astype(np.float64), calibration[is_known].astype(np.float64))
    # Every pair once, with i < j.
    index, first = np.unique(np.sort((np.cumsum(is_known) - 1)[pairs[usable]], axis=1), axis=0, return_index=True)
    return _simulate(cameras, torch.tensor(index.T), torch.tensor(overlap[usable][first], dtype=torch.float32))


def _read_pairs(read: ReadArray, num_images: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Pairs of images (p, 2) and their overlaps (p,)."""
    matrix = read("overlap_matrix")
    if matrix is not None:
        pairs = np.argwhere(matrix > 0)
        return pairs, np.asarray(matrix[tuple(pairs.T)], dtype=np.float64)
    listed, overlap = read("pair_infos", "pairs"), read("overlaps", "overlap")
    if listed is None or listed.ndim != 2 or listed.shape[1] not in (2, 3):
        raise ValueError("there are no pair_infos (p, 2), nor an overlap_matrix")
    if overlap is None and listed.shape[1] == 3:
        overlap = listed[:, 2]
    if overlap is None or overlap.shape != (len(listed),):
        raise ValueError("there is no overlap for every pair")
    pairs = listed[:, :2].astype(np.int64)
    if len(pairs) and not (pairs.min() >= 0 and pairs.max() < num_images):
        raise ValueError(f"pair_infos names images beyond the {num_images} there are")
    return pairs, np.asarray(overlap, dtype=np.float64)


def _simulate(cameras: CameraSet, edge_index: Tensor, overlap: Tensor) -> WorldBatch:
    draw = Draw(torch.Generator().manual_seed(len(cameras)))
    (i, j), e = edge_index, len(overlap)
    num_matches = (_NUM_FEATURES * overlap * draw.log_normal(1.0, 0.5, e)).clamp(min=_MIN_MATCHES).round()
    noise = draw_noise(draw, 1, len(cameras))
    # What a pair sees is half way between what each of the two looks at.
    seen = cameras.centre + cameras.distance[:, None] * cameras.cam_from_world[:, 2]
    ray_i, ray_j = (cameras.centre[k] - 0.5 * (seen[i] + seen[j]) for k in (i, j))
    cosine = torch.nn.functional.cosine_similarity(ray_i, ray_j, dim=-1)
    pairs = SeenPairs(
        rotation_i=cameras.cam_from_world[i],
        rotation_j=cameras.cam_from_world[j],
        offset=cameras.centre[i] - cameras.centre[j],
        distance=cameras.distance[i],
        parallax_rad=cosine.clamp(-1, 1).arccos(),
        rotation_std_rad=edge_std_rad(draw, noise, torch.zeros_like(i), num_matches),
        focal_error=torch.zeros_like(num_matches),
    )
    is_wrong = draw.chance(1 / (1 + num_matches / _DOUBTFUL_MATCHES), e)
    nothing = torch.zeros_like(is_wrong)
    measured = measure_edges(draw, pairs, Mistakes(is_wrong, nothing, nothing))
    graph_idx = torch.zeros(len(cameras), dtype=torch.int64)
    graph = GraphTensors(
        edge_index, measured.rotation, measured.direction, measured.has_direction, num_matches.long(), graph_idx
    )
    kind_idx = torch.tensor([KIND_NAMES.index("real")])
    return WorldBatch(graph, is_wrong, cameras.cam_from_world, cameras.centre, kind_idx)
