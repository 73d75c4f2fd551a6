"""Choosing pairs: neighbours in looks find true neighbours, sequences close their loops, lists are read strictly."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vgpa import config as presets
from vgpa.colmap.store import StoreImage, sync_store
from vgpa.config import PairConfig
from vgpa.errors import InputError
from vgpa.frontend.pairs import choose_pairs, read_pair_file
from vgpa.frontend.retrieval import describe_photos, nearest_pairs
from vgpa.scene import Camera

NAMES = [f"photo{k}.jpg" for k in range(1, 13)]
CAMERA = Camera("PINHOLE", 100, 100, np.array([100.0, 100, 50, 50]))


def walk_descriptors(num: int, seed: int = 0) -> list[np.ndarray]:
    """Photos of a long wall of features: each sees a window of it, and shares half with the next."""
    rng = np.random.default_rng(seed)
    wall = rng.integers(0, 120, (40 * (num + 1), 128))
    noise = rng.integers(0, 10, (num, 80, 128))
    return [(wall[40 * k : 40 * k + 80] + noise[k]).astype(np.uint8) for k in range(num)]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A store of twelve photos along a wall, with GPS one metre apart."""
    path = tmp_path / "database.db"
    images = [StoreImage(name, "p", "c", CAMERA, (48.0, 11.0 + 1e-5 * k, 500.0)) for k, name in enumerate(NAMES)]
    sync_store(path, images, {"matching": "m", "verification": "v"})
    with closing(sqlite3.connect(path)) as connection, connection:
        for name, part in zip(NAMES, walk_descriptors(len(NAMES)), strict=True):
            (image_id,) = connection.execute("SELECT image_id FROM images WHERE name = ?", (name,)).fetchone()
            keypoints = np.random.default_rng(1).uniform(1, 90, (len(part), 4)).astype(np.float32)
            connection.execute("INSERT INTO keypoints VALUES (?, ?, 4, ?)", (image_id, len(part), keypoints.tobytes()))
            connection.execute(
                "INSERT INTO descriptors VALUES (?, 0, ?, 128, ?)", (image_id, len(part), part.tobytes())
            )
    return path


def neighbours(reach: int) -> set[tuple[str, str]]:
    return {tuple(sorted((a, b))) for k, a in enumerate(NAMES) for b in NAMES[k + 1 : k + 1 + reach]}


def chosen(database: Path, **settings: object) -> set[tuple[str, str]]:
    config = replace(presets.default(), pairs=PairConfig(**settings))
    return set(choose_pairs(database, database.parent, NAMES, config))


def test_exhaustive_is_every_pair_once(database: Path) -> None:
    assert len(chosen(database, method="exhaustive")) == 66


def test_retrieval_finds_overlapping_photos(database: Path) -> None:
    assert neighbours(1) <= chosen(database, method="retrieval", top_k=3)
    assert len(chosen(database, method="retrieval", top_k=3)) <= 36


def test_auto_retrieves_beyond_a_size(database: Path) -> None:
    assert chosen(database, method="auto") == chosen(database, method="exhaustive")
    assert chosen(database, method="auto", max_num_exhaustive=10, top_k=3) == chosen(
        database, method="retrieval", top_k=3
    )


def test_sequence_counts_like_people_and_adds_look_alikes(database: Path) -> None:
    pairs = chosen(database, method="sequential", overlap=2)
    assert neighbours(2) <= pairs
    assert pairs - neighbours(2), "no pair besides the followers could close a loop"


def test_spatial_is_the_nearest_in_space(database: Path) -> None:
    pairs = chosen(database, method="spatial", top_k=2)
    assert neighbours(1) <= pairs <= neighbours(2)


def test_spatial_without_gps_says_so(tmp_path: Path) -> None:
    path = tmp_path / "database.db"
    sync_store(path, [StoreImage(name, "p", "c", CAMERA) for name in NAMES], {"matching": "m", "verification": "v"})
    with pytest.raises(InputError, match="know where they were taken"):
        chosen(path, method="spatial")


def test_pair_files_are_read_in_any_order_and_once(tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text("# list\nphoto2.jpg photo1.jpg\nphoto1.jpg photo2.jpg\n\nphoto3.jpg\tphoto1.jpg\n")
    assert read_pair_file(path, NAMES) == [("photo1.jpg", "photo2.jpg"), ("photo1.jpg", "photo3.jpg")]


@pytest.mark.parametrize("line", ["photo1.jpg", "photo1.jpg nobody.jpg", "photo1.jpg photo2.jpg photo3.jpg"])
def test_a_bad_line_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text(f"photo1.jpg photo2.jpg\n{line}\n")
    with pytest.raises(InputError, match="Line 2"):
        read_pair_file(path, NAMES)


def test_an_unknown_method_says_what_there_is(database: Path) -> None:
    with pytest.raises(InputError, match="exhaustive, retrieval"):
        chosen(database, method="nonsense")


def test_retrieval_is_repeatable_and_survives_empty_photos() -> None:
    parts = [*walk_descriptors(8), np.zeros((0, 128), dtype=np.uint8)]
    first, second = (describe_photos(parts, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert np.isfinite(first).all()
    assert all(i < j for i, j in nearest_pairs(first, 2))
