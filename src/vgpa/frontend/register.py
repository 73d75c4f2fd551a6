"""Photos into the store: which can be read, which camera took them, and what their features will be made from."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from vgpa.colmap.silence import silenced
from vgpa.colmap.store import StoreImage, read_keys, read_settings, sync_store
from vgpa.config import Config
from vgpa.frontend.cameras import assign_cameras, read_facts
from vgpa.frontend.photos import find_problem, list_photos, require_two

CAMERA_RULES = 2
"""Raised when the rules change by which photos get their cameras, so that stored ones are made anew."""


def register_photos(images: Path, database: Path, config: Config) -> dict[str, str]:
    """Make the database hold the readable photos of the folder and their cameras.

    Returns:
        The photos that could not be read, with the reason.
    """
    names = list_photos(images)
    keys = {name: photo_key(images, name, config) for name in names}
    stored = {name: key for name, (key, _) in read_keys(database).items()}
    known = {name for name, key in stored.items() if keys.get(name) == key}
    unseen = [name for name in names if name not in known]
    # What pillow and pycolmap warn of goes to the log; what they refuse is our business.
    with silenced(), ThreadPoolExecutor(config.num_threads) as pool:
        problems = dict(zip(unseen, pool.map(lambda name: _find_problem(images, name), unseen), strict=True))
    unreadable = {name: problem for name, problem in problems.items() if problem is not None}
    readable = [name for name in names if name not in unreadable]
    require_two(images, len(readable), unreadable)
    settings = _settings(config)
    if set(stored) == known == set(readable) and read_settings(database) == settings:
        return unreadable
    model = config.features.camera_model
    with silenced(), ThreadPoolExecutor(config.num_threads) as pool:
        read = list(pool.map(lambda name: read_facts(images / name, model), readable))
    facts = dict(zip(readable, read, strict=True))
    cameras = assign_cameras(facts, config.features)
    plan = [StoreImage(name, keys[name], *cameras[name], facts[name].gps) for name in readable]
    sync_store(database, plan, settings)
    return unreadable


def _find_problem(images: Path, name: str) -> str | None:
    """Why a photo cannot be used, or None. Databases hold text, and some file systems let names be any bytes."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return "its name is not valid UTF-8"
    return find_problem(images / name)


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
        "cameras": _digest(CAMERA_RULES, features.camera_model, features.camera_params, features.camera_mode),
        "matching": _digest(matching),
        "verification": _digest(verification, config.seed),
    }


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
