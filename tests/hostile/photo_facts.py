"""Photos whose pixels are fine and whose EXIF is garbage: they must be used, as if they had none."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import ExifTags, Image
from PIL.TiffImagePlugin import IFDRational

from tests.hostile.corpus import End, Hostile
from tests.hostile.photo_files import encode

KIND = "EXIF garbage"
ZERO = IFDRational(0, 0)
BIG_ENDIAN, LITTLE_ENDIAN = b"MM\0*", b"II*\0"


def make_photos_with_bad_facts(folder: Path, picture: Image.Image) -> list[Hostile]:
    """Write photos with every kind of nonsense in their EXIF into the folder."""
    folder.mkdir(parents=True)
    made = []
    blocks = {**dict(_raw_blocks()), **{name: _tagged(**tags) for name, tags in TAGS.items()}}
    for name, block in blocks.items():
        path = folder / f"{name}.jpg"
        path.write_bytes(encode(picture, "JPEG", exif=block))
        made.append(Hostile(KIND, path, End.USED))
    return made


def _raw_blocks() -> Iterator[tuple[str, bytes]]:
    """EXIF blocks that are not even TIFF directories, or whose directories lead nowhere."""
    rng = np.random.default_rng(0)
    prefix = b"Exif\0\0"
    yield "noise", prefix + rng.bytes(500)
    yield "nothing", prefix
    yield "no-prefix", rng.bytes(64)
    for name, start in (("big", BIG_ENDIAN), ("little", LITTLE_ENDIAN)):
        order = ">" if name == "big" else "<"
        yield f"{name}-far-offset", prefix + start + struct.pack(f"{order}I", 2**32 - 1)
        yield f"{name}-many-entries", prefix + start + struct.pack(f"{order}IH", 8, 65535) + bytes(40)
        # A directory whose sub-directory (EXIF, tag 34665) and successor are itself.
        entry = struct.pack(f"{order}HHHII", 1, 34665, 4, 1, 8)
        yield f"{name}-loop", prefix + start + struct.pack(f"{order}I", 8) + entry + struct.pack(f"{order}I", 8)
        # A maker's name of four billion characters.
        entry = struct.pack(f"{order}HHHII", 1, 271, 2, 2**32 - 1, 26)
        yield f"{name}-long-text", prefix + start + struct.pack(f"{order}I", 8) + entry + bytes(20)
        for seed in range(3):
            garbage = prefix + start + struct.pack(f"{order}IH", 8, 12) + rng.bytes(160)
            yield f"{name}-random-{seed}", garbage


def _tagged(
    main: dict[int, object] | None = None,
    details: dict[int, object] | None = None,
    gps: dict[int, object] | None = None,
) -> bytes:
    """A well-formed EXIF block with the given tags."""
    exif = Image.Exif()
    exif.update(main or {})
    exif.get_ifd(ExifTags.IFD.Exif).update(details or {})
    exif.get_ifd(ExifTags.IFD.GPSInfo).update(gps or {})
    return exif.tobytes()


def _focal(value: object) -> dict[str, dict[int, object]]:
    return {
        "main": {ExifTags.Base.Make: "Maker", ExifTags.Base.Model: "Model"},
        "details": {ExifTags.Base.FocalLength: value, ExifTags.Base.FocalLengthIn35mmFilm: 0},
    }


def _position(
    latitude: tuple[object, ...], longitude: tuple[object, ...], **more: object
) -> dict[str, dict[int, object]]:
    tags = {
        ExifTags.GPS.GPSLatitudeRef: "N",
        ExifTags.GPS.GPSLatitude: latitude,
        ExifTags.GPS.GPSLongitudeRef: "E",
        ExifTags.GPS.GPSLongitude: longitude,
    }
    return {"gps": tags | {getattr(ExifTags.GPS, name): value for name, value in more.items()}}


TAGS: dict[str, dict[str, dict[int, object]]] = {
    "focal-zero": _focal(IFDRational(0, 1)),
    "focal-over-zero": _focal(IFDRational(5, 0)),
    "focal-zero-over-zero": _focal(ZERO),
    "focal-huge": _focal(IFDRational(2**32 - 1, 1)),
    "focal-tiny": _focal(IFDRational(1, 2**32 - 1)),
    "focal-35mm-huge": {"details": {ExifTags.Base.FocalLengthIn35mmFilm: 65535}},
    "focal-35mm-one": {"details": {ExifTags.Base.FocalLengthIn35mmFilm: 1}},
    "plane-zero": {
        "details": {
            ExifTags.Base.FocalLength: IFDRational(5, 1),
            ExifTags.Base.FocalPlaneXResolution: ZERO,
            ExifTags.Base.FocalPlaneResolutionUnit: 2,
        }
    },
    "maker-html": {"main": {ExifTags.Base.Make: "<img src=x onerror=alert(1)>", ExifTags.Base.Model: "'; DROP TABLE"}},
    "maker-long": {"main": {ExifTags.Base.Make: "m" * 30_000, ExifTags.Base.Model: "\x1b[31m\x07"}},
    "orientation-nine": {"main": {ExifTags.Base.Orientation: 9}},
    "gps-zero-over-zero": _position((ZERO, ZERO, ZERO), (ZERO, ZERO, ZERO)),
    "gps-too-far": _position((999.0, 0.0, 0.0), (999.0, 0.0, 0.0)),
    "gps-short": _position((10.0,), (10.0,)),
    "gps-altitude-over-zero": _position((10.0, 0.0, 0.0), (10.0, 0.0, 0.0), GPSAltitude=IFDRational(1, 0)),
    "gps-altitude-huge": _position((10.0, 0.0, 0.0), (10.0, 0.0, 0.0), GPSAltitude=IFDRational(2**32 - 1, 1)),
}
