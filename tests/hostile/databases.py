"""Hostile COLMAP databases: damaged files, and healthy files with impossible contents."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from tests.hostile.corpus import End, Hostile
from tests.hostile.originals import make_database

NAN, INF = np.array([np.nan]).tobytes().hex(), np.array([np.inf]).tobytes().hex()
SPOILT = {
    "keypoints of a wrong length": "UPDATE keypoints SET data = x'0011' WHERE image_id = 1",
    "keypoints without data": "UPDATE keypoints SET data = NULL",
    "keypoints that are not finite": "UPDATE keypoints SET data = zeroblob(length(data) - 4) || x'0000c07f'",
    "keypoints of 3 columns": "UPDATE keypoints SET cols = 3",
    "keypoints of -1 rows": "UPDATE keypoints SET rows = -1",
    "keypoints in text": "UPDATE keypoints SET data = 'keypoints'",
    "keypoints of no image": "UPDATE keypoints SET image_id = 77 WHERE image_id = 2",
    "millions of keypoints claimed": "UPDATE keypoints SET rows = 400000000",
    "matches of a wrong length": "UPDATE two_view_geometries SET data = x'001122'",
    "matches to missing keypoints": "UPDATE keypoints SET rows = 1, data = substr(data, 1, 4 * cols)",
    "millions of matches claimed": "UPDATE two_view_geometries SET rows = 4000000000",
    "more matches claimed than fit": "UPDATE two_view_geometries SET rows = 9223372036854775807",
    "rows in text": "UPDATE two_view_geometries SET rows = 'many'",
    "a pair of missing images": "DELETE FROM images WHERE image_id = 2",
    "a pair of an image with itself": "UPDATE two_view_geometries SET pair_id = 2147483647 + 1 WHERE rowid IN "
    "(SELECT rowid FROM two_view_geometries LIMIT 1)",
    "a negative pair": "UPDATE two_view_geometries SET pair_id = -5 WHERE rowid IN "
    "(SELECT rowid FROM two_view_geometries LIMIT 1)",
    "an image without its camera": "UPDATE images SET camera_id = 77",
    "an unknown camera model": "UPDATE cameras SET model = 999",
    "a camera model in text": "UPDATE cameras SET model = 'PINHOLE'",
    "a camera of no size": "UPDATE cameras SET width = 0",
    "a camera of a negative size": "UPDATE cameras SET height = -480",
    "a camera of an absurd size": "UPDATE cameras SET width = 9223372036854775807",
    "a camera size in text": "UPDATE cameras SET width = 'wide'",
    "too few camera parameters": "UPDATE cameras SET params = zeroblob(8)",
    "no camera parameters": "UPDATE cameras SET params = NULL",
    "camera parameters that are NaN": f"UPDATE cameras SET params = x'{NAN}' || substr(params, 9)",
    "camera parameters that are infinite": f"UPDATE cameras SET params = x'{INF}' || substr(params, 9)",
    "a rotation that is NaN": f"UPDATE two_view_geometries SET qvec = x'{NAN}' || substr(qvec, 9)",
    "a translation that is infinite": f"UPDATE two_view_geometries SET tvec = x'{INF}' || substr(tvec, 9)",
    "a rotation of three numbers": "UPDATE two_view_geometries SET qvec = substr(qvec, 1, 24)",
    "a fundamental matrix of eight numbers": "UPDATE two_view_geometries SET F = zeroblob(64)",
    "no cameras": "DELETE FROM cameras",
    "tables missing": "DROP TABLE two_view_geometries",
    "columns missing": "ALTER TABLE cameras DROP COLUMN params",
    "a view in place of a table": "DROP TABLE matches; CREATE VIEW matches AS SELECT * FROM matches",
}
"""SQL that makes a database impossible to use."""
ODD = {
    "no images": "DELETE FROM two_view_geometries; DELETE FROM matches; DELETE FROM keypoints; DELETE FROM images",
    "no pairs": "DELETE FROM two_view_geometries",
    "no keypoints": "DELETE FROM keypoints; DELETE FROM two_view_geometries",
    "rotations of zero": "UPDATE two_view_geometries SET qvec = zeroblob(32)",
    "matrices of zero": "UPDATE two_view_geometries SET qvec = NULL, tvec = NULL, F = zeroblob(72), E = zeroblob(72)",
    "translations of zero": "UPDATE two_view_geometries SET tvec = zeroblob(24)",
    "an unknown pair configuration": "UPDATE two_view_geometries SET config = 99",
    "focal lengths of zero": "UPDATE cameras SET params = zeroblob(8) || substr(params, 9)",
    "names that leave the folder": "UPDATE images SET name = '../../../etc/' || name",
    "absolute names": "UPDATE images SET name = '/etc/passwd' || image_id",
    "names with HTML": "UPDATE images SET name = '<img src=x onerror=alert(1)>' || image_id",
    "names that are numbers": "UPDATE images SET name = 7 * image_id",
    "names that are no text": "UPDATE images SET name = CAST(x'ff' || image_id AS TEXT)",
    "a newer version": "PRAGMA user_version = 99999; ALTER TABLE images ADD COLUMN future TEXT; "
    "CREATE TABLE future (x); ALTER TABLE two_view_geometries ADD COLUMN future BLOB",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON images BEGIN DELETE FROM cameras; END",
}
"""SQL that makes a database strange; what comes of it depends."""


def make_databases(folder: Path) -> list[Hostile]:
    """Write every hostile database into the folder."""
    folder.mkdir(parents=True)
    original = folder.parent / "original.db"
    make_database(original)
    made = []
    for kind, sql in (SPOILT | ODD).items():
        path = folder / f"{kind.replace(' ', '_')}.db"
        shutil.copyfile(original, path)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA foreign_keys = OFF")
            connection.executescript(sql)
        end = End.REFUSED if kind in SPOILT else End.EITHER
        made.append(Hostile("impossible contents" if kind in SPOILT else "odd contents", path, end))
    return [*made, *_damaged(folder, original.read_bytes())]


def _damaged(folder: Path, whole: bytes) -> list[Hostile]:
    rng = np.random.default_rng(0)
    files = {
        "empty.db": b"",
        "text.db": b"this is no database",
        "header.db": whole[:100],
        "magic.db": b"SQLite format 3\0" + bytes(100),
        "noise.db": rng.bytes(len(whole)),
        "noise-behind-header.db": whole[:100] + rng.bytes(len(whole) - 100),
        "zeros-behind-header.db": whole[:100] + bytes(len(whole) - 100),
        "page-size-zero.db": whole[:16] + b"\0\0" + whole[18:],
        **{f"first-{percent}.db": whole[: len(whole) * percent // 100] for percent in (10, 50, 90)},
        **{f"first-page-twice-{k}.db": whole[: 4096 * k] + whole[:4096] + whole[4096 * (k + 1) :] for k in (1, 4, 9)},
    }
    made = []
    for name, content in files.items():
        (folder / name).write_bytes(content)
        made.append(Hostile("damaged database", folder / name, End.EITHER if "twice" in name else End.REFUSED))
    (folder / "folder.db").mkdir()
    (folder / "loop.db").symlink_to("loop.db")
    os.mkfifo(folder / "pipe.db")
    special = [folder / name for name in ("folder.db", "loop.db", "pipe.db", "missing.db")]
    return [*made, *(Hostile("no database file", path, End.REFUSED) for path in special)]
