"""Features and matches of hloc, imported into a database of our own and verified there.

hloc keeps two HDF5 files: one with a group per photo (`keypoints`), one with a group per pair (`matches0`: for every
keypoint of the first photo its match in the second, or -1). Three of its habits would spoil a result in silence:

    pixels      hloc counts from the centre of the first pixel, COLMAP and we from its corner: half a pixel is added
    float16     keypoints are often stored in half precision, which is whole pixels beyond 1024: the user is told
    int16       matches are stored in 16 bits, which overflow beyond keypoint 32767: refused

The files may come from anywhere, so sizes are checked before anything is read, and names must be those of photos in
the folder.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vgpa.colmap.cameras import check_params
from vgpa.colmap.extraction import verify_matches
from vgpa.colmap.store import replaced
from vgpa.colmap.tables import read_sizes, write_keypoints, write_matches
from vgpa.config import Config
from vgpa.errors import InputError, faults_explained
from vgpa.frontend.photos import list_photos
from vgpa.frontend.register import register_photos

if TYPE_CHECKING:
    import h5py

HALF_PIXEL = 0.5
MAX_NUM_KEYPOINTS = 2**24
"""Keypoints of one photo beyond which a file is broken or hostile: a photo hardly has that many pixels."""
MAX_HALF_SIDE_PX = 1024
"""Half precision keeps fractions of pixels up to here."""
SIZE_TOLERANCE = 1e-3
"""Relative difference of sizes that half precision explains."""
SAME_RUN = "Give features and matches of the same hloc run, features first"


@faults_explained()
def import_hloc(features: Path, matches: Path, images: Path, database: Path, config: Config) -> list[str]:
    """Make a database with cameras, keypoints and verified pairs from hloc's files.

    Args:
        features, matches: hloc's HDF5 files, with pairs named in its new (a/b) or old (a_b) way.
        images: the folder of the photos that the features were extracted from.
        database: where the database is made; there must be nothing yet.

    Returns:
        Sentences that the user should see.
    """
    check_params(config.features.camera_model, config.features.camera_params)
    if database.exists():
        raise InputError(f"{database} exists already", "Give another path with -o, or delete it first")
    photos = list_photos(images)
    with _opened(features) as feature_file, _opened(matches) as match_file:
        names = _list_groups(feature_file, "keypoints")
        _require_photos(names, photos, features, images)
        pairs = _list_pairs(match_file, names)
        with replaced(database) as fresh:
            unreadable = register_photos(images, fresh, config)
            _require_photos(names, [name for name in photos if name not in unreadable], features, images)
            sizes = read_sizes(fresh)
            write_keypoints(fresh, ((name, _read_keypoints(feature_file, name, sizes[name])) for name in names))
            write_matches(fresh, ((a, b, _read_matches(match_file, key, feature_file, (a, b))) for key, a, b in pairs))
            verify_matches(fresh, config.matching, config.seed, config.num_threads)
        notes = [f"{name!r} cannot be read and is left out: {reason}" for name, reason in unreadable.items()]
        return [*notes, *_rounding_note(feature_file, {name: sizes[name] for name in names})]


@contextmanager
def _opened(path: Path) -> Iterator[h5py.File]:
    import h5py

    if not path.is_file():
        raise InputError(f"There is no file at {path}", "Give hloc's features.h5 and matches.h5")
    with _reading(path):
        file = h5py.File(path, "r")
    with file:
        yield file


@contextmanager
def _reading(path: Path | str) -> Iterator[None]:
    """Whatever h5py raises on a broken file becomes a sentence for the user."""
    try:
        yield
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise InputError(
            f"{path} cannot be read as a file of hloc ({str(error).splitlines()[0]})",
            "Check that the file is complete, or make it again",
        ) from error


def _list_groups(file: h5py.File, leaf: str) -> list[str]:
    """Paths of the groups that hold a dataset of the given name, sorted; links out of the file are not followed."""
    groups: list[str] = []

    def visit(path: str, item: h5py.Dataset | h5py.Group) -> None:
        if path.endswith(f"/{leaf}") and hasattr(item, "dtype"):
            groups.append(path.removesuffix(f"/{leaf}"))

    with _reading(file.filename):
        file.visititems(visit)
    if not groups:
        raise InputError(f"{file.filename} holds no {leaf!r}", SAME_RUN)
    return sorted(groups)


def _require_photos(names: Sequence[str], photos: Sequence[str], features: Path, images: Path) -> None:
    strangers = sorted(set(names) - set(photos))
    if strangers:
        raise InputError(
            f"{features} holds keypoints of {strangers[0]!r}, which is not a readable photo below {images}",
            "Give the folder that the features were extracted from",
        )


def _list_pairs(file: h5py.File, names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Group and two photos of every pair; of a pair that is there twice (hloc allows both orders), the first."""
    named: dict[str, list[str]] = defaultdict(list)
    for name in names:
        named[name.replace("/", "-")].append(name)
    pairs: dict[frozenset[str], tuple[str, str, str]] = {}
    for key in _list_groups(file, "matches0"):
        candidates = [
            (a, b) for flat_a, flat_b in _split_key(key) for a in named.get(flat_a, ()) for b in named.get(flat_b, ())
        ]
        if len(candidates) != 1 or candidates[0][0] == candidates[0][1]:
            meant = (
                "could mean several pairs of photos" if len(candidates) > 1 else "names no two photos with keypoints"
            )
            raise InputError(f"The pair {key!r} of {file.filename} {meant}", SAME_RUN)
        pairs.setdefault(frozenset(candidates[0]), (key, *candidates[0]))
    return list(pairs.values())


