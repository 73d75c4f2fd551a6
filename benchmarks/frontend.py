"""What the front end costs and what retrieval keeps. Prints Markdown tables; run each part on a quiet machine.

    VGPA_DATA=... python benchmarks/frontend.py cost [SET ...]             ours against pycolmap called plainly
    VGPA_DATA=... python benchmarks/frontend.py retrieval [--sizes N ...]  how choosing and matching grow with photos
    VGPA_DATA=... python benchmarks/frontend.py quality --work DIR [SET ...]  exhaustive against retrieved pairs

Photos are those of $VGPA_DATA/photos/SET/images.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import pycolmap

from vgpa import config as presets
from vgpa import pipeline
from vgpa.colmap.cameras import infer_camera
from vgpa.colmap.database import read_problem
from vgpa.colmap.extraction import extract_features, match_pairs
from vgpa.colmap.silence import silenced
from vgpa.colmap.store import StoreImage, read_keys, sync_store
from vgpa.colmap.tables import opened, read_descriptors
from vgpa.config import Config, PairConfig
from vgpa.errors import NoModelError
from vgpa.frontend.build import DATABASE, build_database
from vgpa.frontend.graph import select_reliable_edges
from vgpa.frontend.pairs import choose_pairs
from vgpa.frontend.photos import list_photos
from vgpa.frontend.register import register_photos
from vgpa.scene import Camera, FocalSource
from vgpa.stages import StageLog

TOP_K = 20
NUM_FEATURES = 1000
NUM_NEW = 50
"""Features that each photo of the made-up walk sees and the one before does not."""
WALK_CAMERA = Camera("PINHOLE", 1600, 1200, np.array([1000.0, 1000, 800, 600]), FocalSource.USER)


def measure_cost(sets: Sequence[str], config: Config, num_rounds: int) -> None:
    """Exhaustive front end: ours and pycolmap's, first and second in turn, then ours once more on its own result."""
    print("| photos | pairs | ours s | pycolmap s | ratio | verified, ours / pycolmap | run again s |")
    print("|---|---|---|---|---|---|---|")
    for name in sets:
        images = photos_of(name)
        known = with_known_camera(images, config)
        with tempfile.TemporaryDirectory() as folder:
            seconds = race({"ours": build_ours, "pycolmap": build_plainly}, images, Path(folder), known, num_rounds)
            again = timed(build_ours, images, Path(folder, "ours0"), known)
            verified = [num_verified(Path(folder, f"{side}0", DATABASE)) for side in seconds]
        ours, plain = (median(values) for values in seconds.values())
        num = len(list_photos(images))
        print(
            f"| {name}, {num} | {num * (num - 1) // 2} | {shown(seconds['ours'])} | {shown(seconds['pycolmap'])} "
            f"| {ours / plain:.3f} | {verified[0]} / {verified[1]} | {again:.2f} |",
            flush=True,
        )


def race(
    sides: dict[str, Callable[[Path, Path, Config], None]], images: Path, folder: Path, config: Config, num_rounds: int
) -> dict[str, list[float]]:
    """Seconds of every side in every round, each in a folder of its own; who starts alternates."""
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for k in range(num_rounds):
        for side in list(sides) if k % 2 == 0 else reversed(sides):
            output = folder / f"{side}{k}"
            output.mkdir()
            seconds[side].append(timed(sides[side], images, output, config))
    return seconds


def build_ours(images: Path, output: Path, config: Config) -> None:
    """The front end as `vgpa reconstruct` runs it."""
    build_database(images, output, config, StageLog())


def build_plainly(images: Path, output: Path, config: Config) -> None:
    """The same work by two calls of pycolmap with the same settings."""
    features, matching = config.features, config.matching
    reader = pycolmap.ImageReaderOptions(camera_model=features.camera_model, camera_params=features.camera_params)
    extraction = pycolmap.FeatureExtractionOptions(
        max_image_size=features.max_image_size, num_threads=config.num_threads
    )
    extraction.sift.max_num_features = features.max_num_features
    matcher = pycolmap.FeatureMatchingOptions(num_threads=config.num_threads)
    matcher.sift.max_ratio = matching.max_ratio
    verification = pycolmap.TwoViewGeometryOptions(min_num_inliers=matching.min_num_inliers, compute_relative_pose=True)
    verification.ransac.max_error = matching.max_error_px
    verification.ransac.random_seed = config.seed
    with silenced():
        pycolmap.extract_features(
            output / DATABASE,
            images,
            list_photos(images),
            camera_mode=pycolmap.CameraMode.SINGLE,
            reader_options=reader,
            extraction_options=extraction,
        )
        pycolmap.match_exhaustive(output / DATABASE, matching_options=matcher, verification_options=verification)


