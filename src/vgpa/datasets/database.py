"""Whatever a scene brings, as a COLMAP database with verified pairs: what every mapper reads.

A database of the dataset's own is used as it is. Tracks become keypoints and matches, photos are extracted and matched;
both are verified with the dataset's intrinsics. Only the images of the reference take part, as in the paper.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from vgpa.colmap.cameras import guess_camera
from vgpa.colmap.extraction import extract_features, match_pairs
from vgpa.colmap.store import StoreImage, replaced, sync_store
from vgpa.colmap.tables import names_without_features, verified_pairs
from vgpa.config import Config
from vgpa.datasets.scene import DatasetScene
from vgpa.errors import InputError
from vgpa.frontend.pairs import choose_pairs
from vgpa.frontend.register import photo_key
from vgpa.frontend.resfm import TrackFile, write_tracks
from vgpa.geometry.rotation import IntArray
from vgpa.scene import Camera, ImageSet, Keypoints, Tracks


def make_database(scene: DatasetScene, folder: Path, config: Config, forget_intrinsics: bool = False) -> Path:
    """The path of a database of the scene: its own, or `folder/database.db`, which is written unless it is there.

    Args:
        forget_intrinsics: guess every camera from the size of its images, as if the dataset knew none.
    """
    if scene.database is not None and not forget_intrinsics:
        return scene.database
    folder.mkdir(parents=True, exist_ok=True)
    database, images = folder / "database.db", scene.reference.images
    if forget_intrinsics:
        images = images.with_cameras(tuple(_guessed(camera) for camera in images.cameras))
    if scene.keypoints is not None and scene.tracks is not None:
        tracked = _track_of(scene.keypoints, scene.tracks)
        content = TrackFile(images.names, images.cameras, images.camera_idx, scene.keypoints, tracked)
        if not database.is_file():
            with replaced(database) as fresh:
                write_tracks(fresh, content, config)
    elif scene.image_dir is not None:
        _match_photos(images, scene.image_dir, database, config)
    else:
        raise InputError(
            f"The scene {scene.name!r} has neither photos nor tracks to make a database from",
            "Put its photos where the dataset's layout expects them",
        )
    return database


def _guessed(camera: Camera) -> Camera:
    return guess_camera((camera.width_px, camera.height_px), "SIMPLE_RADIAL")


def _track_of(keypoints: Keypoints, tracks: Tracks) -> IntArray:
    """(num_keypoints,) the track of each keypoint; one that is in none is a track of its own."""
    track_of = len(tracks) + np.arange(len(keypoints.xy_px))
    track_of[keypoints.offsets[tracks.image_idx] + tracks.keypoint_idx] = tracks.track_idx
    return track_of


def _match_photos(images: ImageSet, image_dir: Path, database: Path, config: Config) -> None:
    """Features and verified pairs of the photos that the reference names."""
    missing = [name for name in images.names if not (image_dir / name).is_file()]
    if missing:
        raise InputError(
            f"{len(missing)} of {len(images)} photos are not there, the first is {image_dir / missing[0]}",
            "Fetch the scene again",
        )
    plan = [
        StoreImage(name, photo_key(image_dir, name, config), str(images.camera_idx[k]), images.camera_of(k))
        for k, name in enumerate(images.names)
    ]
    made_with = {"matching": config.matching.max_ratio, "verification": [asdict(config.matching), config.seed]}
    sync_store(database, plan, {name: json.dumps(value) for name, value in made_with.items()})
    names = names_without_features(database)
    if names:
        extract_features(database, image_dir, names, config.features, config.num_threads)
    done = verified_pairs(database)
    pairs = [pair for pair in choose_pairs(database, image_dir, images.names, config) if pair not in done]
    if pairs:
        match_pairs(database, pairs, config.matching, config.seed, config.num_threads)
