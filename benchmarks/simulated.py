"""Simulated internet collections: real cameras, photos that nobody took, and a known answer.

    VGPA_DATA=... python benchmarks/simulated.py [SCENE ...] [--images N] [--seeds FIRST END]
                                                 [--methods default fast glomap] [--out FOLDER]

The cameras are those of MegaDepth scenes that no training may see (0019, 0024, 0063, 1589); `simulated_photos.py` tells
what is simulated about them. Pairs are verified by COLMAP. Seed k draws other cameras, points and mistakes. Printed for
each collection and method: images, RA-AUC@5 and AUC@5 against the true poses, seconds; and the means. Databases are
kept in FOLDER (runs/simulated unless given), and made only if they are not there.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from statistics import geometric_mean, mean

import numpy as np
from simulated_photos import match_photos, simulate_photos

from vgpa.benchmark.methods import parse_method
from vgpa.benchmark.offers import Offer
from vgpa.colmap.extraction import verify_matches
from vgpa.colmap.model import read_model, write_model
from vgpa.colmap.store import StoreImage, sync_store
from vgpa.colmap.tables import write_keypoints, write_matches
from vgpa.config import default
from vgpa.scene import ImageSet, Keypoints, Poses, Reconstruction, Tracks

SCENES = ("0019", "0024", "0063", "1589")


def make_collection(cameras: Path, num_images: int, seed: int, folder: Path) -> None:
    """A database and a reference model, unless they are there."""
    reference, database = folder / "reference", folder / "database.db"
    if database.is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    photos = simulate_photos(cameras, num_images, seed)
    names = [f"{k:04d}.jpg" for k in range(num_images)]
    images = ImageSet(tuple(names), np.arange(num_images), photos.cameras, np.arange(num_images) + 1)
    no_tracks = Tracks(np.zeros(1, dtype=np.int64), *np.zeros((2, 0), dtype=np.int64))
    nothing = np.zeros((0, 3)), no_tracks, np.zeros(0), np.zeros((0, 3), dtype=np.uint8)
    no_keypoints = Keypoints(np.zeros(num_images + 1, dtype=np.int64), np.zeros((0, 2)))
    write_model(Reconstruction(images, Poses.of_all(photos.poses), *nothing), no_keypoints, reference)
    unfinished = folder / "unfinished.db"
    unfinished.unlink(missing_ok=True)
    sync_store(unfinished, [StoreImage(n, "", n, camera) for n, camera in zip(names, photos.told, strict=True)], {})
    write_keypoints(unfinished, zip(names, photos.xy_px, strict=True))
    write_matches(unfinished, ((names[i], names[j], matches) for i, j, matches in match_photos(photos, seed)))
    config = default()
    verify_matches(unfinished, config.matching, seed, config.num_threads)
    unfinished.replace(database)


def main() -> None:
    """Make collections, run, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", default=SCENES, metavar="SCENE")
    parser.add_argument("--images", type=int, default=120, metavar="N")
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 2), metavar=("FIRST", "END"))
    parser.add_argument("--methods", nargs="+", default=["default", "fast", "glomap"], metavar="METHOD")
    parser.add_argument("--out", type=Path, default=Path("runs", "simulated"), metavar="FOLDER")
    given = parser.parse_args()
    data = Path(os.environ["VGPA_DATA"]) / "data" / "cameras"
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in given.methods}
    for scene, seed in ((scene, seed) for scene in given.scenes for seed in range(*given.seeds)):
        folder = given.out / f"{scene}-{given.images}-{seed}"
        make_collection(data / f"megadepth_{scene}.npz", given.images, seed, folder)
        reference, _ = read_model(folder / "reference")
        offer = Offer(folder.name, reference, folder / "database.db", fix_intrinsics=False, reintegrate=None)
        for name in given.methods:
            figures = parse_method(name).run(offer, seed=0).figures
            row = figures.get("registered", 0.0), figures.get("ra_auc5", 0.0), figures["seconds"]
            rows[name].append(row)
            auc = figures.get("auc5", 0.0)
            print(f"{folder.name} {name}: {row[0]:.0f} images, {row[1]:.3f} ({auc:.3f}), {row[2]:.1f} s", flush=True)
    for name, all_rows in rows.items():
        num, score, seconds = zip(*all_rows, strict=True)
        print(f"{name}: {sum(num):.0f} images, {mean(score):.3f}, {geometric_mean(seconds):.1f} s")


if __name__ == "__main__":
    main()
