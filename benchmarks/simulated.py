"""Simulated internet collections: real cameras, photos that nobody took, and a known answer.

    VGPA_DATA=... python benchmarks/simulated.py [SCENE ...] [--images N] [--seeds FIRST END]
                                                 [--methods default fast glomap] [--out FOLDER] [--page FILE]

The cameras are those of MegaDepth scenes that no training may see (0019, 0024, 0063, 1589); `simulated_photos.py` tells
what is simulated about them. Pairs are verified by COLMAP. Seed k draws other cameras, points and mistakes. Databases
are kept in FOLDER (runs/simulated unless given), and made only if they are not there. The table goes to
docs/simulated.md, or to FILE.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

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

SCENES, NUM_IMAGES, SEEDS = ("0019", "0024", "0063", "1589"), 120, (0, 2)
FOLDER = Path("runs", "simulated")
PAGE = Path(__file__).parents[1] / "docs" / "simulated.md"
HEAD = """# Simulated collections

Internet collections with a known answer: real cameras of MegaDepth scenes (0019, 0024, 0063 and 1589, on which nothing
was trained), and photos, matches and mistakes that are simulated (`benchmarks/simulated_photos.py`). Every photo has a
lens of its own; of a third of them nothing is known, and one in ten has a wrong focal length in its EXIF. A tenth of
all matches is wrong, and a part of the scene looks like another part of it. Every method reads the same database,
verified by COLMAP. Each cell: images registered and RA-AUC@5 against the true poses; the last line has the sum and the
mean. A collection is named by its scene, its images and its seed; nothing was chosen on these seeds.
"""


@dataclass(frozen=True)
class Row:
    """What a method made of a collection: images and RA-AUC@5."""

    num: int
    score: float

    def in_words(self) -> str:
        """A table's cell."""
        return f"{self.num}, {self.score:.3f}"


def names(
    scenes: Sequence[str] = SCENES, num_images: int = NUM_IMAGES, seeds: Sequence[int] = SEEDS
) -> tuple[str, ...]:
    """Names of collections, which tell their scene, images and seed."""
    return tuple(f"{scene}-{num_images}-{seed}" for scene in scenes for seed in range(*seeds))


def is_name(word: str) -> bool:
    """Whether a word is the name of a collection."""
    return re.fullmatch(r"\d{4}-\d+-\d+", word) is not None


def make_collection(name: str, out: Path = FOLDER) -> Path:
    """The folder of a collection: a database and a reference model, made unless they are there."""
    folder = out / name
    reference, database = folder / "reference", folder / "database.db"
    if database.is_file():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    scene, num_images, seed = (int(word) for word in name.split("-"))
    cameras = Path(os.environ["VGPA_DATA"]) / "data" / "cameras" / f"megadepth_{scene:04d}.npz"
    photos = simulate_photos(cameras, num_images, seed)
    files = [f"{k:04d}.jpg" for k in range(num_images)]
    images = ImageSet(tuple(files), np.arange(num_images), photos.cameras, np.arange(num_images) + 1)
    no_tracks = Tracks(np.zeros(1, dtype=np.int64), *np.zeros((2, 0), dtype=np.int64))
    nothing = np.zeros((0, 3)), no_tracks, np.zeros(0), np.zeros((0, 3), dtype=np.uint8)
    no_keypoints = Keypoints(np.zeros(num_images + 1, dtype=np.int64), np.zeros((0, 2)))
    write_model(Reconstruction(images, Poses.of_all(photos.poses), *nothing), no_keypoints, reference)
    unfinished = folder / "unfinished.db"
    unfinished.unlink(missing_ok=True)
    sync_store(unfinished, [StoreImage(n, "", n, camera) for n, camera in zip(files, photos.told, strict=True)], {})
    write_keypoints(unfinished, zip(files, photos.xy_px, strict=True))
    write_matches(unfinished, ((files[i], files[j], matches) for i, j, matches in match_photos(photos, seed)))
    config = default()
    verify_matches(unfinished, config.matching, seed, config.num_threads)
    unfinished.replace(database)
    return folder


def run_all(folders: list[Path], methods: list[str]) -> dict[tuple[str, str], Row]:
    """The figures of every collection, by its name, and method."""
    rows = {}
    for folder in folders:
        reference, _ = read_model(folder / "reference")
        offer = Offer(folder.name, reference, folder / "database.db", fix_intrinsics=False, reintegrate=None)
        for name in methods:
            figures = parse_method(name).run(offer, seed=0).figures
            row = Row(int(figures.get("registered", 0)), figures.get("ra_auc5", 0.0))
            rows[folder.name, name] = row
            print(f"{folder.name} {name}: {row.in_words()}, {figures['seconds']:.1f} s", flush=True)
    return rows


def write_page(rows: dict[tuple[str, str], Row], caption: str, page: Path) -> None:
    """The table, with sums and means in its last line."""
    collections, methods = (list(dict.fromkeys(key[side] for key in rows)) for side in (0, 1))
    lines = [f"| collection | {' | '.join(methods)} |", "|---" * (len(methods) + 1) + "|"]
    for name in collections:
        lines.append(f"| {name} | {' | '.join(rows[name, method].in_words() for method in methods)} |")
    of_method = {method: [rows[name, method] for name in collections] for method in methods}
    means = [Row(sum(row.num for row in some), mean(row.score for row in some)) for some in of_method.values()]
    lines.append(f"| all | {' | '.join(row.in_words() for row in means)} |")
    page.write_text("\n".join([HEAD, caption, "", *lines, ""]))


def main() -> None:
    """Make collections, run, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", default=SCENES, metavar="SCENE")
    parser.add_argument("--images", type=int, default=NUM_IMAGES, metavar="N")
    parser.add_argument("--seeds", nargs=2, type=int, default=SEEDS, metavar=("FIRST", "END"))
    parser.add_argument("--methods", nargs="+", default=["default", "fast", "glomap"], metavar="METHOD")
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="FOLDER")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE")
    given = parser.parse_args()
    folders = [make_collection(name, given.out) for name in names(given.scenes, given.images, given.seeds)]
    seeds = f"--seeds {given.seeds[0]} {given.seeds[1]}"
    caption = f"`python benchmarks/simulated.py --images {given.images} {seeds}` on {os.cpu_count()} cores."
    write_page(run_all(folders, given.methods), caption, given.page)


if __name__ == "__main__":
    main()
