"""A firm reference for a scene whose own is weak: what COLMAP says three times.

    VGPA_DATA=... python benchmarks/consensus.py [SCENE ...] [--out FOLDER]

The reference of statue_of_liberty_135 is one COLMAP model with loose settings. References of the other collections are
COLMAP models with its default settings, which here give another model with every seed. But where two of these models
say the same, they say it for a reason: COLMAP runs with seeds 0, 1 and 2, and an image of the largest model counts if
another model has it with the same rotation and none has it with another one. The largest model with only these images
is kept in FOLDER/SCENE (runs/consensus unless given), and made only if it is not there. On two threads COLMAP gives
another model each time even with the same seed: 86 to 97 images were agreed on in different runs. Images that COLMAP
cannot place, which are the hardest, are never among them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from mapping_tables import WEAK_REFERENCES
from rotation_errors import rotation_errors_deg

from vgpa.baselines import MapperOptions, baseline
from vgpa.colmap.model import read_model, write_model
from vgpa.geometry.rotation import BoolArray
from vgpa.mapping.extend import without_images
from vgpa.scene import Reconstruction

SEEDS = (0, 1, 2)
MAX_SPREAD_DEG = 2.5
"""Half of what makes an image wrong."""
FOLDER = Path("runs", "consensus")


def make_consensus(database: Path, folder: Path) -> Path:
    """The folder of the model that COLMAP's models of the database confirm, made unless it is there."""
    if (folder / "cameras.bin").is_file():
        return folder
    mapper, num_threads = baseline("colmap"), os.cpu_count() or 1
    mapped = [
        mapper(database, folder / f"seed-{seed}", MapperOptions(num_threads, fix_intrinsics=False, seed=seed))
        for seed in SEEDS
    ]
    mapped.sort(key=lambda one: -one.num_registered)
    model, keypoints = read_model(mapped[0].folder)
    is_confirmed = confirmed_images(model, [one.read() for one in mapped[1:]])
    write_model(without_images(model, ~is_confirmed), keypoints, folder)
    return folder


def confirmed_images(model: Reconstruction, others: Sequence[Reconstruction]) -> BoolArray:
    """(num_images,) images that another model has with the same rotation, once aligned, and none with another one."""
    errors_deg = np.stack([rotation_errors_deg(model, other) for other in others])
    return np.asarray((errors_deg <= MAX_SPREAD_DEG).any(axis=0) & ~(errors_deg > MAX_SPREAD_DEG).any(axis=0))


def main() -> None:
    """Make what is not there, and say how many images it has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", default=sorted(WEAK_REFERENCES), metavar="SCENE")
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="FOLDER")
    given = parser.parse_args()
    for name in given.scenes:
        database = Path(os.environ["VGPA_DATA"]) / "scenes" / name / "database.db"
        model, _ = read_model(make_consensus(database, given.out / name))
        print(f"{name}: {model.num_registered} images in {given.out / name}")


if __name__ == "__main__":
    main()
