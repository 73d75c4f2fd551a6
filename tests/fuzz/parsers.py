"""Everything that reads a file or a text of the user's, given damaged ones.

Files are damaged byte by byte; where checksums or formats catch most of that, their contents are damaged as well.
"""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import numpy as np
import pycolmap

from tests.fuzz.mutate import ODD_FLOATS, ODD_INTEGERS, ODD_TEXT, mutate, odd_value
from tests.fuzz.targets import Target, Try
from tests.hostile.originals import make_database, make_hloc_files, make_photo, make_picture, make_tracks, make_weights
from tests.hostile.photo_files import SUFFIX_OF, encode
from vgpa import config as presets
from vgpa.colmap.cameras import check_params
from vgpa.colmap.database import read_problem
from vgpa.colmap.model import read_model
from vgpa.colmap.silence import silenced
from vgpa.errors import InputError, VgpaError
from vgpa.frontend.cameras import read_facts
from vgpa.frontend.hloc import import_hloc
from vgpa.frontend.pairs import read_pair_file
from vgpa.frontend.photos import find_problem
from vgpa.frontend.resfm import read_resfm
from vgpa.frontend.shards import parse_shard
from vgpa.network.files import read_weights

PHOTO_SIZE_PX = (48, 40)


def _read_photo(path: Path) -> None:
    """Everything that happens to a photo on its way to features; pycolmap decodes it whole."""
    with silenced():
        problem = find_problem(path)
        if problem is not None:
            raise InputError(problem, "")
        read_facts(path, "SIMPLE_RADIAL")
        pycolmap.Bitmap.read(path, as_rgb=False)


def _damaged(path: Path, read: Callable[[Path], object]) -> Try:
    """Tries of a reader on the bytes of a file."""
    whole = path.read_bytes()

    def attempt(random: Random) -> None:
        path.write_bytes(mutate(random, whole))
        read(path)

    return attempt


def _photos(form: str) -> Target:
    def prepare(folder: Path) -> Try:
        path = folder / f"photo{SUFFIX_OF[form]}"
        picture = make_picture(PHOTO_SIZE_PX)
        path.write_bytes(make_photo(picture) if form == "JPEG" else encode(picture, form))
        return _damaged(path, _read_photo)

    return Target(f"photo {form}", prepare, VgpaError)


def _exif(folder: Path) -> Try:
    """The EXIF block of a JPEG alone."""
    path, whole = folder / "photo.jpg", make_photo(make_picture(PHOTO_SIZE_PX))
    start = whole.index(b"Exif\0\0")
    end = start - 2 + int.from_bytes(whole[start - 2 : start], "big")

    def attempt(random: Random) -> None:
        block = whole[start : start + 6] + mutate(random, whole[start + 6 : end])[:60_000]
        length = (len(block) + 2).to_bytes(2, "big")
        path.write_bytes(whole[: start - 2] + length + block + whole[end:])
        _read_photo(path)

    return attempt


def _database_bytes(folder: Path) -> Try:
    make_database(folder / "database.db", num_images=3)
    return _damaged(folder / "database.db", read_problem)


CELLS = {
    "cameras": ("camera_id", "model", "width", "height", "params", "prior_focal_length"),
    "images": ("image_id", "name", "camera_id"),
    "keypoints": ("image_id", "rows", "cols", "data"),
    "matches": ("pair_id", "rows", "cols", "data"),
    "two_view_geometries": ("pair_id", "rows", "cols", "data", "config", "F", "E", "H", "qvec", "tvec"),
}


def _database_cells(folder: Path) -> Try:
    """Odd values in the cells of a database that is a healthy file."""
    make_database(folder / "whole.db", num_images=3)
    whole, path = (folder / "whole.db").read_bytes(), folder / "database.db"

    def attempt(random: Random) -> None:
        path.write_bytes(whole)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            for _ in range(random.randint(1, 3)):
                table = random.choice(list(CELLS))
                _spoil_cell(random, connection, table, random.choice(CELLS[table]))
            connection.commit()
        read_problem(path)

    return attempt


def _spoil_cell(random: Random, connection: sqlite3.Connection, table: str, column: str) -> None:
    rowid, value = random.choice(connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall() or [(0, None)])
    spoilt = mutate(random, value) if isinstance(value, bytes) and random.randint(0, 2) else odd_value(random)
    try:
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (spoilt, rowid))
    except (sqlite3.Error, OverflowError, UnicodeEncodeError):
        return


def _tracks_bytes(folder: Path) -> Try:
    np.savez(folder / "scene.npz", **make_tracks())
    return _damaged(folder / "scene.npz", read_resfm)


