"""Constructors of the shared types, given arrays of odd shapes, types and contents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from tests.fuzz.mutate import ODD_FLOATS, ODD_INTEGERS, ODD_TEXT
from tests.fuzz.targets import Target, Try
from vgpa.geometry.rigid import Rigid
from vgpa.scene import Camera, ImageSet, Keypoints, Matches, Poses, Problem, Reconstruction, Tracks, ViewGraph

CAMERA = Camera("PINHOLE", 100, 80, np.array([90.0, 90, 50, 40]))
MAX_LENGTH = 4


def _array(random: Random, *shape: int, is_float: bool = False) -> object:
    """Mostly an array of the given shape with small numbers; now and then odd in shape, type or content."""
    wanted = tuple(max(n + random.choice((0,) * 12 + (-1, 1)), 0) for n in shape)
    if random.randint(0, 30) == 0:
        wanted = (*wanted, 1)
    count = int(np.prod(wanted))
    numbers: list[object] = [random.randint(0, MAX_LENGTH) for _ in range(count)]
    if is_float:
        numbers = [random.uniform(-1, 1) for _ in range(count)]
    if count and random.randint(0, 5) == 0:
        numbers[random.randrange(count)] = random.choice((*ODD_FLOATS, *ODD_INTEGERS[:12], "x", None))
    try:
        return np.array(numbers, dtype=random.choice((None, None, None, np.int64, np.float64, object))).reshape(wanted)
    except (ValueError, TypeError, OverflowError):
        return numbers


def _offsets(random: Random, num_items: int) -> object:
    if random.randint(0, 4) == 0:
        return _array(random, random.randint(0, MAX_LENGTH))
    cuts = sorted(random.randint(0, num_items) for _ in range(random.randint(0, MAX_LENGTH)))
    return np.array([0, *cuts, num_items])


def _rigid(random: Random, num: int) -> Rigid:
    quaternion = np.array([[random.gauss(0, 1) for _ in range(4)] for _ in range(num)]).reshape(num, 4)
    quaternion /= np.maximum(np.linalg.norm(quaternion, axis=-1, keepdims=True), 1e-12)
    translation = np.array([[random.gauss(0, 1) for _ in range(3)] for _ in range(num)]).reshape(num, 3)
    if random.randint(0, 3):
        translation /= np.maximum(np.linalg.norm(translation, axis=-1, keepdims=True), 1e-12)
    return Rigid(quaternion, translation)


def _images(random: Random, num: int) -> ImageSet:
    return ImageSet(tuple(f"{k}.jpg" for k in range(num)), np.zeros(num), (CAMERA,), np.arange(1, num + 1))


def _camera(random: Random) -> None:
    size = [random.choice((*ODD_INTEGERS, 640)) for _ in range(2)]
    Camera(random.choice(("PINHOLE", *ODD_TEXT)), size[0], size[1], _array(random, 4, is_float=True))  # type: ignore[arg-type]


def _image_set(random: Random) -> None:
    num = random.randint(0, MAX_LENGTH)
    names = tuple(random.choice((f"{k}.jpg", f"{k}.jpg", *ODD_TEXT)) for k in range(num))
    ids = _array(random, num) if random.randint(0, 1) else np.arange(num)
    ImageSet(names, _array(random, num), (CAMERA,) * random.randint(0, 6), ids)  # type: ignore[arg-type]


def _keypoints(random: Random) -> None:
    num = random.randint(0, MAX_LENGTH)
    Keypoints(_offsets(random, num), _array(random, num, 2, is_float=True))  # type: ignore[arg-type]


def _tracks(random: Random) -> None:
    num = random.randint(0, MAX_LENGTH)
    Tracks(_offsets(random, num), _array(random, num), _array(random, num))  # type: ignore[arg-type]


def _view_graph(random: Random) -> None:
    num_images, num = random.randint(0, 6), random.randint(0, MAX_LENGTH)
    edges = _array(random, 2, num)
    if random.randint(0, 1) and num_images > 1:
        pairs = random.sample([(i, j) for j in range(num_images) for i in range(j)], min(num, num_images - 1))
        edges, num = np.array(pairs).reshape(-1, 2).T, len(pairs)
    motion = _rigid(random, num if random.randint(0, 9) else num + 1)
    counts = [_array(random, num) for _ in range(3)]
    ViewGraph(num_images, edges, motion, *counts)  # type: ignore[arg-type]


def _poses(random: Random) -> None:
    num = random.randint(0, MAX_LENGTH)
    Poses(_rigid(random, num), _array(random, num))  # type: ignore[arg-type]


def _problem(random: Random) -> None:
    num = random.randint(2, 4)
    motion = Rigid(np.tile([1.0, 0, 0, 0], (num - 1, 1)), np.tile([1.0, 0, 0], (num - 1, 1)))
    edges = np.stack([np.zeros(num - 1), np.arange(1, num)])
    graph = ViewGraph(num, edges, motion, np.ones(num - 1), np.ones(num - 1), np.ones(num - 1))  # type: ignore[arg-type]
    keypoints = Keypoints(3 * np.arange(num + 1), np.zeros((3 * num, 2)))
    count = random.randint(0, MAX_LENGTH)
    matches = Matches(_offsets(random, count), _array(random, count, 2))  # type: ignore[arg-type]
    Problem(_images(random, num if random.randint(0, 5) else num - 1), keypoints, graph, matches)


def _reconstruction(random: Random) -> None:
    num, count = random.randint(1, 4), random.randint(0, MAX_LENGTH)
    known = np.array([random.randint(0, 5) > 0 for _ in range(num)])
    poses = Poses(_rigid(random, num), known)
    seen = np.array([random.randint(0, num - 1 + (random.randint(0, 9) == 0)) for _ in range(count)], dtype=np.int64)
    tracks = Tracks(np.arange(count + 1), seen, np.zeros(count))
    Reconstruction(
        _images(random, num),
        poses,
        _array(random, count, 3, is_float=True),  # type: ignore[arg-type]
        tracks,
        _array(random, count, is_float=True),  # type: ignore[arg-type]
        _array(random, count, 3),  # type: ignore[arg-type]
    )


def _rigid_motion(random: Random) -> None:
    num = random.randint(0, MAX_LENGTH)
    Rigid(_floats(random, num, 4), _floats(random, num, 3))


def _floats(random: Random, num: int, width: int) -> NDArray[np.float64]:
    """Rows that are mostly unit vectors, and now and then odd in shape or content."""
    rows = np.zeros((num + (random.randint(0, 9) == 0), width + (random.randint(0, 9) == 0)))
    rows[:, :1] = 1
    if rows.size and random.randint(0, 2) == 0:
        rows.flat[random.randrange(rows.size)] = random.choice(ODD_FLOATS)
    return rows


def _type(name: str, attempt: Callable[[Random], None]) -> Target:
    def prepare(folder: Path) -> Try:
        return attempt

    return Target(f"type {name}", prepare, ValueError)


TYPES = (
    _type("Camera", _camera),
    _type("ImageSet", _image_set),
    _type("Keypoints", _keypoints),
    _type("Tracks", _tracks),
    _type("ViewGraph", _view_graph),
    _type("Poses", _poses),
    _type("Problem and Matches", _problem),
    _type("Reconstruction", _reconstruction),
    _type("Rigid", _rigid_motion),
)
