"""Readers of datasets, of training data and of tables of positions, given damaged files."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import torch

from tests.datasets.layouts import LAYOUTS, Layout, make_truth
from tests.fuzz.mutate import ODD_FLOATS, mutate
from tests.fuzz.targets import Target, Try
from vgpa.datasets import dataset
from vgpa.errors import VgpaError
from vgpa.frontend.gps import read_gps_table
from vgpa.train.cameras import CameraSet, load_cameras
from vgpa.train.real import load_view_graph

PHOTO_SUFFIXES = (".jpg", ".png")


def _dataset(layout: Layout) -> Target:
    """One file of a scene in a dataset's layout, the others being healthy; photos are left alone."""

    def prepare(folder: Path) -> Try:
        layout.write(folder, make_truth())
        files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix not in PHOTO_SUFFIXES)
        whole = {path: path.read_bytes() for path in files}

        def attempt(random: Random) -> None:
            path = random.choice(files)
            path.write_bytes(mutate(random, whole[path]))
            try:
                dataset(layout.dataset).load_scene(folder, layout.scene)
            finally:
                path.write_bytes(whole[path])

        return attempt

    return Target(f"dataset {layout.dataset}, {layout.scene}", prepare, VgpaError)


def _archive(arrays: dict[str, np.ndarray], read: Callable[[Path], object]) -> Callable[[Path], Try]:
    """An npz with odd numbers and odd shapes in its arrays, or with damaged bytes."""

    def prepare(folder: Path) -> Try:
        def attempt(random: Random) -> None:
            # Some readers remember files by their path.
            path = folder / f"{random.getrandbits(60)}.npz"
            spoilt = dict(arrays)
            name = random.choice(list(spoilt))
            array = spoilt[name].copy()
            if random.randint(0, 1):
                array.flat[random.randrange(array.size)] = random.choice(ODD_FLOATS)
            else:
                array = array[random.randint(0, 2) :]
            spoilt[name] = array
            buffer = io.BytesIO()
            np.savez(buffer, **spoilt)
            content = buffer.getvalue()
            path.write_bytes(mutate(random, content) if random.randint(0, 1) else content)
            try:
                read(path)
            finally:
                path.unlink()

        return attempt

    return prepare


def _load_cameras(path: Path) -> CameraSet:
    return load_cameras((path,), torch.device("cpu"))


def _cameras() -> dict[str, np.ndarray]:
    cams = make_truth().cam_from_world.matrix
    pose = np.concatenate([cams, np.tile([[[0.0, 0, 0, 1]]], (len(cams), 1, 1))], axis=1)
    calibration = np.tile(np.array([[800.0, 0, 500], [0, 800, 400], [0, 0, 1]]), (len(cams), 1, 1))
    pairs = np.array([(i, j) for j in range(len(cams)) for i in range(j)], dtype=np.float64)
    return {"T_w2c": pose, "K": calibration, "pairs": pairs, "overlap": np.full(len(pairs), 0.5)}


def _gps_table(folder: Path) -> Try:
    path = folder / "gps.csv"
    whole = b"name,lat,lon,alt\na.jpg,48.1,11.5,500\nb.jpg,48.2,11.6,510.5\n"

    def attempt(random: Random) -> None:
        path.write_bytes(mutate(random, whole))
        read_gps_table(path)

    return attempt


MORE_PARSERS = (
    *(_dataset(layout) for layout in LAYOUTS.values()),
    Target("training cameras (npz)", _archive(_cameras(), _load_cameras), VgpaError),
    Target("training graph (npz)", _archive(_cameras(), load_view_graph), VgpaError),
    Target("table of positions", _gps_table, VgpaError),
)