def _tracks_arrays(folder: Path) -> Try:
    """Odd arrays in an archive that is healthy."""
    whole, path = make_tracks(), folder / "scene.npz"

    def attempt(random: Random) -> None:
        arrays = dict(whole)
        name = random.choice(list(arrays))
        arrays[name] = _odd_array(random, arrays[name])
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        path.write_bytes(buffer.getvalue())
        read_resfm(path, QUICK)

    return attempt


def _odd_array(random: Random, array: np.ndarray) -> np.ndarray:
    """The same array with an odd number in it, another type or another shape."""
    array = array.copy()
    change = random.randint(0, 4)
    if change == 0 and array.dtype.kind == "f":
        array.flat[random.randrange(array.size)] = random.choice((*ODD_FLOATS, *ODD_INTEGERS))
    elif change == 1:
        array = array[: random.randint(0, len(array))]
    elif change == 2 and array.dtype.kind == "f":
        with np.errstate(all="ignore"):
            array = array.astype(random.choice(("f2", "f4", "i1", "u8", "c8", "?", ">f8")))
    elif change == 3:
        array = array.reshape(random.choice(((-1,), (1, -1), (*array.shape, 1))))
    elif array.dtype.kind == "U":
        array = array.astype("U300")
        array[random.randrange(len(array))] = random.choice(ODD_TEXT)
    return array


def _hloc(which: int) -> Target:
    """hloc's features (0) or matches (1), the other file being healthy."""

    def prepare(folder: Path) -> Try:
        (folder / "photos").mkdir()
        names = ("a.png", "b.png")
        for name in names:
            (folder / "photos" / name).write_bytes(encode(make_picture(PHOTO_SIZE_PX), "PNG"))
        files = make_hloc_files(folder, names, PHOTO_SIZE_PX)

        def read(path: Path) -> None:
            (folder / "out.db").unlink(missing_ok=True)
            import_hloc(*files, folder / "photos", folder / "out.db", QUICK)

        return _damaged(files[which], read)

    return Target(f"hloc {('features', 'matches')[which]}", prepare, VgpaError)


def _weights(folder: Path) -> Try:
    return _damaged(make_weights(folder), read_weights)


def _model(is_text: bool) -> Target:
    """One file of a COLMAP model, the others being healthy."""

    def prepare(folder: Path) -> Try:
        make_database(folder / "database.db", folder / "model", num_images=3)
        if is_text:
            with silenced():
                pycolmap.Reconstruction(folder / "model").write_text(folder / "model")
            for path in (folder / "model").glob("*.bin"):
                path.unlink()
        whole = {path: path.read_bytes() for path in sorted((folder / "model").iterdir())}

        def attempt(random: Random) -> None:
            path = random.choice(list(whole))
            path.write_bytes(mutate(random, whole[path]))
            try:
                read_model(folder / "model")
            finally:
                path.write_bytes(whole[path])

        return attempt

    return Target(f"COLMAP model {'text' if is_text else 'binary'}", prepare, VgpaError)


def _pair_file(folder: Path) -> Try:
    path = folder / "pairs.txt"
    path.write_text("a.jpg b.jpg\n# comment\n\nb.jpg\tc d.jpg\n", encoding="utf-8")
    return _damaged(path, lambda path: read_pair_file(path, ("a.jpg", "b.jpg", "c d.jpg")))


def _texts(*fragments: str) -> Callable[[Random], str]:
    def draw(random: Random) -> str:
        return "".join(random.choice((*fragments, *ODD_TEXT)) for _ in range(random.randint(0, 6)))

    return draw


def _shard(folder: Path) -> Try:
    draw = _texts("1", "2", "/", "/", "0", "²", "-")
    return lambda random: (parse_shard(draw(random)), None)[1]


def _camera_params(folder: Path) -> Try:
    draw = _texts("1", "2.5", ",", ",", ",", "-", "e", "inf", "0x")
    models = ("PINHOLE", "SIMPLE_RADIAL", "OPENCV", *ODD_TEXT)
    return lambda random: check_params(random.choice(models), draw(random))


QUICK = presets.fast()
PARSERS = (
    *(_photos(form) for form in SUFFIX_OF),
    Target("EXIF", _exif, VgpaError),
    Target("database bytes", _database_bytes, VgpaError),
    Target("database cells", _database_cells, VgpaError),
    Target("tracks (npz) bytes", _tracks_bytes, VgpaError),
    Target("tracks (npz) arrays", _tracks_arrays, VgpaError),
    _hloc(0),
    _hloc(1),
    Target("weights (safetensors)", _weights, VgpaError),
    _model(is_text=False),
    _model(is_text=True),
    Target("list of pairs", _pair_file, VgpaError),
    Target("shard", _shard, VgpaError),
    Target("camera parameters", _camera_params, VgpaError),
)
