"""From a folder of photos to a database with verified pairs: read, extract, choose pairs, match.

What the database already holds for the same photos and settings is kept (`vgpa.colmap.store`), and so are shares that
other machines have computed (`vgpa.frontend.shards`).
"""

from __future__ import annotations

from pathlib import Path

from vgpa.colmap.extraction import extract_features, match_pairs
from vgpa.colmap.store import read_keys
from vgpa.colmap.tables import keep_only_pairs, names_without_features, verified_pairs
from vgpa.compute import make_executor
from vgpa.config import Config
from vgpa.frontend.pairs import choose_pairs
from vgpa.frontend.register import register_photos
from vgpa.frontend.shards import Step, compute_step, merge_shards
from vgpa.stages import StageLog

DATABASE = "database.db"


def build_database(images: Path, output: Path, config: Config, log: StageLog) -> dict[str, str]:
    """Fill the output folder's database with features and verified pairs of a folder's photos.

    Returns:
        The photos that could not be read, with the reason.
    """
    database = output / DATABASE
    with log.stage("read photos"):
        unreadable = register_photos(images, database, config)
    with log.stage("extract features"):
        _gather("features", bool(names_without_features(database)), images, output, config)
        missing = names_without_features(database)
        if missing:
            extract_features(database, images, missing, config.features, config.num_threads)
    with log.stage("choose pairs"):
        pairs = choose_pairs(database, images, sorted(read_keys(database)), config)
    with log.stage("match pairs"):
        _gather("pairs", not verified_pairs(database).issuperset(pairs), images, output, config)
        keep_only_pairs(database, pairs)
        done = verified_pairs(database)
        missing_pairs = [pair for pair in pairs if pair not in done]
        if missing_pairs:
            match_pairs(database, missing_pairs, config.matching, config.seed, config.num_threads)
    return unreadable


def _gather(step: Step, is_incomplete: bool, images: Path, output: Path, config: Config) -> None:
    """Take over what shares have computed, after computing them on the cluster if there is one."""
    if not is_incomplete:
        return
    if config.executor != "local":
        compute_step(step, images, output, config, make_executor(config.executor))
    merge_shards(output, output / DATABASE, step)
