"""Photos that share no camera: what their pairs tell of focal lengths that nobody knows, or that EXIF gets wrong.

    VGPA_DATA=... python benchmarks/lenses.py [SCENE ...]

The fundamental matrices are those of the scenes' databases, and the truth is the focal length of the reference; but
every image is given a camera of its own, of which EXIF says nothing (the guess is 1.2 longer sides), the truth to 2%,
the truth for two thirds of the images and half or twice of it for the others, or 0.3 to 3 times the truth, as after
cropping. Printed as a table: median and 90% quantile of the factor by which focal lengths are wrong, before and after.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from vgpa.colmap.calibration import EpipolarPairs
from vgpa.colmap.cameras import mean_focal_px, with_focal
from vgpa.colmap.database import read_problem
from vgpa.colmap.lens_beliefs import believe_lenses
from vgpa.colmap.model import read_model
from vgpa.geometry.rotation import FloatArray
from vgpa.scene import Camera, FocalSource, ImageSet

SCENES = ("door12", "entry-P10", "fountain-P11", "fox50", "kitchen25", "lund29", "reichstag10", "seneca167")
PAIR_BASE = 2147483647
"""COLMAP's pair id is the first image's id times this, plus the second's."""
HEADER = "| photos | EXIF | before: median, 90% | after: median, 90% | changed |\n|---|---|---|---|---|"


def read_pairs(database: Path, images: ImageSet) -> EpipolarPairs:
    """The pairs with a fundamental matrix; cameras are counted as images are."""
    index = {int(image_id): k for k, image_id in enumerate(images.image_id)}
    ends, matrices, counts = [], [], []
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        query = "SELECT pair_id, F, rows FROM two_view_geometries WHERE config IN (2, 3) AND F IS NOT NULL"
        for pair_id, blob, num in connection.execute(query):
            first, second = divmod(pair_id, PAIR_BASE)
            ends.append((index[first], index[second]))
            matrices.append(np.frombuffer(blob).reshape(3, 3))
            counts.append(num)
    return EpipolarPairs(np.array(ends).T, np.array(matrices), np.array(counts))


def say(true_px: FloatArray, guess_px: FloatArray) -> dict[str, tuple[FloatArray, FocalSource]]:
    """What EXIF says of every image, by kind."""
    rng = np.random.default_rng(0)
    close_px = true_px * np.exp(rng.normal(0, 0.02, len(true_px)))
    factor = np.where(rng.random(len(true_px)) < 1 / 3, rng.choice([0.5, 2.0], len(true_px)), 1.0)
    cropped_px = true_px * np.exp(rng.uniform(np.log(0.3), np.log(3.0), len(true_px)))
    return {
        "nothing": (guess_px, FocalSource.GUESS),
        "right": (close_px, FocalSource.EXIF),
        "a third wrong": (close_px * factor, FocalSource.EXIF),
        "cropped": (cropped_px, FocalSource.EXIF),
    }


def factors(focal_px: FloatArray, true_px: FloatArray) -> str:
    """Median and 90% quantile of the factor between two focal lengths."""
    median, most = np.exp(np.quantile(np.abs(np.log(focal_px / true_px)), [0.5, 0.9]))
    return f"{median:.2f}, {most:.2f}"


def run_scene(folder: Path) -> list[str]:
    """The rows of one scene."""
    images, (reference, _) = read_problem(folder / "database.db").images, read_model(folder / "reference")
    true_of = {name: mean_focal_px(reference.images.camera_of(k)) for k, name in enumerate(reference.images.names)}
    side_px = np.array([max(images.camera_of(k).width_px, images.camera_of(k).height_px) for k in range(len(images))])
    true_px = np.array([true_of.get(name, np.nan) for name in images.names])
    true_px = np.where(np.isfinite(true_px), true_px, np.nanmedian(true_px / side_px) * side_px)
    pairs, rows = read_pairs(folder / "database.db", images), []
    for kind, (said_px, source) in say(true_px, 1.2 * side_px).items():
        cameras = tuple(_camera(images.camera_of(k), float(f), source) for k, f in enumerate(said_px))
        own = ImageSet(images.names, np.arange(len(images)), cameras, images.image_id)
        found_px = np.array([mean_focal_px(camera) for camera in believe_lenses(own, pairs).cameras])
        change = f"{(found_px != said_px).sum()} of {len(images)}"
        rows.append(
            f"| {folder.name} | {kind} | {factors(said_px, true_px)} | {factors(found_px, true_px)} | {change} |"
        )
    return rows


def _camera(like: Camera, focal_px: float, source: FocalSource) -> Camera:
    centre = np.array([like.width_px / 2, like.height_px / 2])
    plain = Camera("SIMPLE_PINHOLE", like.width_px, like.height_px, np.array([1.0, *centre]), source)
    return with_focal(plain, focal_px)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", default=SCENES, metavar="SCENE")
    given = parser.parse_args()
    print(HEADER)
    for name in given.scenes:
        print("\n".join(run_scene(Path(os.environ["VGPA_DATA"]).resolve() / "scenes" / name)), flush=True)


if __name__ == "__main__":
    main()
