"""Hostile photos: damaged, absurd, exotic or mislabelled files with a photo's suffix.

All are made from one small healthy picture, so that a folder of them is matched quickly.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, TiffImagePlugin

from tests.hostile.corpus import End, Hostile

SUFFIX_OF = {"JPEG": ".jpg", "PNG": ".png", "TIFF": ".tif", "BMP": ".bmp", "WEBP": ".webp"}
NUM_FLIPPED = 4
BOMB_SIDE_PX = 40_000


def make_photo_files(folder: Path, picture: Image.Image) -> list[Hostile]:
    """Write every hostile photo into the folder."""
    folder.mkdir(parents=True)
    made = []
    makers = (_truncated, _empty, _too_small, _bombs, _exotic, _mislabelled, _flipped, _bad_chunks)
    for maker in makers:
        for kind, name, content, end in maker(picture):
            path = folder / f"{kind.replace(' ', '_')}-{name}"
            path.write_bytes(content)
            made.append(Hostile(kind, path, end))
    return made


Photo = tuple[str, str, bytes, End]
"""Kind, file name, content and end of one hostile photo."""


def encode(picture: Image.Image, form: str, **options: object) -> bytes:
    """The picture as the bytes of a file."""
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


def _truncated(picture: Image.Image) -> Iterator[Photo]:
    for form, suffix in SUFFIX_OF.items():
        whole = encode(picture, form)
        for percent in (1, 10, 30, 60, 90):
            yield "truncated", f"{percent}{suffix}", whole[: len(whole) * percent // 100], End.REFUSED
        # The last bytes of some formats hold nothing that is needed.
        yield "truncated", f"99{suffix}", whole[: len(whole) - 3], End.EITHER


def _empty(picture: Image.Image) -> Iterator[Photo]:
    for form, suffix in SUFFIX_OF.items():
        yield "zero bytes", f"0{suffix}", b"", End.REFUSED
        yield "magic only", f"0{suffix}", encode(picture, form)[:12], End.REFUSED


def _too_small(picture: Image.Image) -> Iterator[Photo]:
    for size in ((1, 1), (1, 4000), (4000, 1), (31, 31)):
        for form in ("JPEG", "PNG"):
            name = f"{size[0]}x{size[1]}{SUFFIX_OF[form]}"
            yield "too small", name, encode(picture.resize(size), form), End.REFUSED


def _bombs(picture: Image.Image) -> Iterator[Photo]:
    """A few bytes that claim, or unpack to, 40,000 x 40,000 pixels."""
    side = BOMB_SIDE_PX
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    yield "bomb", "header.png", _png([(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 100))]), End.REFUSED
    grey = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * ((side // 8 + 1) * side), 1)
    yield "bomb", "complete.png", _png([(b"IHDR", grey), (b"IDAT", rows), (b"IEND", b"")]), End.REFUSED
    jpeg = bytearray(encode(picture, "JPEG"))
    frame = jpeg.find(b"\xff\xc0")
    jpeg[frame + 5 : frame + 9] = struct.pack(">HH", side, side)
    yield "bomb", "header.jpg", bytes(jpeg), End.REFUSED
    bitmap = bytearray(encode(picture, "BMP"))
    bitmap[18:26] = struct.pack("<ii", side, side)
    yield "bomb", "header.bmp", bytes(bitmap), End.REFUSED
    yield "bomb", "header.tif", _with_tiff_size(encode(picture, "TIFF"), side), End.REFUSED
    bitmap[18:26] = struct.pack("<ii", -side, 2**31 - 1)
    yield "bomb", "negative.bmp", bytes(bitmap), End.REFUSED


def _exotic(picture: Image.Image) -> Iterator[Photo]:
    """Photos in every mode and variant that a camera, a scanner or an export may write."""
    grey = picture.convert("L")
    wide = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    modes = {
        "cmyk.jpg": encode(picture.convert("CMYK"), "JPEG"),
        "cmyk.tif": encode(picture.convert("CMYK"), "TIFF"),
        "grey.jpg": encode(grey, "JPEG"),
        "progressive.jpg": encode(picture, "JPEG", progressive=True),
        "quality1.jpg": encode(picture, "JPEG", quality=1),
        "16bit.png": encode(wide, "PNG"),
        "16bit.tif": encode(wide, "TIFF"),
        "float.tif": encode(Image.fromarray(np.asarray(grey).astype(np.float32) / 255), "TIFF"),
        "lab.tif": encode(picture.convert("LAB"), "TIFF"),
        "palette.png": encode(picture.quantize(16), "PNG"),
        "palette-transparent.png": encode(picture.quantize(16), "PNG", transparency=3),
        "one-bit.png": encode(picture.convert("1"), "PNG"),
        "one-bit.bmp": encode(picture.convert("1"), "BMP"),
        "grey-alpha.png": encode(grey.convert("LA"), "PNG"),
        "alpha.png": encode(picture.convert("RGBA"), "PNG"),
        "alpha.webp": encode(picture.convert("RGBA"), "WEBP"),
        "lossless.webp": encode(picture, "WEBP", lossless=True),
        "lzw.tif": encode(picture, "TIFF", compression="tiff_lzw"),
        "deflate.tif": encode(picture, "TIFF", compression="tiff_adobe_deflate"),
        "group4.tif": encode(picture.convert("1"), "TIFF", compression="group4"),
        "upper.JPG": encode(picture, "JPEG"),
        "16bit-colour.png": _png_16_bit(picture),
    }
    yield from (("exotic", name, content, End.USED) for name, content in modes.items())
    frames = [picture.rotate(angle) for angle in (90, 180, 270)]
    for form in ("PNG", "WEBP", "TIFF"):
        content = encode(picture, form, save_all=True, append_images=frames)
        yield "animated", f"frames{SUFFIX_OF[form]}", content, End.USED
    yield "animated", "frames-gif.png", encode(picture, "GIF", save_all=True, append_images=frames), End.EITHER


def _mislabelled(picture: Image.Image) -> Iterator[Photo]:
    for form in SUFFIX_OF:
        for suffix in (".jpg", ".png", ".tif"):
            if suffix != SUFFIX_OF[form]:
                yield "wrong extension", f"{form.lower()}{suffix}", encode(picture, form), End.EITHER
    strangers = {
        "text.jpg": b"this is no photo\n" * 50,
        "page.png": b"<html><script>alert(1)</script></html>",
        "drawing.jpg": b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        "archive.jpg": b"PK\x03\x04" + bytes(200),
        "program.png": b"\x7fELF" + bytes(500),
        "heic.jpg": b"\0\0\0\x18ftypheic" + bytes(100),
        "postscript.jpg": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 99 99\n/x {x} def x\n",
        "pickle.jpg": b"\x80\x04cos\nsystem\n(S'touch pwned'\ntR.",
        "script.png": b"#!/bin/sh\ntouch pwned\n",
        "noise.jpg": np.random.default_rng(0).bytes(4000),
        "noise.webp": np.random.default_rng(1).bytes(4000),
    }
    yield from (("no photo", name, content, End.REFUSED) for name, content in strangers.items())


def _flipped(picture: Image.Image) -> Iterator[Photo]:
    """Bytes changed here and there, behind the first ones."""
    for number, (form, suffix) in enumerate(SUFFIX_OF.items()):
        for seed in range(NUM_FLIPPED):
            rng = np.random.default_rng([number, seed])
            content = np.frombuffer(encode(picture, form), dtype=np.uint8).copy()
            where = rng.integers(20, len(content), 1 + 5 * seed)
            content[where] = rng.integers(0, 256, len(where))
            yield "flipped bytes", f"{seed}{suffix}", content.tobytes(), End.EITHER


def _bad_chunks(picture: Image.Image) -> Iterator[Photo]:
    """Side information that is garbage, in photos whose pixels are fine."""
    png = encode(picture, "PNG")
    text_bomb = b"Comment\0\0" + zlib.compress(bytes(2**27), 9)
    yield "bad chunk", "text-bomb.png", _with_chunk(png, b"zTXt", text_bomb), End.EITHER
    yield "bad chunk", "profile.png", _with_chunk(png, b"iCCP", b"x\0\0garbage"), End.EITHER
    yield "bad chunk", "gamma.png", _with_chunk(png, b"gAMA", b"\0\0\0\0"), End.EITHER
    yield "bad chunk", "checksum.png", png[:29] + bytes(4) + png[33:], End.EITHER
    yield "bad chunk", "profile.jpg", encode(picture, "JPEG", icc_profile=b"garbage" * 9000), End.USED
    yield "bad chunk", "comment.jpg", encode(picture, "JPEG", comment=b"\xff\xd9" * 30_000), End.USED
    yield "bad chunk", "trailing.jpg", encode(picture, "JPEG") + b"\xff\xd8" * 4000, End.USED


def _png(chunks: list[tuple[bytes, bytes]]) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in chunks)


def _with_chunk(png: bytes, kind: bytes, data: bytes) -> bytes:
    """The same PNG with one more chunk behind its header."""
    header_end = 33
    return png[:header_end] + _png([(kind, data)])[8:] + png[header_end:]


def _png_16_bit(picture: Image.Image) -> bytes:
    pixels = np.asarray(picture).astype(">u2") * 257
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)
    return _png([(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")])


def _with_tiff_size(tiff: bytes, side: int) -> bytes:
    """The same TIFF with another width and height in its directory."""
    content = bytearray(tiff)
    (start,) = struct.unpack_from("<I", content, 4)
    (num_entries,) = struct.unpack_from("<H", content, start)
    for k in range(num_entries):
        entry = start + 2 + 12 * k
        (tag,) = struct.unpack_from("<H", content, entry)
        if tag in (TiffImagePlugin.IMAGEWIDTH, TiffImagePlugin.IMAGELENGTH):
            content[entry + 2 : entry + 12] = struct.pack("<HII", 4, 1, side)
    return bytes(content)
