"""Which pairs of photos are worth matching: all, neighbours in looks, in time or in space, or a given list.

Pairs are names (a, b) with a < b, sorted, each once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vgpa.colmap.tables import read_descriptors, read_positions
from vgpa.config import Config
from vgpa.errors import InputError
from vgpa.frontend.retrieval import MAX_NUM_DESCRIPTORS, describe_photos, nearest_pairs

Pair = tuple[str, str]
METHODS = ("auto", "exhaustive", "retrieval", "sequential", "spatial")
NUM_LOOP_NEIGHBOURS = 5
"""Most similar photos that each photo of a sequence is matched with besides its followers, to close loops."""
EARTH_RADIUS_M = 6_371_000.0


def choose_pairs(database: Path, images: Path, names: Sequence[str], config: Config) -> list[Pair]:
    """The pairs to match among the named images of the database, whose features are there and photos in `images`."""
    wanted = config.pairs
    method = wanted.method
    if method == "auto":
        method = "exhaustive" if len(names) <= wanted.max_num_exhaustive else "retrieval"
    if method == "exhaustive":
        return _tidy(combinations(sorted(names), 2))
    if method == "retrieval":
        return _retrieved(database, images, names, config, wanted.top_k)
    if method == "sequential":
        followers = _followers(names, wanted.overlap)
        if len(names) <= wanted.overlap:
            return _tidy(followers)
        return _tidy([*followers, *_retrieved(database, images, names, config, NUM_LOOP_NEIGHBOURS)])
    if method == "spatial":
        return _close_by(database, wanted.top_k)
    return read_pair_file(Path(method), names)


def read_pair_file(path: Path, names: Sequence[str]) -> list[Pair]:
    """Pairs of a text file: two names a line, separated by white space (or a tab, where names hold spaces)."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"The pairs {str(path)!r} are neither a method nor a file that can be read",
            f"Use one of {', '.join(METHODS)}, or a text file with two photo names a line",
        ) from error
    known, pairs = set(names), []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.strip().split("\t") if "\t" in line else line.split()
        if len(parts) != 2 or not known.issuperset(parts):
            raise InputError(
                f"Line {number} of {path} does not name two photos of the folder: {line.strip()!r}",
                "Write two names a line, relative to the folder, with a tab between them if they hold spaces",
            )
        pairs.append((parts[0], parts[1]))
    return _tidy(pairs)


def _retrieved(database: Path, images: Path, names: Sequence[str], config: Config, top_k: int) -> list[Pair]:
    """Each photo with those that look most like it: by MegaLoc if it is given, else by their own features."""
    vectors: NDArray[np.floating]
    if config.pairs.megaloc:
        # Loads torch, which nothing else in the front end needs.
        from vgpa.frontend.megaloc import describe_with_megaloc

        vectors = describe_with_megaloc(images, names, config.pairs.megaloc, config.device)
    else:
        described = dict(read_descriptors(database, MAX_NUM_DESCRIPTORS))
        if len(described) < 2:
            return []
        names, vectors = list(described), describe_photos(list(described.values()), config.seed)
    return _tidy((names[i], names[j]) for i, j in nearest_pairs(vectors, top_k))


def _followers(names: Sequence[str], overlap: int) -> list[Pair]:
    """Each photo with the next ones in the order of file names, where 10 comes after 9."""
    ordered = sorted(names, key=lambda name: [int(t) if t.isdigit() else t for t in re.split(r"(\d+)", name)])
    return [(a, b) for k, a in enumerate(ordered) for b in ordered[k + 1 : k + 1 + overlap]]


def _close_by(database: Path, top_k: int) -> list[Pair]:
    from scipy.spatial import cKDTree  # rarely needed, and slow to import

    positions = read_positions(database)
    if len(positions) < 2:
        raise InputError(
            f"Only {len(positions)} photos know where they were taken",
            "Spatial pairs need GPS in EXIF; use --pairs retrieval instead",
        )
    names = sorted(positions)
    latitude, longitude, _ = np.array([positions[name] for name in names]).T
    up, east = np.radians(latitude), np.radians(longitude)
    place = EARTH_RADIUS_M * np.stack([np.cos(up) * np.cos(east), np.cos(up) * np.sin(east), np.sin(up)], axis=-1)
    _, nearest = cKDTree(place).query(place, k=min(top_k + 1, len(names)))
    return _tidy((names[i], names[j]) for i, row in enumerate(nearest) for j in row if i != j)


def _tidy(pairs: object) -> list[Pair]:
    """Each pair once, its names in order, sorted; a photo is never paired with itself."""
    return sorted({(min(a, b), max(a, b)) for a, b in pairs if a != b})  # type: ignore[attr-defined]
