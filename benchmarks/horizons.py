"""Which of two models is right where they contradict each other: the horizon in the photos tells.

    VGPA_DATA=... python benchmarks/horizons.py [MODEL]

The reference of statue_of_liberty_135 is a loose COLMAP model, and some of its cameras are turned by 5 to 180 degrees
against all of our models. Neither can be believed because it is ours or the reference. But 22 of its photos show the
horizon or a far shore, whose place in the photo was read off by eye (to about 15 px): seen through a model's camera it
is a plane in the world, and this plane is the same for all photos of a right model. Printed for every such photo, with
its points: the angle between its horizon and the one that most photos of the model agree on, in MODEL (a folder;
otherwise `vgpa map` of the scene's database) and in the reference. A far shore lies up to two degrees below the
horizon, and a camera that is turned about the vertical goes unnoticed.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

from vgpa.colmap.cameras import unproject
from vgpa.colmap.database import read_problem
from vgpa.colmap.model import read_model
from vgpa.config import default
from vgpa.geometry.rotation import FloatArray, normalize
from vgpa.scene import Reconstruction
from vgpa.solve import solve
from vgpa.stages import StageLog

SCENE = "statue_of_liberty_135"
HORIZON_PX = {
    "video1_0009.jpg": (235, 235),
    "video1_0010.jpg": (395, 390),
    "video1_0044.jpg": (285, 285),
    "video2_0012.jpg": (518, 518),
    "video2_0013.jpg": (534, 534),
    "video2_0014.jpg": (505, 505),
    "video2_0015.jpg": (580, 588),
    "video2_0017.jpg": (580, 580),
    "video2_0018.jpg": (552, 541),
    "video2_0019.jpg": (570, 570),
    "video2_0021.jpg": (552, 552),
    "video2_0022.jpg": (544, 541),
    "video3_0052.jpg": (324, 324),
    "video3_0057.jpg": (404, 404),
    "video3_0059.jpg": (399, 399),
    "video4_0024.jpg": (686, 686),
    "video4_0026.jpg": (661, 681),
    "video4_0028.jpg": (500, 500),
    "video4_0029.jpg": (505, 503),
    "video4_0030.jpg": (723, 728),
    "video4_0031.jpg": (523, 534),
    "video4_0032.jpg": (684, 689),
}
"""Where the horizon meets the left and the right edge of each photo, in px from the top."""
WIDTH_PX, NUM_STEPS = 800, 50
MIN_NUM_PHOTOS = 8
"""Photos from which on there is a horizon to agree on."""


def upwards(model: Reconstruction, names: list[str]) -> FloatArray:
    """(num_photos, 3) unit normal in the world of the horizon that each of the photos shows."""
    k = np.array([model.images.names.index(name) for name in names], dtype=np.int64)
    y_px = np.array([HORIZON_PX[name] for name in names], dtype=np.float64)
    # A quarter in from the edges, where distortion that nothing determines does no harm.
    left, right = (
        unproject(model.images, k, np.stack([np.full(len(k), part * WIDTH_PX), y_px @ (1 - part, part)], axis=-1))
        for part in (0.25, 0.75)
    )
    return np.einsum("nij,ni->nj", model.poses.cam_from_world.rotation[k], normalize(np.cross(left, right)))


def common_direction(unit: FloatArray) -> FloatArray:
    """(3,) what most of the unit vectors (n, 3) agree on: their geometric median."""
    middle = normalize(np.median(unit, axis=0))
    for _ in range(NUM_STEPS):
        weight = 1 / np.maximum(np.linalg.norm(unit - middle, axis=-1), 1e-6)
        middle = normalize(weight @ unit)
    return middle


def tilts_deg(model: Reconstruction) -> dict[str, float]:
    """Angle between the horizon that a photo shows and the common one, by name, for photos that the model has."""
    registered = {model.images.names[k] for k in np.flatnonzero(model.poses.is_known)}
    names = [name for name in HORIZON_PX if name in registered]
    if len(names) < MIN_NUM_PHOTOS:
        return {}
    up = upwards(model, names)
    return dict(zip(names, np.degrees(np.arccos(np.clip(up @ common_direction(up), -1, 1))).tolist(), strict=True))


def main() -> None:
    """Compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=Path)
    given = parser.parse_args()
    folder = Path(os.environ["VGPA_DATA"]) / "scenes" / SCENE
    if given.model:
        model, _ = read_model(given.model)
    else:
        model = solve(read_problem(folder / "database.db"), default(), StageLog()).model
    columns = []
    for which in (model, read_model(folder / "reference")[0]):
        count = np.bincount(which.tracks.image_idx, minlength=len(which.images))
        num_points = dict(zip(which.images.names, count.tolist(), strict=True))
        columns.append({name: f"{tilt:5.1f} ({num_points[name]} points)" for name, tilt in tilts_deg(which).items()})
    print("horizon off by, deg: model, reference")
    for name in HORIZON_PX:
        print(f"{name}: " + ", ".join(column.get(name, "missing") for column in columns))


if __name__ == "__main__":
    main()
