"""1DSfM's internet collections (Wilson and Snavely 2014), from the files of the dataset; photos come apart from them.

    NAME/list.txt        one photo a line, with "0 FOCAL" behind it where EXIF knows the focal length; line numbers
                         (from 0) are what all other files count by
    NAME/cc.txt          the images of the problem
    NAME/EGs.txt         i j R t: R = R_i R_j^T by rows, t the position of camera j in the frame of camera i
    NAME/coords.txt      a header for each image (index, keys, px, py, focal), then its keys: number x y 0 0 r g b;
                         the centre of the first pixel is (1, 1), px and py are half the size
    NAME/tracks.txt      their number, then a track a line: length, and image and key of each observation
    NAME/gt_bundle.out   Bundler's reconstruction, one camera for each line of list.txt (focal length 0: none)
    NAME/images/         photos, optional

Bundler's cameras look along -z with y up: its rotations and translations, and those of EGs.txt, are turned by half a
turn about x. Its lens (two radial terms) is COLMAP's RADIAL. Keys in no track are left out, and so are the bundle's
points, whose pixels the published files have lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from vgpa.datasets.bundler import FLIP, BundlerCameras, read_cameras
from vgpa.datasets.reference import make_images, make_reference, reading, rotation_of, scene_folder, unknown_camera
from vgpa.datasets.scene import DatasetScene
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, IntArray, normalize
from vgpa.scene import Camera, FocalSource, Keypoints, Tracks, ViewGraph

HEADER = re.compile(r"#index = (\d+), name = .*keys = (\d+), px = ([\d.]+), py = ([\d.]+)(?:, focal = ([\d.]+))?")
MAX_NUMBER = 2.0**31
FIRST_PIXEL = 0.5
"""What is taken from SIFT's pixels, where the centre of the first one is 1, to make them COLMAP's, where it is 0.5."""


def list_scenes(root: Path) -> list[str]:
    """Folders with epipolar geometries or a bundle."""
    return sorted({path.parent.name for file in ("EGs.txt", "gt_bundle.out") for path in root.glob(f"*/{file}")})


def load_scene(root: Path, name: str) -> DatasetScene:
    """One scene: the images of its component, their relative poses and tracks, and Bundler's poses as reference."""
    folder = scene_folder(root, name)
    members = _read_component(folder / "cc.txt")
    names = _read_list(folder / "list.txt", members)
    bundle = read_cameras(folder / "gt_bundle.out")
    coords = _read_coords(folder / "coords.txt", members)
    keypoints, tracks = _read_tracks(folder / "tracks.txt", members, coords.xy_px)
    with reading(folder / "gt_bundle.out", "the reference of the images in cc.txt"):
        if members[-1] >= len(bundle):
            raise ValueError(f"it has {len(bundle)} cameras, and cc.txt names image {members[-1]}")
        cameras = [_make_camera(k, coords, bundle, member) for k, member in enumerate(members)]
        images = make_images(names, cameras)
        reference = make_reference(images, bundle.cam_from_world[members], bundle.is_known[members])
    photos = folder / "images"
    return DatasetScene(
        name,
        reference,
        image_dir=photos if photos.is_dir() else None,
        view_graph=_read_graph(folder / "EGs.txt", members, tracks),
        keypoints=keypoints,
        tracks=tracks,
    )


@dataclass(frozen=True, eq=False)
class _Coords:
    """What coords.txt says of each image: half its size and EXIF's focal length (0: unknown), and all its keys."""

    centre_px: list[tuple[float, float]]
    focal_px: list[float]
    xy_px: list[FloatArray]


def _read_component(path: Path) -> IntArray:
    """(num_images,) line numbers of the images, rising."""
    with reading(path, "the images of a 1DSfM scene"):
        members = np.unique(np.array(path.read_text(encoding="utf-8").split(), dtype=np.int64))
        if len(members) == 0 or members[0] < 0:
            raise ValueError("it names no images, or negative ones")
    return members


def _read_list(path: Path, members: IntArray) -> list[str]:
    """Names of the images, relative to the folder images."""
    with reading(path, "the photos of a 1DSfM scene"):
        lines = path.read_text(encoding="utf-8").splitlines()
        if members[-1] >= len(lines):
            raise ValueError(f"it has {len(lines)} lines, and cc.txt names image {members[-1]}")
        # A focal length, where there is one, is the last of three words; names may hold spaces.
        words = [re.sub(r"\s+0\s+[\d.]+\s*$", "", lines[member]).strip() for member in members]
    return [word.removeprefix("images/") for word in words]


def _read_coords(path: Path, members: IntArray) -> _Coords:
    position = {int(member): k for k, member in enumerate(members)}
    found: dict[int, tuple[tuple[float, float], float, FloatArray]] = {}
    with reading(path, "the keys of a 1DSfM scene"), path.open(encoding="utf-8") as stream:
        for line in stream:
            header = HEADER.match(line)
            if header is None:
                raise ValueError(f"{line.strip()[:60]!r} is not the header of an image")
            index, num_keys = int(header[1]), int(header[2])
            rows = [next(stream, "").split() for _ in range(num_keys)]
            if index not in position:
                continue
            keys = np.array([row[:3] for row in rows], dtype=np.float64).reshape(num_keys, 3)
            if not (keys[:, 0] == np.arange(num_keys)).all():
                raise ValueError(f"the keys of image {index} are not numbered from 0")
            found[position[index]] = (float(header[3]), float(header[4])), float(header[5] or 0), keys[:, 1:]
        missing = [int(member) for k, member in enumerate(members) if k not in found]
        if missing:
            raise ValueError(f"it has no keys of image {missing[0]}, which cc.txt names")
    ordered = [found[k] for k in range(len(members))]
    return _Coords([row[0] for row in ordered], [row[1] for row in ordered], [row[2] - FIRST_PIXEL for row in ordered])


