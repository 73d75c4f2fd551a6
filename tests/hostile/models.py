"""Hostile COLMAP models: folders of which one file is damaged, or claims what it does not hold."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import numpy as np
import pycolmap

from tests.hostile.corpus import End, Hostile
from tests.hostile.originals import make_database
from vgpa.colmap.silence import silenced

KIND = "hostile COLMAP model"


def make_models(folder: Path) -> list[Hostile]:
    """Write every hostile model into the folder."""
    original = folder.parent / "model"
    make_database(folder.parent / "of-model.db", original)
    folder.mkdir(parents=True)
    made = []
    for path in sorted(original.glob("*.bin")):
        whole = path.read_bytes()
        for name, content in _damaged_binary(whole).items():
            place = Path(shutil.copytree(original, folder / f"{path.stem}-{name}"))
            (place / path.name).write_bytes(content)
            made.append(Hostile(KIND, place, End.REFUSED))
    return [*made, *_texts(folder, original), *_no_models(folder)]


def _damaged_binary(whole: bytes) -> dict[str, bytes]:
    rng = np.random.default_rng(0)
    return {
        "empty": b"",
        "half": whole[: len(whole) // 2],
        "noise": rng.bytes(len(whole)),
        "claims-billions": struct.pack("<Q", 10**12) + whole[8:],
        "claims-all": struct.pack("<Q", 2**64 - 1) + whole[8:],
        "claims-one-more": struct.pack("<Q", struct.unpack("<Q", whole[:8])[0] + 1) + whole[8:],
    }


def _texts(folder: Path, original: Path) -> list[Hostile]:
    """The same model as text, with a line that makes no sense in one of its files."""
    plain = folder.parent / "text-model"
    plain.mkdir()
    with silenced():
        pycolmap.Reconstruction(original).write_text(plain)
    made = []
    for name in ("cameras", "images", "points3D"):
        for kind, line in {"words": "this is no line", "short": "1 2", "nan": "1 nan nan nan nan nan"}.items():
            place = Path(shutil.copytree(plain, folder / f"text-{name}-{kind}"))
            content = (place / f"{name}.txt").read_text()
            (place / f"{name}.txt").write_text(f"{content}{line}\n")
            # A line that says too little of an image is passed over by COLMAP.
            made.append(Hostile(KIND, place, End.EITHER))
    return made


def _no_models(folder: Path) -> list[Hostile]:
    (folder / "nothing").mkdir()
    (folder / "file").write_text("no folder")
    (folder / "loop").symlink_to("loop")
    return [Hostile(KIND, folder / name, End.REFUSED) for name in ("nothing", "file", "loop", "missing")]