def with_known_camera(images: Path, config: Config) -> Config:
    """The config with all pairs and one known camera, so that both sides verify with the same intrinsics."""
    camera = infer_camera(images / list_photos(images)[0], config.features.camera_model)
    params = ",".join(str(value) for value in camera.params)
    features = replace(config.features, camera_params=params, camera_mode="single")
    return replace(config, features=features, pairs=PairConfig("exhaustive"))


def num_verified(database: Path) -> int:
    """Pairs with verified matches."""
    with closing(sqlite3.connect(database)) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM two_view_geometries WHERE rows > 0").fetchone()[0])


def measure_retrieval(name: str, sizes: Sequence[int], config: Config) -> None:
    """Seconds of choosing and matching pairs by retrieval, for walks of different length, and their growth."""
    config = replace(config, pairs=PairConfig("retrieval", TOP_K))
    seconds = []
    print("| images | all pairs | pairs | choose s | match s | s per image |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        pool = real_descriptors(photos_of(name), Path(folder, "real.db"), config)
        for num in sizes:
            database = Path(folder, f"{num}.db")
            write_walk(database, num, pool, np.random.default_rng(config.seed))
            names = sorted(read_keys(database))
            start = time.perf_counter()
            pairs = choose_pairs(database, photos_of(name), names, config)
            chosen = time.perf_counter() - start
            matched = timed(match_pairs, database, pairs, config.matching, config.seed, config.num_threads)
            seconds.append(chosen + matched)
            row = f"| {num} | {num * (num - 1) // 2} | {len(pairs)} | {chosen:.2f} | {matched:.2f} "
            print(f"{row}| {seconds[-1] / num:.4f} |", flush=True)
    print(f"\nTime grows with the number of images to the power {exponent(sizes, seconds):.2f}.")


def real_descriptors(images: Path, database: Path, config: Config) -> np.ndarray:
    """All SIFT descriptors (n, 128) of a few photos."""
    register_photos(images, database, config)
    extract_features(database, images, sorted(read_keys(database))[:6], config.features, config.num_threads)
    return np.concatenate([part for _, part in read_descriptors(database, config.features.max_num_features)])


def write_walk(database: Path, num: int, pool: np.ndarray, rng: np.random.Generator) -> None:
    """A store of photos taken on a walk along a wall, whose points carry shuffled and perturbed real descriptors.

    Every photo sees the next stretch of the wall and shares most of it with its neighbours, so the work per pair is
    the same for short and long walks.
    """
    images = [StoreImage(f"photo{k:05d}.jpg", "photo", "camera", WALK_CAMERA) for k in range(num)]
    sync_store(database, images, {"matching": "", "verification": ""})
    num_points = NUM_NEW * num + NUM_FEATURES
    look = pool[rng.choice(len(pool), num_points, replace=num_points > len(pool))].astype(np.int64)
    along, up, away = np.arange(num_points) / 160, rng.uniform(-2, 2, num_points), rng.uniform(4, 8, num_points)
    xyz = np.stack([along, up, away], axis=-1)
    focal_px, centre_px = WALK_CAMERA.params[:2], WALK_CAMERA.params[2:]
    with opened(database) as connection:
        for k in range(num):
            seen = slice(NUM_NEW * k, NUM_NEW * k + NUM_FEATURES)
            xy_px = focal_px * (xyz[seen, :2] - [xyz[seen, 0].mean(), 0]) / xyz[seen, 2:] + centre_px
            xy_px += rng.normal(0, 0.5, xy_px.shape)
            points = np.column_stack([xy_px, rng.uniform(2, 20, NUM_FEATURES), np.zeros(NUM_FEATURES)])
            noisy = np.clip(look[seen] + rng.integers(-4, 5, (NUM_FEATURES, 128)), 0, 255)
            # COLMAP numbers images from 1 in the order in which they were written: that of their names.
            rows = (k + 1, NUM_FEATURES, points.astype(np.float32).tobytes())
            connection.execute("INSERT INTO keypoints VALUES (?, ?, 4, ?)", rows)
            rows = (k + 1, NUM_FEATURES, noisy.astype(np.uint8).tobytes())
            connection.execute("INSERT INTO descriptors VALUES (?, 0, ?, 128, ?)", rows)


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The power of the size with which time grows: the slope of the line through their logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def measure_quality(sets: Sequence[str], work: Path, config: Config) -> None:
    """What is lost when only retrieved pairs are matched: the largest component, and registered images."""
    print("| photos | pairs, all / retrieved | largest component | kept | registered |\n|---|---|---|---|---|")
    for name in sets:
        every, some = work / name / "exhaustive", work / name / f"retrieval{TOP_K}"
        registered = [num_registered(name, every, replace(config, pairs=PairConfig("exhaustive")))]
        if not (some / DATABASE).exists():
            # Retrieved pairs are among all pairs, and a pair's result does not depend on when it was matched.
            some.mkdir(parents=True)
            shutil.copy(every / DATABASE, some / DATABASE)
        registered.append(num_registered(name, some, replace(config, pairs=PairConfig("retrieval", TOP_K))))
        pairs = [num_pairs(folder / DATABASE) for folder in (every, some)]
        size = [largest_component(folder / DATABASE, config) for folder in (every, some)]
        num = len(list_photos(photos_of(name)))
        print(
            f"| {name}, {num} | {pairs[0]} / {pairs[1]} | {size[0]} / {size[1]} | {size[1] / size[0]:.1%} "
            f"| {registered[0]} / {registered[1]} |",
            flush=True,
        )


def num_registered(name: str, output: Path, config: Config) -> int:
    """Images with a pose in the final model."""
    try:
        result = pipeline.reconstruct(photos_of(name), output, config)
    except NoModelError:
        return 0
    return int(result.reconstruction.poses.is_known.sum())


def num_pairs(database: Path) -> int:
    """Pairs that were matched, whatever came out."""
    with closing(sqlite3.connect(database)) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM two_view_geometries").fetchone()[0])


def largest_component(database: Path, config: Config) -> int:
    """Images in the largest component of the reliable view graph."""
    graph = select_reliable_edges(read_problem(database), config.graph).view_graph
    return int((graph.component_labels() == 0).sum())


def timed(work: Callable[..., object], *inputs: object) -> float:
    """Wall seconds of a call."""
    start = time.perf_counter()
    work(*inputs)
    return time.perf_counter() - start


def shown(seconds: Sequence[float]) -> str:
    """The seconds of all rounds."""
    return ", ".join(f"{value:.2f}" for value in seconds)


def photos_of(name: str) -> Path:
    """The folder of a set's photos."""
    return Path(os.environ["VGPA_DATA"]) / "photos" / name / "images"


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--max-image-size", type=int, default=presets.default().features.max_image_size)
    parser.add_argument("--max-num-features", type=int, default=presets.default().features.max_num_features)
    parts = parser.add_subparsers(dest="part", required=True)
    cost = parts.add_parser("cost")
    cost.add_argument("sets", nargs="*", default=["fountain-P11", "dino48"])
    cost.add_argument("--rounds", type=int, default=2)
    retrieval = parts.add_parser("retrieval")
    retrieval.add_argument("--set", default="door12", help="where the descriptors come from")
    retrieval.add_argument("--sizes", type=int, nargs="+", default=[50, 100, 200, 400])
    quality = parts.add_parser("quality")
    quality.add_argument("sets", nargs="*")
    quality.add_argument("--work", type=Path, required=True, help="folder for the runs, which resume")
    return parser.parse_args()


def main() -> None:
    """Run one part."""
    arguments = parse_arguments()
    config = presets.default()
    features = replace(
        config.features, max_image_size=arguments.max_image_size, max_num_features=arguments.max_num_features
    )
    config = replace(config, features=features)
    if arguments.part == "cost":
        measure_cost(arguments.sets, config, arguments.rounds)
    elif arguments.part == "retrieval":
        measure_retrieval(arguments.set, arguments.sizes, config)
    else:
        everything = sorted(path.name for path in (Path(os.environ["VGPA_DATA"]) / "photos").iterdir())
        measure_quality(arguments.sets or everything, arguments.work, config)


if __name__ == "__main__":
    main()
