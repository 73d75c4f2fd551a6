"""The run's own COLMAP database: kept while it is valid, rebuilt around what still is when something changed.

The database holds features, matches and verified pairs in COLMAP's tables; tables of ours say what they
were made from. `sync_store` compares that with what a run wants. If they differ, a new database is made beside
the old one, whatever is still valid is copied over, and the new one takes the old one's place in one step:

    features of an image     valid while its photo, mask and extraction settings are the same
    matches of a pair        valid while both images' features and the matching settings are
    verified pairs           valid while their matches, both cameras and the verification settings are

Images are numbered in the order of their names, whatever the history. pycolmap writes an image's features in
one transaction and pairs in blocks, so a kill at any moment leaves a database that the next run continues from.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pycolmap

from vgpa.colmap.cameras import to_pycolmap
from vgpa.colmap.silence import silenced
from vgpa.colmap.tables import MAX_NUM_IMAGES, opened, pair_id, restore_names
from vgpa.scene import Camera

SCHEMA = """
CREATE TABLE vgpa_images(image_id INTEGER PRIMARY KEY NOT NULL, photo_key TEXT NOT NULL, camera_key TEXT NOT NULL);
CREATE TABLE vgpa_cameras(camera_id INTEGER PRIMARY KEY NOT NULL, focal_source TEXT NOT NULL);
CREATE TABLE vgpa_names(image_id INTEGER PRIMARY KEY NOT NULL, name TEXT NOT NULL);
CREATE TABLE vgpa_settings(name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL);
"""


@dataclass(frozen=True, eq=False)
class StoreImage:
    """An image that the store should hold.

    Attributes:
        name: POSIX path relative to the image folder.
        photo_key: what its features are made from.
        camera_key: what its camera is made from; images with the same key share one camera.
        camera: that camera.
        gps: latitude, longitude (degrees) and altitude (metres) where the photo knows them.
    """

    name: str
    photo_key: str
    camera_key: str
    camera: Camera
    gps: tuple[float, float, float] | None = None


def read_keys(database: Path) -> dict[str, tuple[str, str]]:
    """Photo key and camera key of every image in the store, by name; empty where there is no valid store."""
    if not database.is_file():
        return {}
    try:
        restore_names(database)
        with opened(database) as connection:
            query = "SELECT name, photo_key, camera_key FROM images JOIN vgpa_images USING (image_id)"
            return {name: (photo_key, camera_key) for name, photo_key, camera_key in connection.execute(query)}
    except sqlite3.Error:
        return {}


def read_settings(database: Path) -> dict[str, str]:
    """The settings that the store's contents were made with; empty where there is no valid store."""
    if not database.is_file():
        return {}
    try:
        with opened(database) as connection:
            return dict(connection.execute("SELECT name, value FROM vgpa_settings").fetchall())
    except sqlite3.Error:
        return {}


def sync_store(database: Path, images: Sequence[StoreImage], settings: dict[str, str]) -> None:
    """Make the database hold exactly these images, with everything computed before that is still valid for them.

    Args:
        settings: "matching" and "verification", what matches and verified pairs are made with, and any others; a
            change makes them invalid.
    """
    wanted = {image.name: (image.photo_key, image.camera_key) for image in images}
    if read_keys(database) == wanted and read_settings(database) == settings:
        return
    with replaced(database) as fresh:
        _create(fresh, images, settings)
        if read_keys(database):
            _copy_valid(database, fresh, settings)
            _settle(database)


@contextmanager
def replaced(database: Path) -> Iterator[Path]:
    """A path for a new database, which takes the given one's place when the block has ended well."""
    fresh = database.with_name(database.name + ".new")
    _remove(fresh)
    try:
        yield fresh
        _settle(fresh)
        fresh.replace(database)
    finally:
        _remove(fresh)


def merge_store(database: Path, part: Path) -> None:
    """Copy features, matches and verified pairs of a part into the store, unless they are there, in one transaction.

    Both must hold the same images, and so the same image ids.
    """
    with opened(database) as connection:
        connection.execute("ATTACH DATABASE ? AS part", (str(part),))
        for table in ("keypoints", "descriptors", "matches", "two_view_geometries"):
            connection.execute(f"INSERT OR IGNORE INTO main.{table} SELECT * FROM part.{table}")