def _split_key(key: str) -> Iterator[tuple[str, str]]:
    """The ways to cut a pair's key in two: at its slash, or, in hloc's old layout, at any of its underscores."""
    separator = "/" if "/" in key else "_"
    parts = key.split(separator)
    for k in range(1, len(parts)):
        yield separator.join(parts[:k]), separator.join(parts[k:])


def _read_keypoints(file: h5py.File, name: str, size_px: tuple[int, int]) -> NDArray[np.float64]:
    """(n, 2) keypoints of a photo in our convention."""
    with _reading(file.filename):
        group = file[name]
        dataset = group["keypoints"]
        _check_dataset(dataset, "fiu", (None, 2))
        xy = dataset[()]
        if not np.isfinite(xy).all():
            raise ValueError(f"keypoints of {name!r} are not finite")
        xy_px = xy.astype(np.float64) + HALF_PIXEL
        if (np.abs(xy_px) > 2 * max(size_px)).any():
            raise ValueError(f"keypoints of {name!r} lie far outside of it")
        if "image_size" in group:
            _check_dataset(group["image_size"], "fiu", (2,))
            extracted = group["image_size"][()].astype(np.float64)
            if not (np.abs(extracted - size_px) <= SIZE_TOLERANCE * np.array(size_px)).all():
                raise ValueError(f"{name!r} is {size_px[0]} x {size_px[1]} pixels, its features say {extracted}")
    return xy_px


def _read_matches(file: h5py.File, key: str, features: h5py.File, pair: tuple[str, str]) -> NDArray[np.int64]:
    """(n, 2) matched keypoints of the pair's first and second photo."""
    num_a, num_b = (features[name]["keypoints"].shape[0] for name in pair)
    with _reading(file.filename):
        dataset = file[key]["matches0"]
        _check_dataset(dataset, "iu", (num_a,))
        second = dataset[()].astype(np.int64)
    num_bits = 8 * dataset.dtype.itemsize
    lowest, highest = second.min(initial=-1), second.max(initial=-1)
    if lowest < -1 or num_b > 2**num_bits:
        raise InputError(
            f"The matches of {key!r} in {file.filename} are {num_bits}-bit numbers that overflowed ({num_b} keypoints)",
            "Match again with 32-bit numbers, or with fewer keypoints a photo",
        )
    if highest >= num_b:
        raise InputError(
            f"The pair {key!r} of {file.filename} matches keypoint {highest}, but {pair[1]!r} has only {num_b}",
            SAME_RUN,
        )
    first = np.flatnonzero(second >= 0)
    return np.stack([first, second[first]], axis=-1)


def _check_dataset(dataset: h5py.Dataset, kinds: str, shape: tuple[int | None, ...]) -> None:
    """Raise unless a dataset holds numbers of the given kinds in the given shape (None: any sane length)."""
    found: tuple[int, ...] = dataset.shape or ()
    if len(found) != len(shape) or any(b is not None and a != b for a, b in zip(found, shape, strict=True)):
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise ValueError(f"{dataset.name!r} should have shape ({wanted}), but has {found}")
    if dataset.dtype.kind not in kinds:
        raise ValueError(f"{dataset.name!r} holds {dataset.dtype}, not numbers")
    if found[0] > MAX_NUM_KEYPOINTS:
        raise ValueError(f"{dataset.name!r} claims {found[0]} entries")


def _rounding_note(file: h5py.File, sizes: dict[str, tuple[int, int]]) -> list[str]:
    """What to tell a user whose keypoints were rounded to whole pixels when they were stored."""
    rounded = [
        name
        for name, size_px in sizes.items()
        if max(size_px) > MAX_HALF_SIDE_PX and file[name]["keypoints"].dtype == np.float16
    ]
    if not rounded:
        return []
    return [
        f"{len(rounded)} photos have keypoints in half precision, which rounds them to whole pixels beyond "
        f"{MAX_HALF_SIDE_PX}; extract them with as_half=False for full accuracy"
    ]
