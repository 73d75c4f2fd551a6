"""The same photos in other databases: whether a mapper's lead over another one is luck with the matches of one.

    VGPA_DATA=... python benchmarks/databases.py features SCENE ... [--methods default glomap] [--out FOLDER]
    VGPA_DATA=... python benchmarks/databases.py cameras SCENE ... [the same options]
    VGPA_DATA=... python benchmarks/databases.py zooms SCENE ... [the same options]

features: SIFT at other image sizes, with other numbers of features and other ratio tests, all pairs matched, a camera
for each image with what EXIF says. cameras: the verified pairs of the scene's own database, but every image has a
camera of its own of which nothing is known, and two-view geometries are estimated anew without it. zooms: the same, but
some of the images were taken with a longer lens (their keypoints are moved away from the centre): a tenth of them with
one that is 20% longer, half of them with one that is 3% or 10% longer. Printed for each database and method: images,
RA-AUC@5 against the scene's reference, seconds; and the means. Databases are kept in FOLDER (runs/databases unless
given), and made only if they are not there.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import mean

import numpy as np
import pycolmap

from vgpa.benchmark.methods import parse_method
from vgpa.benchmark.offers import Offer
from vgpa.colmap.cameras import guess_camera
from vgpa.colmap.database import read_problem
from vgpa.colmap.extraction import verify_matches
from vgpa.colmap.model import read_model
from vgpa.colmap.silence import silenced
from vgpa.colmap.store import StoreImage, sync_store
from vgpa.colmap.tables import write_keypoints, write_matches
from vgpa.config import default
from vgpa.geometry.rotation import IntArray
from vgpa.scene import Problem

SETTINGS = (
    *((1600, 8192, 0.8), (1600, 4096, 0.8), (1600, 2048, 0.8), (1200, 8192, 0.8), (1200, 4096, 0.8)),
    *((800, 8192, 0.8), (1600, 8192, 0.7), (1600, 8192, 0.9), (1000, 4096, 0.85), (1024, 16384, 0.8)),
)
"""Longer image side in pixels, number of features, ratio test."""
ZOOMS = ((0.1, 1.2), (0.5, 1.03), (0.5, 1.1))
"""Part of the images that are zoomed, and by which factor."""
SEED = 0
FOLDER = Path("runs", "databases")


def make_with_features(data: Path, scene: str, folder: Path) -> list[Path]:
    """A database of the scene's photos for each of the settings."""
    paths = []
    for size_px, num_features, max_ratio in SETTINGS:
        extraction, matching = pycolmap.FeatureExtractionOptions(), pycolmap.FeatureMatchingOptions()
        extraction.max_image_size, extraction.sift.max_num_features = size_px, num_features
        extraction.use_gpu = matching.use_gpu = False
        matching.sift.max_ratio = max_ratio

        def write(path: Path, extraction: object = extraction, matching: object = matching) -> None:
            pycolmap.extract_features(path, data / "photos" / scene / "images", extraction_options=extraction)
            pycolmap.match_exhaustive(path, matching_options=matching)

        paths.append(_kept(folder / f"{scene}-{size_px}-{num_features}-{max_ratio}.db", write))
    return paths


def make_with_cameras(data: Path, scene: str, folder: Path) -> list[Path]:
    """The scene's database with a camera for each image that nobody knows."""
    problem = read_problem(data / "scenes" / scene / "database.db")
    return [_with_own_cameras(problem, folder / f"{scene}-cameras.db")]


def make_with_zooms(data: Path, scene: str, folder: Path) -> list[Path]:
    """The same, where some of the images were taken with a longer lens."""
    problem = read_problem(data / "scenes" / scene / "database.db")
    num = len(problem.images)
    return [
        _with_own_cameras(
            zoomed(problem, np.random.default_rng(SEED).permutation(num)[: round(part * num)], factor),
            folder / f"{scene}-zooms-{part}-{factor}.db",
        )
        for part, factor in ZOOMS
    ]


def zoomed(problem: Problem, image_idx: IntArray, factor: float) -> Problem:
    """The problem with the keypoints of some images as a longer lens sees them, beyond the frame too."""
    keypoints, xy_px = problem.keypoints, problem.keypoints.xy_px.copy()
    for k in image_idx.tolist():
        camera, own = problem.images.camera_of(k), slice(*keypoints.offsets[k : k + 2])
        centre = np.array((camera.width_px, camera.height_px)) / 2
        xy_px[own] = centre + factor * (xy_px[own] - centre)
    return replace(problem, keypoints=replace(keypoints, xy_px=xy_px))


def _with_own_cameras(problem: Problem, path: Path) -> Path:
    """A database of the problem's keypoints and matches with a camera for each image that nobody knows."""
    names, keypoints, matches = problem.images.names, problem.keypoints, problem.matches
    sizes = [(camera.width_px, camera.height_px) for camera in map(problem.images.camera_of, range(len(names)))]
    cameras = [guess_camera(size_px, "SIMPLE_RADIAL") for size_px in sizes]
    edges = zip(problem.view_graph.edge_index.T.tolist(), pairwise(matches.offsets.tolist()), strict=True)

    def write(path: Path) -> None:
        each = zip(names, cameras, strict=True)
        sync_store(path, [StoreImage(name, "", name, camera) for name, camera in each], settings={})
        write_keypoints(path, ((name, keypoints.of(k)) for k, name in enumerate(names)))
        write_matches(path, ((names[i], names[j], matches.keypoint_idx[a:b]) for (i, j), (a, b) in edges))
        config = default()
        verify_matches(path, config.matching, config.seed, config.num_threads)

    return _kept(path, write)


def _kept(path: Path, write: Callable[[Path], None]) -> Path:
    """The file, written by the function under another name first if it is not there."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        unfinished.unlink(missing_ok=True)
        with silenced():
            write(unfinished)
        unfinished.replace(path)
    return path


def main() -> None:
    """Make databases, run, and print."""
    makers = {"features": make_with_features, "cameras": make_with_cameras, "zooms": make_with_zooms}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(makers))
    parser.add_argument("scenes", nargs="+", metavar="SCENE")
    parser.add_argument("--methods", nargs="+", default=["default", "glomap"], metavar="METHOD")
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="FOLDER")
    given = parser.parse_args()
    data = Path(os.environ["VGPA_DATA"])
    for scene in given.scenes:
        reference, _ = read_model(data / "scenes" / scene / "reference")
        scores: dict[str, list[float]] = {name: [] for name in given.methods}
        for database in makers[given.kind](data, scene, given.out):
            offer = Offer(scene, reference, database, fix_intrinsics=False, reintegrate=None)
            for name in given.methods:
                figures = parse_method(name).run(offer, seed=0).figures
                scores[name].append(figures.get("ra_auc5", 0.0))
                num, seconds = int(figures.get("registered", 0)), figures["seconds"]
                print(f"{database.stem} {name}: {num} images, {scores[name][-1]:.3f}, {seconds:.1f} s", flush=True)
        print(scene, ", ".join(f"{name} {mean(values):.3f}" for name, values in scores.items()))


if __name__ == "__main__":
    main()
