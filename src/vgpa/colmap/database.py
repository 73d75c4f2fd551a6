"""A COLMAP database, read into a `Problem`.

Read with sqlite itself, in read-only mode: pycolmap rewrites a database when it opens it, and users' files are
not ours to change. Only the tables that every COLMAP version has are touched, and sizes are checked before
anything is allocated. A pair's relative pose is taken from the database, or recovered from its geometry where
the database has none, or has one that was made under a focal length that turned out to be wrong.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pycolmap
from numpy.typing import NDArray

from vgpa.colmap.calibration import EpipolarPairs, calibrate_guesses
from vgpa.colmap.cameras import model_name, to_pycolmap
from vgpa.colmap.lens_beliefs import believe_lenses
from vgpa.colmap.pairs import Pair, relative_motions
from vgpa.colmap.tables import MAX_NUM_IMAGES
from vgpa.errors import InputError
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import normalize
from vgpa.scene import Camera, FocalSource, ImageSet, Keypoints, Matches, Problem, ViewGraph

Config = pycolmap.TwoViewGeometryConfiguration
USABLE = {
    int(config)
    for config in (
        Config.CALIBRATED,
        Config.UNCALIBRATED,
        Config.PLANAR,
        Config.PANORAMIC,
        Config.PLANAR_OR_PANORAMIC,
    )
}
EPIPOLAR = {int(Config.CALIBRATED), int(Config.UNCALIBRATED)}
MAX_SIDE_PX = 2**20
MIN_BASELINE = 1e-6
"""Relative translations shorter than this (COLMAP's planar poses are in units of the plane's distance) say nothing."""


def read_problem(path: Path, num_cores: int = 1, are_lenses_known: bool = False) -> Problem:
    """Images, keypoints, view graph and matches of a COLMAP database.

    Images are ordered by id, so that i < j in the view graph exactly when COLMAP's pair has id_i < id_j.

    Args:
        num_cores: with two, relative poses are recovered in two processes.
        are_lenses_known: the database's intrinsics are beyond doubt; otherwise pairs may tell other focal lengths.
    """
    if not path.is_file():
        raise InputError(f"There is no database at {path}", "Give the path of a COLMAP database.db")
    try:
        with closing(_open_read_only(path.resolve())) as connection:
            images = _read_images(connection)
            keypoints = _read_keypoints(connection, images)
            pairs = list(_read_pairs(connection, images, keypoints))
            if not are_lenses_known:
                images, pairs = _calibrate(images, pairs)
            return _assemble(connection, images, keypoints, pairs, num_cores)
    except (sqlite3.Error, ValueError, TypeError, OverflowError) as error:  # sqlite keeps any type in any column
        raise InputError(
            f"{path} cannot be read as a COLMAP database ({error})",
            "Check that the file is complete and was made by COLMAP, pycolmap or vgpa",
        ) from error


def _open_read_only(path: Path) -> sqlite3.Connection:
    """A connection that writes nothing, neither to the database nor beside it.

    `immutable` keeps sqlite from making side files; it may be used unless a writer left pages in the log.
    """
    log = path.with_name(path.name + "-wal")
    mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    return sqlite3.connect(f"{path.as_uri()}?{mode}", uri=True)


def _read_images(connection: sqlite3.Connection) -> ImageSet:
    camera_ids, cameras, sources = [], [], _read_focal_sources(connection)
    query = "SELECT camera_id, model, width, height, params, prior_focal_length FROM cameras ORDER BY camera_id"
    for camera_id, model, width, height, params, has_prior in connection.execute(query):
        if not all(isinstance(side, int) and 0 < side <= MAX_SIDE_PX for side in (width, height)):
            raise ValueError(f"camera {camera_id} claims to be {width!r} x {height!r} pixels")
        source = sources.get(camera_id, FocalSource.PRIOR if has_prior else FocalSource.GUESS)
        camera = Camera(model_name(model), width, height, _array(params, np.float64, (-1,)), source)
        if not to_pycolmap(camera, 1).verify_params():
            raise ValueError(f"camera {camera_id} has a wrong number of parameters")
        camera_ids.append(camera_id)
        cameras.append(camera)
    index = {camera_id: k for k, camera_id in enumerate(camera_ids)}
    rows = connection.execute("SELECT image_id, name, camera_id FROM images ORDER BY image_id").fetchall()
    missing = [name for _, name, camera_id in rows if camera_id not in index]
    if missing:
        raise ValueError(f"image {missing[0]!r} names a camera that is not there")
    return ImageSet(
        tuple(str(name) for _, name, _ in rows),
        np.array([index[camera_id] for _, _, camera_id in rows], dtype=np.int64),
        tuple(cameras),
        np.array([image_id for image_id, _, _ in rows], dtype=np.int64),
    )


def _read_focal_sources(connection: sqlite3.Connection) -> dict[int, FocalSource]:
    """Where focal lengths came from, in a database of our own making."""
    is_ours = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'vgpa_cameras'").fetchone()
    rows = connection.execute("SELECT camera_id, focal_source FROM vgpa_cameras") if is_ours else ()
    return {camera_id: FocalSource(source) for camera_id, source in rows}


def _read_keypoints(connection: sqlite3.Connection, images: ImageSet) -> Keypoints:
    index = {int(image_id): k for k, image_id in enumerate(images.image_id)}
    parts = [np.zeros((0, 2), dtype=np.float32)] * len(images)
    for image_id, rows, cols, data in connection.execute("SELECT image_id, rows, cols, data FROM keypoints"):
        if image_id in index and rows > 0:
            if cols not in (2, 4, 6):
                raise ValueError(f"keypoints of image {image_id} have {cols} columns, not 2, 4 or 6")
            parts[index[image_id]] = _array(data, np.float32, (rows, cols))[:, :2]
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    return Keypoints(offsets, np.concatenate(parts) if parts else np.zeros((0, 2)))


def _calibrate(images: ImageSet, pairs: list[Pair]) -> tuple[ImageSet, list[Pair]]:
    """Focal lengths that the pairs tell, and the pairs of such cameras without what was made under others."""
    epipolar = [p for p in pairs if p.config in EPIPOLAR and p.matrices["F"] is not None]
    if not epipolar:
        return images, pairs
    matrices = EpipolarPairs(
        np.array([images.camera_idx[[p.i, p.j]] for p in epipolar]).T,
        np.array([p.matrices["F"] for p in epipolar]),
        np.array([len(p.matches) for p in epipolar]),
    )
    calibrated = believe_lenses(calibrate_guesses(images, matrices), matrices)
    is_voted = np.array([camera.focal_source is FocalSource.VOTED for camera in calibrated.cameras])
    in_doubt = is_voted[images.camera_idx]
    return calibrated, [_uncalibrated(p) if in_doubt[p.i] or in_doubt[p.j] else p for p in pairs]


def _uncalibrated(pair: Pair) -> Pair:
    """The pair without the pose and the essential matrix that were made under other intrinsics."""
    pair = replace(pair, quaternion_wxyz=None)
    if pair.config != int(Config.CALIBRATED) or pair.matrices["F"] is None:
        return pair
    return replace(pair, config=int(Config.UNCALIBRATED), matrices=pair.matrices | {"E": None})


def _assemble(
    connection: sqlite3.Connection, images: ImageSet, keypoints: Keypoints, pairs: list[Pair], num_cores: int
) -> Problem:
    num_raw = dict(connection.execute("SELECT pair_id, rows FROM matches").fetchall())
    motions = relative_motions(pairs, images, keypoints, num_cores)
    known = np.flatnonzero(np.isfinite(motions).all(axis=-1))
    found = [pairs[k] for k in known.tolist()]
    counts = [(len(p.matches), max(num_raw.get(p.pair_id, 0), len(p.matches))) for p in found]
    num = len(found)
    quaternion, translation = motions[known, :4], motions[known, 4:]
    has_direction = np.linalg.norm(translation, axis=-1) > MIN_BASELINE
    translation = np.where(has_direction[:, None], normalize(translation), 0.0)
    count = np.array(counts, dtype=np.int64).reshape(num, 2)
    graph = ViewGraph(
        len(images),
        np.array([(p.i, p.j) for p in found], dtype=np.int64).reshape(num, 2).T,
        Rigid(normalize(quaternion), translation),
        has_direction,
        count[:, 0],
        count[:, 1],
    )
    offsets = np.concatenate([[0], np.cumsum([len(p.matches) for p in found])])
    flat = np.concatenate([p.matches for p in found]) if found else np.zeros((0, 2), dtype=np.int64)
    return Problem(images, keypoints, graph, Matches(offsets, flat))


def _read_pairs(connection: sqlite3.Connection, images: ImageSet, keypoints: Keypoints) -> Iterator[Pair]:
    """Usable rows of two_view_geometries, in the order of their pair ids."""
    index = {int(image_id): k for k, image_id in enumerate(images.image_id)}
    num_keypoints = keypoints.num_of()
    columns = {row[1] for row in connection.execute("PRAGMA table_info(two_view_geometries)")}
    # Databases of COLMAP before 3.6 know no relative poses.
    pose = "qvec, tvec" if {"qvec", "tvec"} <= columns else "NULL, NULL"
    query = f"SELECT pair_id, rows, data, config, F, E, H, {pose} FROM two_view_geometries ORDER BY pair_id"
    for pair_id, rows, data, config, f, e, h, qvec, tvec in connection.execute(query):
        id_i, id_j = divmod(pair_id, MAX_NUM_IMAGES)
        if config not in USABLE or rows <= 0:
            continue
        if id_i not in index or id_j not in index:
            raise ValueError(f"pair {id_i}-{id_j} names an image that is not there")
        i, j = index[id_i], index[id_j]
        matches = _array(data, np.uint32, (rows, 2)).astype(np.int64)
        if (matches >= (num_keypoints[i], num_keypoints[j])).any():
            raise ValueError(f"pair {id_i}-{id_j} matches a keypoint that is not there")
        matrices = {
            name: None if blob is None else _array(blob, np.float64, (3, 3))
            for name, blob in (("F", f), ("E", e), ("H", h))
        }
        quaternion = None if qvec is None else _array(qvec, np.float64, (4,))
        translation = None if tvec is None else _array(tvec, np.float64, (3,))
        yield Pair(pair_id, i, j, config, matches, matrices, quaternion, translation)


def _array(blob: bytes | None, dtype: type[np.generic], shape: tuple[int, ...]) -> NDArray[Any]:
    """A blob as a finite array of the given shape; -1 stands for any length."""
    array = np.frombuffer(blob or b"", dtype=dtype)
    if -1 not in shape and array.size != math.prod(shape):
        raise ValueError(f"a blob of {array.size} numbers should hold {' x '.join(map(str, shape))}")
    if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
        raise ValueError("a blob holds numbers that are not finite")
    return array.reshape(shape)
