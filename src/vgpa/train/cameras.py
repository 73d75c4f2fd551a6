"""The cameras of real photo collections, and what they see: the geometry of real photography without its images.

A file holds `T_w2c` (n, 4, 4), world to camera, and `K` (n, 3, 3), with the principal point in the middle of the
picture. It says nothing of the scene, so that is modelled: people aim at the same things, so the distance of what a
photo shows is where its line of sight meets those of others; its picture is filled with points at about that distance,
facing it.
Of the pairs of photos that are known to overlap this model finds 97 to 99%, and it overestimates the overlap by a
factor of two, which is taken off (`benchmarks/worlds.py fit`).

Touches nothing but torch, numpy and the files it is given.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from functools import lru_cache
from math import radians
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from vgpa.errors import InputError
from vgpa.geometry.torch_rotation import quaternion_wxyz_to_matrix
from vgpa.train.draw import Draw
from vgpa.train.layouts import Layout, draw_texture

BROKEN_NPZ = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile)
"""What reading a damaged npz raises; RuntimeError where it claims a password or an unknown compression."""

TRAINING_SCENES = ("0008", "0021", "0025", "0032")
"""Scenes of MegaDepth whose cameras may be trained on; those of the paper's tables are for testing."""
OVERLAP_FACTOR = 0.5
"""Real overlaps over modelled ones."""

_DISTANCE = 10.0
"""Median distance of what is seen, after scaling: files are in units of their own."""
_NUM_OTHERS = 400
_MIN_CROSSING_RAD, _MAX_CROSSING_RAD = radians(4), radians(60)
_MAX_GAP = 0.2
_MAX_DISTANCE_RATIO = 3.0
_DEPTH_SPREAD = 0.5
_FAR = 2.5
"""Times the distance of what it shows that a photo sees at most: the rest is hidden."""
_PICTURE_PART = 0.9


@dataclass(frozen=True)
class CameraSet:
    """The n cameras of one or more collections; z is up, what is seen is ten metres away in the middle."""

    centre: Tensor  # (n, 3)
    cam_from_world: Tensor  # (n, 3, 3)
    half_size: Tensor  # (n, 2) half the width and height of the picture, one metre in front of the camera
    distance: Tensor  # (n,) of what the photo shows
    set_size: Tensor  # (num_sets,) cameras of each collection; those of the first one come first, and so on

    def __len__(self) -> int:
        return len(self.centre)

    def to(self, device: torch.device) -> CameraSet:
        """The same cameras on another device."""
        return CameraSet(*(value.to(device) for value in vars(self).values()))


def find_training_cameras(data: Path) -> tuple[Path, ...]:
    """The files of the training scenes in a data folder, as many as there are."""
    paths = (data / "data" / "cameras" / f"megadepth_{scene}.npz" for scene in TRAINING_SCENES)
    return tuple(path for path in paths if path.is_file())


@lru_cache(maxsize=4)
def load_cameras(paths: tuple[Path, ...], device: torch.device) -> CameraSet:
    """The cameras of several files, read once."""
    sets = [_read_cameras(path) for path in paths]
    parts = zip(*(vars(cameras).values() for cameras in sets), strict=True)
    return CameraSet(*(torch.cat(part) for part in parts)).to(device)


def lay_out(draw: Draw, cameras: CameraSet, camera_idx: Tensor, num_cams: Tensor, num_points: int) -> Layout:
    """What the given cameras (B, N) see.

    Args:
        camera_idx: (B, N) indices into `cameras`.
        num_cams: (B, 1) how many of them there are; the rest of a row does not count.
    """
    b = len(camera_idx)
    source = camera_idx.gather(1, (draw.uniform(0, 1, b, num_points) * num_cams).long())
    ahead = torch.ones(b, num_points, 1, device=source.device)
    on_picture = _PICTURE_PART * cameras.half_size[source] * draw.uniform(-1, 1, b, num_points, 2)
    depth = cameras.distance[source] * draw.log_normal(1.0, _DEPTH_SPREAD, b, num_points)
    ray = torch.cat((on_picture, ahead), -1)
    offset = depth[..., None] * (cameras.cam_from_world[source].mT @ ray[..., None]).squeeze(-1)
    normal = normalize(normalize(-offset, dim=-1) + draw.normal(0.3, b, num_points, 3), dim=-1)
    num_features, matchable_rad = draw_texture(draw, b)
    return Layout(
        centre=cameras.centre[camera_idx],
        cam_from_world=cameras.cam_from_world[camera_idx],
        half_size=cameras.half_size[camera_idx],
        point=cameras.centre[source] + offset,
        normal=normal,
        max_range=_FAR * cameras.distance[camera_idx],
        num_features=OVERLAP_FACTOR * num_features,
        matchable_rad=matchable_rad,
    )


