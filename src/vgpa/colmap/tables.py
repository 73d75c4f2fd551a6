"""Rows of the run's own COLMAP database, in and out: what is missing, what is there, features, matches, positions.

Every function is one transaction of its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MAX_NUM_IMAGES = 2147483647
"""COLMAP numbers the pair of images a < b as a * MAX_NUM_IMAGES + b."""


@contextmanager
def opened(database: Path) -> Iterator[sqlite3.Connection]:
    """A connection for one transaction: all changes of the block are kept, or none."""
    connection = sqlite3.connect(database, timeout=60)
    try:
        with connection:
            yield connection
    finally:
        connection.close()


def names_without_features(database: Path) -> list[str]:
    """Images whose features are still to be extracted, by name."""
    query = "SELECT name FROM images WHERE image_id NOT IN (SELECT image_id FROM descriptors) ORDER BY name"
    with opened(database) as connection:
        return [name for (name,) in connection.execute(query)]


def verified_pairs(database: Path) -> set[tuple[str, str]]:
    """Pairs of names that have been matched and verified, whatever came out."""
    with opened(database) as connection:
        name_of = dict(connection.execute("SELECT image_id, name FROM images").fetchall())
        pair_ids = [pair_id for (pair_id,) in connection.execute("SELECT pair_id FROM two_view_geometries")]
    pairs = (divmod(pair_id, MAX_NUM_IMAGES) for pair_id in pair_ids)
    return {(name_of[a], name_of[b]) for a, b in pairs}


def keep_only_pairs(database: Path, pairs: Iterable[tuple[str, str]]) -> None:
    """Forget matched pairs that are not among the given ones, so that a result never depends on earlier choices."""
    with opened(database) as connection:
        id_of = dict(connection.execute("SELECT name, image_id FROM images").fetchall())
        wanted = {pair_id(id_of[a], id_of[b]) for a, b in pairs}
        for table in ("matches", "two_view_geometries"):
            present = {row[0] for row in connection.execute(f"SELECT pair_id FROM {table}")}
            gone = [(row,) for row in present - wanted]
            connection.executemany(f"DELETE FROM {table} WHERE pair_id = ?", gone)


@contextmanager
def plain_names(database: Path) -> Iterator[dict[str, str]]:
    """Names without white space for every image, which COLMAP's pair lists need, while the block runs.

    The true names wait in a table of their own; a run that is killed meanwhile leaves them there, and `restore_names`
    puts them back.
    """
    restore_names(database)
    with opened(database) as connection:
        names = dict(connection.execute("SELECT name, image_id FROM images").fetchall())
        has_spaces = any(len(name.split()) != 1 for name in names)
        if has_spaces:
            connection.execute("INSERT INTO vgpa_names SELECT image_id, name FROM images")
            connection.execute("UPDATE images SET name = 'image' || image_id")
    try:
        yield {name: f"image{image_id}" if has_spaces else name for name, image_id in names.items()}
    finally:
        restore_names(database)


def restore_names(database: Path) -> None:
    """Give every image its true name back, if a run was stopped while they were plain."""
    with opened(database) as connection:
        names = connection.execute("SELECT name, image_id FROM vgpa_names").fetchall()
        connection.executemany("UPDATE images SET name = ? WHERE image_id = ?", names)
        if names:
            connection.execute("DELETE FROM vgpa_names")


def read_descriptors(database: Path, max_num: int) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    """Name and up to `max_num` descriptors (n, 128) of every image, largest features first, in the order of names."""
    query = """SELECT name, k.rows, k.cols, k.data, d.cols, d.data FROM images
        JOIN keypoints k USING (image_id) JOIN descriptors d USING (image_id) ORDER BY name"""
    with opened(database) as connection:
        for name, rows, cols, points, width, data in connection.execute(query):
            descriptors = np.frombuffer(data or b"", dtype=np.uint8).reshape(rows, width)
            affine = np.frombuffer(points or b"", dtype=np.float32).reshape(rows, cols)[:, 2:]
            # COLMAP keeps a 2x2 shape (or a scale and an angle) beside x and y: its size is the feature's.
            size = np.abs(affine[:, 0] * affine[:, 3] - affine[:, 1] * affine[:, 2]) if cols == 6 else affine[:, 0]
            yield name, descriptors[np.argsort(-size, kind="stable")[:max_num]]


def read_sizes(database: Path) -> dict[str, tuple[int, int]]:
    """Width and height in pixels of every image, by name."""
    query = "SELECT name, width, height FROM images JOIN cameras USING (camera_id)"
    with opened(database) as connection:
        return {name: (width, height) for name, width, height in connection.execute(query)}


def write_keypoints(database: Path, keypoints: Iterable[tuple[str, NDArray[np.floating]]]) -> None:
    """Store keypoints (n, 2) in pixels of named images, which were found elsewhere."""
    with opened(database) as connection:
        id_of = dict(connection.execute("SELECT name, image_id FROM images").fetchall())
        # No settings of ours give these keypoints again: a later extraction must not take them for its own.
        connection.execute("UPDATE vgpa_images SET photo_key = 'imported'")
        for name, xy_px in keypoints:
            row = (id_of[name], len(xy_px), xy_px.astype(np.float32).tobytes())
            connection.execute("INSERT INTO keypoints (image_id, rows, cols, data) VALUES (?, ?, 2, ?)", row)


def write_matches(database: Path, matches: Iterable[tuple[str, str, NDArray[np.integer]]]) -> None:
    """Store matches of pairs of named images: (n, 2) keypoints of the first and of the second, each pair once."""
    with opened(database) as connection:
        id_of = dict(connection.execute("SELECT name, image_id FROM images").fetchall())
        for name_a, name_b, keypoint_idx in matches:
            ordered = keypoint_idx if id_of[name_a] < id_of[name_b] else keypoint_idx[:, ::-1]
            row = (pair_id(id_of[name_a], id_of[name_b]), len(ordered), ordered.astype(np.uint32).tobytes())
            connection.execute("INSERT INTO matches (pair_id, rows, cols, data) VALUES (?, ?, 2, ?)", row)


def read_positions(database: Path) -> dict[str, tuple[float, float, float]]:
    """GPS latitude, longitude (degrees) and altitude (metres) of the images that have them, by name."""
    query = "SELECT name, position FROM pose_priors JOIN images ON corr_data_id = image_id"
    with opened(database) as connection:
        rows = connection.execute(query).fetchall()
    return {name: tuple(np.frombuffer(blob, dtype=np.float64).tolist()) for name, blob in rows}


def pair_id(image_id_a: int, image_id_b: int) -> int:
    """COLMAP's number of a pair of images, in either order."""
    low, high = sorted((image_id_a, image_id_b))
    return low * MAX_NUM_IMAGES + high
