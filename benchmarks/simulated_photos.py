"""Photos that nobody took, of real cameras: what they show, where they match, and what is wrong with them.

The cameras are those of a MegaDepth scene; `vgpa.train.cameras` models what is there to see. Of that, a photo has the
most striking points as keypoints, with noise. Matching two photos fails with the angle between views and with the
difference in scale, and a tenth of what it finds is wrong. A part of the scene looks like another part: such twins are
matched to each other where only one of them is in the picture, and all these matches agree with each other. Every photo
has a lens of its own, of which EXIF knows the focal length, or tells a wrong one (the photo was cropped), or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from vgpa.colmap.cameras import guess_camera, project, with_focal
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, IntArray, exp_map, normalize
from vgpa.scene import Camera, FocalSource, ImageSet
from vgpa.train.cameras import draw_subsets, lay_out, load_cameras
from vgpa.train.covisibility import find_visible
from vgpa.train.draw import Draw
from vgpa.train.layouts import Layout

NUM_POINTS_PER_CAMERA = 300
NUM_KEYPOINTS, KEYPOINT_SPREAD = 1200, 0.5
"""Keypoints of a photo: median, and standard deviation of the logarithm."""
LONGER_SIDE_PX = 1600
NOISE_PX, NOISE_SPREAD = 0.5, 0.5
DISTORTION = 0.05
KNOWN_PART, CROPPED_PART = 0.55, 0.1
"""Photos of which EXIF knows the focal length, and of which it tells a wrong one."""
MATCHED_PART, WRONG_PART = 0.7, 0.1
MATCHABLE_LOG_SCALE = 0.9
TWIN_PART, TWIN_MATCHED_PART = 0.15, 0.4
"""Points that have a twin elsewhere, and twins that are matched."""
NUM_BEST, MIN_NUM_MATCHES = 40, 20
"""Pairs that each photo keeps, and matches that they need."""


@dataclass(frozen=True, eq=False)
class Photos:
    """Simulated photos.

    Attributes:
        cameras: (num_images) true lenses; told: (num_images) what is known of them.
        poses: (num_images) true cam_from_world.
        look: (num_images) of (n,) each: what a keypoint looks like; those of a twin have the same look.
        point: (num_images) of (n,) each: what it is.
        xy_px: (num_images) of (n, 2) each.
        xyz: (num_points, 3) the points.
        matchable_rad: change of view that matching survives.
    """

    cameras: tuple[Camera, ...]
    told: tuple[Camera, ...]
    poses: Rigid
    look: list[IntArray]
    point: list[IntArray]
    xy_px: list[FloatArray]
    xyz: FloatArray
    matchable_rad: float


def simulate_photos(cameras: Path, num_images: int, seed: int) -> Photos:
    """Photos of cameras that look at things near each other."""
    draw, rng = Draw(torch.Generator().manual_seed(seed)), np.random.default_rng(seed)
    layout = _draw_layout(draw, cameras, num_images)
    is_twin_of, layout = _with_twins(layout, rng)
    visible = find_visible(layout)[0].numpy() > 0
    xyz = layout.point[0].double().numpy()
    poses = Rigid.from_centre(layout.cam_from_world[0].double().numpy(), layout.centre[0].double().numpy())
    lenses = [_draw_lens(half_size, rng) for half_size in layout.half_size[0].double().numpy()]
    images = ImageSet(
        tuple(map(str, range(num_images))), np.arange(num_images), tuple(lenses), np.arange(num_images) + 1
    )
    striking = rng.random(len(xyz))
    striking[is_twin_of >= 0] = striking[is_twin_of[is_twin_of >= 0]]
    look = np.where(is_twin_of >= 0, is_twin_of, np.arange(len(xyz)))
    seen = [_take_photo(images, poses, k, xyz, np.flatnonzero(visible[k]), striking, rng) for k in range(num_images)]
    told = tuple(_tell(camera, rng) for camera in lenses)
    point, xy_px = ([photo[side] for photo in seen] for side in (0, 1))
    return Photos(
        tuple(lenses), told, poses, [look[p] for p in point], point, xy_px, xyz, float(layout.matchable_rad[0])
    )


def match_photos(photos: Photos, seed: int) -> Iterator[tuple[int, int, IntArray]]:
    """(n, 2) matches of every pair i < j that is among the best of i or of j."""
    rng, num = np.random.default_rng((seed, 1)), len(photos.poses)
    found = {(i, j): _match(photos, i, j, rng) for i in range(num) for j in range(i + 1, num)}
    found = {pair: matches for pair, matches in found.items() if len(matches) >= MIN_NUM_MATCHES}
    num_of = np.zeros((num, num), dtype=np.int64)
    for (i, j), matches in found.items():
        num_of[i, j] = num_of[j, i] = len(matches)
    last = np.sort(num_of, axis=1)[:, -NUM_BEST] if num > NUM_BEST else np.zeros(num, dtype=np.int64)
    for (i, j), matches in found.items():
        if len(matches) >= min(last[i], last[j]):
            yield i, j, matches


def _draw_layout(draw: Draw, path: Path, num_images: int) -> Layout:
    cameras = load_cameras((path,), torch.device("cpu"))
    chosen = draw_subsets(draw, cameras, 1, num_images)
    return lay_out(draw, cameras, chosen, torch.tensor([[num_images]]), NUM_POINTS_PER_CAMERA * num_images)


def _with_twins(layout: Layout, rng: np.random.Generator) -> tuple[IntArray, Layout]:
    """(num_points,) the point that each point is a twin of, or -1; and the layout, in which twins have their places.

    What one camera sees looks like what another one sees: a turn about the vertical carries the first to the second.
    """
    k, m = rng.choice(layout.centre.shape[1], 2, replace=False).tolist()
    forward, centre = (layout.cam_from_world[0, :, 2].double().numpy(), layout.centre[0].double().numpy())
    yaw = np.arctan2(forward[:, 1], forward[:, 0])
    turn = exp_map(np.array([0, 0, yaw[m] - yaw[k]]))
    point, normal = layout.point[0].double().numpy(), layout.normal[0].double().numpy()
    chosen = rng.permutation(len(point))[: round(2 * TWIN_PART * len(point))]
    originals, twins = np.split(chosen, 2)
    is_twin_of = np.full(len(point), -1)
    is_twin_of[twins] = originals
    point[twins] = (point[originals] - centre[k]) @ turn.T + centre[m]
    normal[twins] = normal[originals] @ turn.T
    placed = {"point": torch.tensor(point[None]).float(), "normal": torch.tensor(normal[None]).float()}
    return is_twin_of, Layout(**{**vars(layout), **placed})


def _draw_lens(half_size: FloatArray, rng: np.random.Generator) -> Camera:
    """A lens with some distortion that takes pictures of this half size at a distance of one."""
    width_px, height_px = np.round(LONGER_SIDE_PX * half_size / half_size.max()).astype(int).tolist()
    focal_px = LONGER_SIDE_PX / 2 / half_size.max()
    params = np.array([focal_px, width_px / 2, height_px / 2, rng.normal() * DISTORTION])
    return Camera("SIMPLE_RADIAL", width_px, height_px, params)


def _tell(camera: Camera, rng: np.random.Generator) -> Camera:
    """What is known of a lens."""
    guess = guess_camera((camera.width_px, camera.height_px), camera.model)
    chance, focal_px = rng.random(), camera.params[0]
    if chance < KNOWN_PART:
        told_px = focal_px * np.exp(0.02 * rng.normal())
    elif chance < KNOWN_PART + CROPPED_PART:
        told_px = focal_px * rng.uniform(0.4, 0.8)
    else:
        return guess
    return Camera(guess.model, guess.width_px, guess.height_px, with_focal(guess, told_px).params, FocalSource.PRIOR)


def _take_photo(
    images: ImageSet,
    poses: Rigid,
    image_idx: int,
    xyz: FloatArray,
    visible: IntArray,
    striking: FloatArray,
    rng: np.random.Generator,
) -> tuple[IntArray, FloatArray]:
    """The points (n,) that are keypoints of a photo, and where (n, 2)."""
    camera = images.camera_of(image_idx)
    xy_px = project(images, np.full(len(visible), image_idx), poses[image_idx].apply(xyz[visible]))
    size_px = np.array([camera.width_px, camera.height_px])
    is_inside = np.asarray(((xy_px > 0) & (xy_px < size_px)).all(axis=1))
    visible, xy_px = visible[is_inside], xy_px[is_inside]
    num = round(NUM_KEYPOINTS * np.exp(KEYPOINT_SPREAD * rng.normal()))
    order = np.argsort(-striking[visible] + 0.3 * rng.normal(size=len(visible)))[:num]
    noise_px = NOISE_PX * np.exp(NOISE_SPREAD * rng.normal(size=(len(order), 1))) * rng.normal(size=(len(order), 2))
    return visible[order], xy_px[order] + noise_px


def _match(photos: Photos, i: int, j: int, rng: np.random.Generator) -> IntArray:
    """(n, 2) keypoints of two photos that a matcher takes for the same."""
    once = [np.unique(photos.look[k], return_index=True, return_counts=True) for k in (i, j)]
    # Two keypoints of one photo that look the same are told apart by no matcher.
    looks, at = zip(*((look[num == 1], first[num == 1]) for look, first, num in once), strict=True)
    _, first, second = np.intersect1d(*looks, assume_unique=True, return_indices=True)
    matches = np.stack([at[0][first], at[1][second]], axis=-1)
    if len(matches) < MIN_NUM_MATCHES:
        return matches[:0]
    point_i, point_j = photos.point[i][matches[:, 0]], photos.point[j][matches[:, 1]]
    is_same = point_i == point_j
    matched_part = np.where(is_same, _survival(photos, i, j, point_i), TWIN_MATCHED_PART)
    matches = matches[rng.random(len(matches)) < MATCHED_PART * matched_part]
    is_wrong = rng.random(len(matches)) < WRONG_PART
    matches[is_wrong, 1] = rng.permutation(matches[is_wrong, 1])
    return matches


def _survival(photos: Photos, i: int, j: int, point: IntArray) -> FloatArray:
    """(n,) part of the matches of points that survive the change of view and of scale."""
    offset_i, offset_j = (photos.xyz[point] - photos.poses.centre[k] for k in (i, j))
    cosine = np.sum(normalize(offset_i) * normalize(offset_j), axis=-1)
    angle_rad = np.arccos(np.clip(cosine, -1, 1))
    sizes = [np.linalg.norm(x, axis=-1) / photos.cameras[k].params[0] for k, x in ((i, offset_i), (j, offset_j))]
    log_scale = np.log(sizes[0] / sizes[1])
    return np.asarray(np.exp(-((angle_rad / photos.matchable_rad) ** 2) - (log_scale / MATCHABLE_LOG_SCALE) ** 2))
