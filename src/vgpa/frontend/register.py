"""Photos into the store: which can be read, which camera took them, and what their features will be made from."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from vgpa.colmap.store import StoreImage, read_keys, read_settings, sync_store
from vgpa.config import Config
from vgpa.frontend.cameras import assign_cameras, read_facts
from vgpa.frontend.photos import find_problem, list_photos, require_two


def register_photos(images: Path, database: Path, config: Config) -> dict[str, str]:
    """Make the database hold the readable photos of the folder and their cameras.

    Returns:
        The photos that could not be read, with the reason.
    """
    names = list_photos(images)
    keys = {name: photo_key(images, name, config) for name in names}
    stored = {name: key for name, (key, _) in read_keys(database).items()}
    known = {name for name, key in stored.items() if keys.get(name) == key}
    problems = {name: find_problem(images / name) for name in names if name not in known}
    unreadable = {name: problem for name, problem in problems.items() if problem is not None}
    readable = [name for name in names if name not in unreadable]
    require_two(images, len(readable), unreadable)
    settings = _settings(config)
    if set(stored) == known == set(readable) and read_settings(database) == settings:
        return unreadable
    facts = {name: read_facts(images / name, config.features.camera_model) for name in readable}
    cameras = assign_cameras(facts, config.features)
    plan = [StoreImage(name, keys[name], *cameras[name], facts[name].gps) for name in readable]
    sync_store(database, plan, settings)
    return unreadable


def photo_key(images: Path, name: str, config: Config) -> str:
    """What a photo's features are made from: the file, its mask and the extraction settings."""
    mask = Path(config.features.masks) / f"{name}.png" if config.features.masks else None
    files = [images / name, *([mask] if mask is not None and mask.is_file() else [])]
    stats = [(path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return _digest(stats, config.features.max_image_size, config.features.max_num_features)


def _settings(config: Config) -> dict[str, str]:
    """What cameras, matches and verified pairs are made with."""
    features, verification = config.features, asdict(config.matching)
    matching = verification.pop("max_ratio")
    return {
        "cameras": _digest(features.camera_model, features.camera_params, features.camera_mode),
        "matching": _digest(matching),
        "verification": _digest(verification, config.seed),
    }


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