def draw_subsets(draw: Draw, cameras: CameraSet, num_subsets: int, num_cams: int) -> Tensor:
    """Indices (B, N) of cameras that look at things near each other; each row is from one collection.

    Rows are in random order. Where a collection has fewer cameras than asked for, any others follow.
    """
    b, size = num_subsets, cameras.set_size
    end = size.cumsum(0)
    first = end - size
    chosen_set = (draw.uniform(0, 1, b) * len(size)).long()
    seed = first[chosen_set] + (draw.uniform(0, 1, b) * size[chosen_set]).long()
    seen = cameras.centre + cameras.distance[:, None] * cameras.cam_from_world[:, 2]
    apart = torch.cdist(seen[seed], seen) + torch.cdist(cameras.centre[seed], cameras.centre)
    idx = torch.arange(len(cameras), device=seen.device)
    is_inside = (idx >= first[chosen_set, None]) & (idx < end[chosen_set, None])
    apart = torch.where(is_inside, apart, torch.inf)
    # Some of the nearest: all of them make a dense graph, few of many a sparse one.
    num_near = (num_cams * draw.log_uniform(1.2, 16, b)).minimum(size[chosen_set])
    rank = apart.argsort(1).argsort(1)
    order = torch.where(rank < num_near[:, None], draw.uniform(0, 1, b, len(cameras)), 1.0 + rank)
    return order.argsort(1)[:, torch.arange(num_cams, device=order.device) % len(cameras)]


def make_cameras(world_to_cam: NDArray[np.float64], calibration: NDArray[np.float64]) -> CameraSet:
    """Cameras of one collection from (n, 4, 4) and (n, 3, 3), set upright and scaled."""
    rotation, translation = world_to_cam[:, :3, :3], world_to_cam[:, :3, 3]
    centre = -np.einsum("nba,nb->na", rotation, translation)
    distance = _find_distances(centre, rotation[:, 2])
    upright, scale = _upright_from_world(rotation), _DISTANCE / np.median(distance)
    half_size = calibration[:, [0, 1], [2, 2]] / calibration[:, [0, 1], [0, 1]]
    return CameraSet(
        _tensor(scale * centre @ upright.T),
        _tensor(rotation @ upright.T),
        _tensor(half_size),
        _tensor(scale * distance),
        torch.tensor([len(centre)]),
    )


def _read_cameras(path: Path) -> CameraSet:
    try:
        with np.load(path, allow_pickle=False) as data:
            world_to_cam, calibration = (np.asarray(data[key], dtype=np.float64) for key in ("T_w2c", "K"))
    except BROKEN_NPZ as error:
        raise InputError(
            f"{path} cannot be read as cameras ({error})", "Give an npz with T_w2c (n, 4, 4) and K (n, 3, 3)"
        ) from error
    n = len(world_to_cam)
    if world_to_cam.shape != (n, 4, 4) or calibration.shape != (n, 3, 3) or n < 2:
        raise InputError(
            f"{path} holds T_w2c {world_to_cam.shape} and K {calibration.shape}", "Give (n, 4, 4) and (n, 3, 3)"
        )
    return make_cameras(world_to_cam, calibration)


def _tensor(values: NDArray[np.float64]) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)


def _upright_from_world(rotation: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rotation (3, 3) that makes z point up, judged by how the cameras (n, 3, 3) are held."""
    up = -rotation[:, 1].mean(0)
    up = up / np.linalg.norm(up)
    half = torch.tensor([1 + up[2], up[1], -up[0], 0.0], dtype=torch.float64)  # half way from `up` to z
    return quaternion_wxyz_to_matrix(half).numpy()


def _find_distances(centre: NDArray[np.float64], forward: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) median distance at which lines of sight meet those of others; the usual one where they meet none."""
    others = np.linspace(0, len(centre) - 1, min(len(centre), _NUM_OTHERS)).round().astype(int)
    between = centre[:, None] - centre[others]
    cosine = forward @ forward[others].T
    along = np.einsum("na,nma->nm", forward, between)
    along_other = np.einsum("ma,nma->nm", forward[others], between)
    angle = np.arccos(np.clip(cosine, -1, 1))
    meets = (angle > _MIN_CROSSING_RAD) & (angle < _MAX_CROSSING_RAD)
    sine2 = np.where(meets, 1 - cosine**2, 1.0)
    mine, theirs = (cosine * along_other - along) / sine2, (along_other - cosine * along) / sine2
    gap = np.linalg.norm(between + mine[..., None] * forward[:, None] - theirs[..., None] * forward[others], axis=-1)
    meets &= (mine > 0) & (theirs > 0) & (gap < _MAX_GAP * np.minimum(mine, theirs))
    meets &= np.maximum(mine, theirs) < _MAX_DISTANCE_RATIO * np.minimum(mine, theirs)
    found = np.array([np.median(row[ok]) if ok.any() else np.nan for row, ok in zip(mine, meets, strict=True)])
    usual = np.nanmedian(found) if np.isfinite(found).any() else 1.0
    return np.where(np.isfinite(found), found, usual)
