"""Features, matches and verified pairs by pycolmap, written into the run's database.

All functions add what is missing and leave the rest, so a run that was stopped goes on where it was. Results
depend on the photos, the settings and the seed alone: every pair's RANSAC starts from the same seed, whatever
the order, the number of threads or the part of the work that a machine was given. One exception is pycolmap's: three
times in hundreds of runs with several matcher threads, a few pairs had lost matches.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import pycolmap
from PIL import Image

from vgpa.colmap.silence import silenced
from vgpa.colmap.tables import names_without_features, plain_names
from vgpa.config import FeatureConfig, MatchConfig

PHOTOS_PER_COPY = 16
"""Photos that are copied at a time because pycolmap cannot read them as they are."""
PAIRS_PER_BLOCK = 64
"""Pairs written in one transaction: what a kill can lose."""


def extract_features(
    database: Path, folder: Path, names: Sequence[str], config: FeatureConfig, num_threads: int
) -> None:
    """SIFT features of the named photos, which the database already knows with their cameras."""
    _extract(database, folder, names, config, num_threads)
    unread = sorted(set(names).intersection(names_without_features(database)))
    for start in range(0, len(unread), PHOTOS_PER_COPY):
        some = unread[start : start + PHOTOS_PER_COPY]
        with tempfile.TemporaryDirectory() as copies:
            for name in some:
                _copy_as_png(folder / name, Path(copies) / name)
            _extract(database, Path(copies), some, config, num_threads)


def _extract(database: Path, folder: Path, names: Sequence[str], config: FeatureConfig, num_threads: int) -> None:
    reader = pycolmap.ImageReaderOptions()
    if config.masks:
        reader.mask_path = config.masks
    options = pycolmap.FeatureExtractionOptions()
    options.max_image_size = config.max_image_size
    options.num_threads = num_threads
    options.sift.max_num_features = config.max_num_features
    with silenced():
        pycolmap.extract_features(database, folder, list(names), reader_options=reader, extraction_options=options)


def _copy_as_png(photo: Path, copy: Path) -> None:
    """A copy that pycolmap reads of a photo in a format that it does not (WebP); the suffix stays, and does no harm."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(photo) as image:
        image.convert("RGB").save(copy, "PNG", compress_level=1)


def match_pairs(
    database: Path, pairs: Iterable[tuple[str, str]], config: MatchConfig, seed: int, num_threads: int
) -> None:
    """Match and verify pairs of named images, and store their relative poses."""
    matching = pycolmap.FeatureMatchingOptions()
    matching.num_threads = num_threads
    matching.sift.max_ratio = config.max_ratio
    pairing = pycolmap.ImportedPairingOptions()
    pairing.block_size = PAIRS_PER_BLOCK
    with plain_names(database) as plain, tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.write("".join(f"{plain[a]} {plain[b]}\n" for a, b in pairs))
        listed.flush()
        pairing.match_list_path = listed.name
        with silenced():
            pycolmap.match_image_pairs(
                database,
                matching_options=matching,
                pairing_options=pairing,
                verification_options=_verification_options(config, seed),
            )


def verify_matches(database: Path, config: MatchConfig, seed: int, num_threads: int) -> None:
    """Verify the pairs whose matches the database holds already, and store their relative poses."""
    verifier = pycolmap.GeometricVerifierOptions()
    verifier.num_threads = num_threads
    with silenced():
        pycolmap.geometric_verification(
            database, verifier_options=verifier, two_view_geometry_options=_verification_options(config, seed)
        )


def _verification_options(config: MatchConfig, seed: int) -> pycolmap.TwoViewGeometryOptions:
    options = pycolmap.TwoViewGeometryOptions()
    options.min_num_inliers = config.min_num_inliers
    options.compute_relative_pose = True
    options.ransac.max_error = config.max_error_px
    options.ransac.random_seed = seed
    return options
