"""Features, matches and verified pairs by pycolmap, written into a COLMAP database.

Both calls skip what the database already holds, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pycolmap

from vgpa.colmap.silence import silenced
from vgpa.config import FeatureConfig, MatchConfig


def extract_features(
    database: Path, folder: Path, names: Sequence[str], config: FeatureConfig, num_threads: int
) -> None:
    """SIFT features and cameras of the named photos. Focal lengths come from the config, EXIF or a guess."""
    reader = pycolmap.ImageReaderOptions()
    reader.camera_model = config.camera_model
    reader.camera_params = config.camera_params
    options = pycolmap.FeatureExtractionOptions()
    options.max_image_size = config.max_image_size
    options.num_threads = num_threads
    options.sift.max_num_features = config.max_num_features
    mode = pycolmap.CameraMode.SINGLE if config.single_camera else pycolmap.CameraMode.AUTO
    with silenced():
        pycolmap.Database.open(database).close()
        pycolmap.extract_features(
            database, folder, list(names), mode, reader_options=reader, extraction_options=options
        )


def match_exhaustively(database: Path, config: MatchConfig, seed: int, num_threads: int) -> None:
    """Match and verify all pairs of images in the database, and store their relative poses."""
    matching = pycolmap.FeatureMatchingOptions()
    matching.num_threads = num_threads
    matching.sift.max_ratio = config.max_ratio
    verification = pycolmap.TwoViewGeometryOptions()
    verification.min_num_inliers = config.min_num_inliers
    verification.compute_relative_pose = True
    verification.ransac.max_error = config.max_error_px
    verification.ransac.random_seed = seed
    with silenced():
        pycolmap.match_exhaustive(database, matching_options=matching, verification_options=verification)
