"""Which camera took each photo, and its intrinsics to start from: the user's, EXIF's, or a guess.

Photos share a camera when the user says so (one for all, one per folder), or, by default, when EXIF gives them
the same maker, model, focal length and size. Photos without any EXIF share one camera when all of them have the
same size: they are frames of a video or an export, not internet photos. Everything else gets a camera of its
own.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from PIL import ExifTags, Image

from vgpa.colmap.cameras import guess_camera, infer_camera, parse_camera
from vgpa.config import FeatureConfig
from vgpa.errors import InputError
from vgpa.frontend.gps import Position, parse_exif_gps
from vgpa.scene import Camera, FocalSource

MIN_ORIGINAL_SIDE_PX = 2000
"""Photos of cameras that write a focal-plane resolution are larger than this, unless somebody scaled them down."""
MM_PER_UNIT = {2: 25.4, 3: 10.0}
"""EXIF's units of resolution: inches and centimetres."""
MIN_FOCAL_RATIO, MAX_FOCAL_RATIO = 0.1, 100.0
"""Focal lengths over the longer side that lenses have, from fisheye to telescope; EXIF beyond them is garbage."""


@dataclass(frozen=True)
class PhotoFacts:
    """What a photo file says about its camera.

    Attributes:
        camera: pinhole with EXIF's focal length, or 1.2 times the longer side.
        maker: EXIF's maker and model, empty where unknown.
        gps: latitude, longitude (degrees) and altitude (metres), where known.
    """

    camera: Camera
    maker: str
    gps: Position | None


def read_facts(path: Path, model: str) -> PhotoFacts:
    """Camera and position of a readable photo."""
    with Image.open(path) as image:
        size = image.size
        exif, details, position = _read_exif(image)
    maker = " ".join(str(exif[tag]).strip() for tag in (ExifTags.Base.Make, ExifTags.Base.Model) if tag in exif)
    gps = parse_exif_gps(position)
    # Reading EXIF's focal length decodes the whole photo; where there is no EXIF there is nothing to read.
    camera = _camera_of_exif(path, model, size) if exif else guess_camera(size, model)
    if max(size) < MIN_ORIGINAL_SIDE_PX and counts_original_pixels(camera, details):
        camera = guess_camera(size, model)
    return PhotoFacts(camera, maker, gps)


def _camera_of_exif(path: Path, model: str, size: tuple[int, int]) -> Camera:
    """The camera with EXIF's focal length, or a guess where that is no number or no lens has it."""
    try:
        camera = infer_camera(path, model)
    except (ValueError, RuntimeError):
        return guess_camera(size, model)
    ratio = camera.params[0] / max(size)
    return camera if MIN_FOCAL_RATIO <= ratio <= MAX_FOCAL_RATIO else guess_camera(size, model)


def _read_exif(image: Image.Image) -> tuple[dict[int, object], dict[int, object], dict[int, object]]:
    """EXIF's main, detail and GPS tags; empty where they are absent or garbage."""
    try:
        exif = image.getexif()
        details, position = exif.get_ifd(ExifTags.IFD.Exif), exif.get_ifd(ExifTags.IFD.GPSInfo)
        return dict(exif), dict(details), dict(position)
    except (OSError, ValueError, SyntaxError, TypeError, KeyError, struct.error):
        return {}, {}, {}


def assign_cameras(facts: dict[str, PhotoFacts], config: FeatureConfig) -> dict[str, tuple[str, Camera]]:
    """The key of every photo's camera, and the camera. Photos with the same key share it."""
    keys = {name: _camera_key(name, facts, config) for name in facts}
    cameras: dict[str, Camera] = {}
    for name, key in keys.items():
        own = facts[name].camera
        if config.camera_params:
            own = replace(own, params=parse_camera(own, config.camera_params).params, focal_source=FocalSource.USER)
        shared = cameras.setdefault(key, own)
        if (shared.width_px, shared.height_px) != (own.width_px, own.height_px):
            raise InputError(
                f"{name!r} is {own.width_px} x {own.height_px} pixels, but shares a camera with photos of "
                f"{shared.width_px} x {shared.height_px}",
                "Photos of one camera must have one size; sort them into folders, or let each have its own camera",
            )
    return {name: (key, cameras[key]) for name, key in keys.items()}


def _camera_key(name: str, facts: dict[str, PhotoFacts], config: FeatureConfig) -> str:
    settings = f"{config.camera_model} {config.camera_params}"
    own = facts[name]
    size = f"{own.camera.width_px}x{own.camera.height_px}"
    if config.camera_mode == "single":
        return f"single {settings}"
    if config.camera_mode == "folder":
        return f"folder {PurePosixPath(name).parent} {settings}"
    if config.camera_mode == "image":
        return f"image {name} {settings}"
    if config.camera_params:
        return f"known {size} {settings}"
    if own.camera.focal_source is FocalSource.EXIF:
        return f"exif {own.maker} {size} {own.camera.params[0]:.3f} {settings}"
    return f"guess {size} {settings}" if _are_frames(facts) else f"image {name} {settings}"


def counts_original_pixels(camera: Camera, details: dict[int, object]) -> bool:
    """Whether a focal length was made from EXIF's focal-plane resolution, which counts pixels before any scaling."""
    try:
        unit_mm = MM_PER_UNIT[int(details[ExifTags.Base.FocalPlaneResolutionUnit])]  # type: ignore[call-overload]
        focal_mm = float(details[ExifTags.Base.FocalLength])  # type: ignore[arg-type]
        focal_px = focal_mm * float(details[ExifTags.Base.FocalPlaneXResolution]) / unit_mm  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return False
    return abs(float(camera.params[0]) - focal_px) <= 0.01 * focal_px


def _are_frames(facts: dict[str, PhotoFacts]) -> bool:
    """True when no photo says anything about its camera, and all have the same size."""
    sizes = {(fact.camera.width_px, fact.camera.height_px) for fact in facts.values()}
    is_silent = all(fact.camera.focal_source is FocalSource.GUESS and not fact.maker for fact in facts.values())
    return len(sizes) == 1 and is_silent