def _create(database: Path, images: Sequence[StoreImage], settings: dict[str, str]) -> None:
    """A new database with images, cameras and positions, and nothing computed yet."""
    camera_ids: dict[str, int] = {}
    with silenced():
        handle = pycolmap.Database.open(database)
        with pycolmap.DatabaseTransaction(handle):
            for image in sorted(images, key=lambda image: image.name):
                _write_image(handle, image, camera_ids)
        handle.close()
    source = {image.camera_key: image.camera.focal_source.value for image in images}
    with opened(database) as connection:
        connection.executescript(SCHEMA)
        id_of = dict(connection.execute("SELECT name, image_id FROM images").fetchall())
        rows = [(id_of[image.name], image.photo_key, image.camera_key) for image in images]
        connection.executemany("INSERT INTO vgpa_images VALUES (?, ?, ?)", rows)
        connection.executemany(
            "INSERT INTO vgpa_cameras VALUES (?, ?)", [(camera_ids[k], v) for k, v in source.items()]
        )
        connection.executemany("INSERT INTO vgpa_settings VALUES (?, ?)", settings.items())


def _write_image(handle: pycolmap.Database, image: StoreImage, camera_ids: dict[str, int]) -> None:
    """One image with its frame, and its camera and rig if they are not there yet."""
    if image.camera_key not in camera_ids:
        camera_id = handle.write_camera(to_pycolmap(image.camera, len(camera_ids) + 1))
        rig = pycolmap.Rig(rig_id=camera_id)
        rig.add_ref_sensor(pycolmap.sensor_t(pycolmap.SensorType.CAMERA, camera_id))
        handle.write_rig(rig, use_rig_id=True)
        camera_ids[image.camera_key] = camera_id
    camera_id = camera_ids[image.camera_key]
    image_id = handle.write_image(pycolmap.Image(name=image.name, camera_id=camera_id))
    sensor = pycolmap.sensor_t(pycolmap.SensorType.CAMERA, camera_id)
    frame = pycolmap.Frame(rig_id=camera_id)
    frame.add_data_id(pycolmap.data_t(sensor, image_id))
    handle.write_frame(frame)
    if image.gps is not None:
        prior = pycolmap.PosePrior(position=image.gps, coordinate_system=pycolmap.PosePriorCoordinateSystem.WGS84)
        prior.corr_data_id = pycolmap.data_t(sensor, image_id)
        handle.write_pose_prior(prior)


def _copy_valid(old: Path, fresh: Path, settings: dict[str, str]) -> None:
    """Copy from the old database what is still valid in the new one; image ids are translated by name."""
    before = read_settings(old)
    with opened(fresh) as connection:
        connection.execute("ATTACH DATABASE ? AS old", (str(old),))
        same_photo = _same(connection, "photo_key")
        same_camera = _same(connection, "camera_key")
        for table, columns in (("keypoints", "rows, cols, data"), ("descriptors", "type, rows, cols, data")):
            for old_id, new_id in same_photo.items():
                selected = f"SELECT ?, {columns} FROM old.{table} WHERE image_id = ?"
                connection.execute(f"INSERT INTO {table} (image_id, {columns}) {selected}", (new_id, old_id))
        if before.get("matching") == settings["matching"]:
            _copy_pairs(connection, "matches", same_photo)
            if before.get("verification") == settings["verification"]:
                both = {a: b for a, b in same_photo.items() if a in same_camera}
                _copy_pairs(connection, "two_view_geometries", both)


def _same(connection: sqlite3.Connection, key: str) -> dict[int, int]:
    """Old image id to new image id, for images of the same name whose key has not changed."""
    query = f"""
        SELECT o.image_id, n.image_id FROM old.images o JOIN old.vgpa_images ok ON ok.image_id = o.image_id
        JOIN main.images n ON n.name = o.name JOIN main.vgpa_images nk ON nk.image_id = n.image_id
        WHERE ok.{key} = nk.{key}"""
    return dict(connection.execute(query).fetchall())


def _copy_pairs(connection: sqlite3.Connection, table: str, new_id_of: dict[int, int]) -> None:
    """Copy rows of pairs whose images both survive. Names keep their order, so the first image stays the first."""
    columns = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})") if row[1] != "pair_id"]
    listed = ", ".join(columns)
    for (old_pair,) in connection.execute(f"SELECT pair_id FROM old.{table}").fetchall():
        a, b = divmod(old_pair, MAX_NUM_IMAGES)
        if a in new_id_of and b in new_id_of:
            connection.execute(
                f"INSERT INTO {table} (pair_id, {listed}) SELECT ?, {listed} FROM old.{table} WHERE pair_id = ?",
                (pair_id(new_id_of[a], new_id_of[b]), old_pair),
            )


def _settle(database: Path) -> None:
    """Write the log back into the database file, so that the file can be moved alone."""
    with opened(database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _remove(database: Path) -> None:
    """Delete a database with its side files, the log first: a log without its database harms nobody."""
    for suffix in ("-wal", "-shm", ""):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