def _read_tracks(path: Path, members: IntArray, xy_px: list[FloatArray]) -> tuple[Keypoints, Tracks]:
    """Tracks of at least two images of the component, and the keypoints that they are made of."""
    position = {int(member): k for k, member in enumerate(members)}
    image_idx: list[int] = []
    key: list[int] = []
    lengths: list[int] = []
    with reading(path, "the tracks of a 1DSfM scene"), path.open(encoding="utf-8") as stream:
        num_tracks = int(stream.readline())
        for line in stream:
            words = [int(word) for word in line.split()]
            if len(words) != 1 + 2 * words[0]:
                raise ValueError(f"track {len(lengths)} is not complete")
            own = [(position[i], k) for i, k in zip(words[1::2], words[2::2], strict=True) if i in position]
            image_idx += [i for i, _ in own]
            key += [k for _, k in own]
            lengths.append(len(own))
        if len(lengths) != num_tracks:
            raise ValueError(f"it has {len(lengths)} tracks, not {num_tracks}")
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        tracks = Tracks(offsets, np.array(image_idx, dtype=np.int64), np.array(key, dtype=np.int64))
        return _used_keypoints(tracks.select(tracks.lengths >= 2), xy_px)


def _used_keypoints(tracks: Tracks, xy_px: list[FloatArray]) -> tuple[Keypoints, Tracks]:
    """Only the keypoints that tracks name, numbered anew within their images."""
    starts = np.concatenate([[0], np.cumsum([len(xy) for xy in xy_px])])
    if (tracks.keypoint_idx >= np.diff(starts)[tracks.image_idx]).any():
        raise ValueError("a track names a key that coords.txt does not have")
    used, number = np.unique(starts[tracks.image_idx] + tracks.keypoint_idx, return_inverse=True)
    offsets = np.searchsorted(used, starts)
    keypoints = Keypoints(offsets, np.concatenate(xy_px)[used])
    return keypoints, Tracks(tracks.offsets, tracks.image_idx, number - offsets[tracks.image_idx])


def _make_camera(image_idx: int, coords: _Coords, bundle: BundlerCameras, member: int) -> Camera:
    """Bundler's lens where it has placed the image, else EXIF's focal length, else a guess."""
    cx, cy = coords.centre_px[image_idx]
    size, exif = (round(2 * cx), round(2 * cy)), coords.focal_px[image_idx]
    if bundle.is_known[member]:
        focal, k1, k2 = bundle.lens[member]
        return Camera("RADIAL", *size, np.array([focal, cx, cy, k1, k2]), FocalSource.PRIOR)
    return Camera("SIMPLE_PINHOLE", *size, np.array([exif, cx, cy]), FocalSource.EXIF) if exif else unknown_camera(size)


def _read_graph(path: Path, members: IntArray, tracks: Tracks) -> ViewGraph:
    """Relative poses within the component; a pair that is listed twice counts once, with its first pose."""
    with reading(path, "the epipolar geometries of a 1DSfM scene"):
        rows = np.array(path.read_text(encoding="utf-8").split(), dtype=np.float64).reshape(-1, 14)
        if not (np.abs(rows) < MAX_NUMBER).all():
            raise ValueError("it holds numbers that are not finite, or far too large")
        listed = rows[:, :2].astype(np.int64)
        rows = rows[np.isin(listed, members).all(axis=1) & (listed[:, 0] != listed[:, 1])]
        if len(rows) == 0:
            raise ValueError("it has no pair of images that cc.txt names")
        ends = np.searchsorted(members, rows[:, :2].astype(np.int64)).T
        first_from_second = Rigid.from_matrix(
            FLIP @ rotation_of(rows[:, 2:11].reshape(-1, 3, 3)) @ FLIP, normalize(rows[:, 11:]) @ FLIP
        )
        backward = first_from_second.inverse()
        is_rising = (ends[0] < ends[1])[:, None]
        quaternion = np.where(is_rising, backward.quaternion_wxyz, first_from_second.quaternion_wxyz)
        translation = np.where(is_rising, backward.translation, first_from_second.translation)
        edges, kept = np.unique(np.sort(ends, axis=0), axis=1, return_index=True)
        motion = Rigid(quaternion[kept], translation[kept])
        has_direction = np.linalg.norm(motion.translation, axis=-1) > 0.5
        num_shared = _count_shared(tracks, edges, len(members))
        return ViewGraph(len(members), edges, motion, has_direction, num_shared, num_shared)


def _count_shared(tracks: Tracks, edges: IntArray, num_images: int) -> IntArray:
    """(num_edges,) tracks that both images of an edge see."""
    ones = np.ones(tracks.num_observations, dtype=np.int64)
    seen = csr_array((ones, (tracks.image_idx, tracks.track_idx)), shape=(num_images, len(tracks)))
    return np.asarray((seen @ seen.T).toarray()[edges[0], edges[1]])
