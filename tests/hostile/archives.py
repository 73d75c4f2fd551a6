"""Hostile files of arrays: RESfM's npz, network weights in safetensors, and hloc's HDF5."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np

from tests.hostile.corpus import End, Hostile
from tests.hostile.originals import make_hloc_files, make_tracks, make_weights

HLOC_NAMES, HLOC_SIZE_PX = ("a.png", "b.png"), (48, 40)
RUNS_CODE = b"\x80\x04cos\nsystem\n(S'touch pwned'\ntR."
"""A pickle that runs a command when it is loaded."""


def make_track_files(folder: Path) -> list[Hostile]:
    """Write hostile npz files of tracks into the folder."""
    folder.mkdir(parents=True)
    whole = _zipped(make_tracks())
    calibrated = {"Ns.npy": _npy("'<f8'", (3, 3, 3), make_tracks()["Ns"].tobytes())}
    contents = {
        **dict(_bad_arrays()),
        **_damaged(whole),
        "objects": _zipped_raw(calibrated | {"M.npy": _npy("'|O'", (6, 60), RUNS_CODE)}),
        "claims-millions": _zipped_raw(calibrated | {"M.npy": _npy("'<f8'", (6, 10**12), b"")}),
        "claims-negative": _zipped_raw(calibrated | {"M.npy": _npy("'<f8'", (-6, 60), bytes(8))}),
        "code-in-header": _zipped_raw({"M.npy": _npy("__import__('os').system('touch pwned')", (6, 60), b"")}),
        "zip-bomb": _zipped_raw({"M.npy": bytes(2**26), "Ns.npy": bytes(2**26)}),
        "members-outside": _zipped_raw({"../../pwned.npy": b"x", "/etc/pwned.npy": b"x"}),
    }
    return _written(folder, contents, ".npz", "hostile tracks (npz)")


def _bad_arrays() -> Iterator[tuple[str, bytes]]:
    good = make_tracks()
    changes: dict[str, dict[str, np.ndarray]] = {
        "nan": {"M": np.where(np.arange(60) == 5, np.nan, good["M"])},
        "infinite": {"M": np.where(np.arange(60) == 5, np.inf, good["M"])},
        "huge": {"M": good["M"] * 1e300},
        "flat": {"M": good["M"].ravel()},
        "odd-rows": {"M": good["M"][:5]},
        "complex": {"M": good["M"].astype(np.complex128)},
        "text": {"M": good["M"].astype(str)},
        "singular": {"Ns": np.zeros((3, 3, 3))},
        "one-image": {"Ns": good["Ns"][:1], "M": good["M"][:2]},
        "none": {"Ns": good["Ns"][:0], "M": good["M"][:0]},
        "skewed": {"Ns": np.tile(np.array([[1.0, 1, 0], [0, 1, 0], [0, 0, 1]]), (3, 1, 1))},
        "names-twice": {"namesList": np.array(["a", "a", "a"])},
        "names-outside": {"namesList": np.array(["../a", "/etc/passwd", "c"])},
        "names-empty": {"namesList": np.array(["", "b", "c"])},
        "names-too-few": {"namesList": np.array(["a", "b"])},
    }
    yield from ((name, _zipped(good | change)) for name, change in changes.items())
    for name in ("M", "Ns"):
        yield f"without-{name}", _zipped({key: array for key, array in good.items() if key != name})


def make_weight_files(folder: Path) -> list[Hostile]:
    """Write hostile weights files into the folder."""
    folder.mkdir(parents=True)
    whole = make_weights(folder).read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    header, data = json.loads(whole[8 : 8 + length]), whole[8 + length :]
    (folder / "weights.safetensors").unlink()
    tensor = next(name for name in header if name != "__metadata__")
    claims = {"dtype": "F32", "shape": [10**9, 10**9], "data_offsets": [0, 4 * 10**18]}
    config = json.loads(header["__metadata__"]["config"])

    def with_config(**changes: object) -> bytes:
        metadata = header["__metadata__"] | {"config": json.dumps(config | changes)}
        return _safetensors(header | {"__metadata__": metadata}, data)

    nan = np.full(len(data) // 4, np.nan, dtype=np.float32).tobytes()
    contents = {
        **_damaged(whole),
        "header-of-exabytes": struct.pack("<Q", 2**63) + whole[8:],
        "header-of-zero": struct.pack("<Q", 0) + whole[8:],
        "header-no-json": struct.pack("<Q", length) + b"x" * length + data,
        "header-deep": _safetensors_raw(b'{"a":' * 100_000, data),
        "claims-millions": _safetensors(header | {tensor: claims}, data),
        "overlapping": _safetensors(dict.fromkeys(("a", "b"), header[tensor]), data),
        "pickle": RUNS_CODE,
        "no-metadata": _safetensors({name: value for name, value in header.items() if name != "__metadata__"}, data),
        "unknown-kind": _safetensors(header | {"__metadata__": {"kind": "<b>", "config": "{}"}}, data),
        "config-no-json": _safetensors(header | {"__metadata__": {"kind": "paper", "config": "{"}}, data),
        "config-list": _safetensors(header | {"__metadata__": {"kind": "paper", "config": "[1]"}}, data),
        "config-unknown": with_config(future=1),
        "config-huge": with_config(width=10**9),
        "config-many-layers": with_config(num_layers=10**9),
        "config-wide": with_config(width=4096),
        "config-wide-and-deep": with_config(width=4096, num_layers=4096),
        "config-negative": with_config(width=-1),
        "config-text": with_config(width="wide"),
        "other-width": with_config(width=8),
        "nan": whole[: 8 + length] + nan,
    }
    return _written(folder, contents, ".safetensors", "hostile weights (safetensors)")


def make_hloc_folders(folder: Path) -> list[Hostile]:
    """Write pairs of hloc files, each in a folder of its own, of which one file is hostile."""
    folder.mkdir(parents=True)
    features, matches = make_hloc_files(folder, HLOC_NAMES, HLOC_SIZE_PX)
    healthy = {path.name: path.read_bytes() for path in (features, matches)}
    features.unlink()
    matches.unlink()
    made = []
    for name in healthy:
        for kind, content in {**_damaged(healthy[name]), "text": b"no file of hloc"}.items():
            made.append(_write_hloc(folder / f"{name}-{kind}", healthy | {name: content}))
    for kind, (name, path, array) in HLOC_CHANGES.items():
        place = _write_hloc(folder / kind.replace(" ", "_"), healthy)
        with h5py.File(place.path / name, "a") as file:
            del file[path]
            if array is not None:
                file.create_dataset(path, **array)
        made.append(place)
    made.append(_write_hloc(folder / "link-outside", healthy))
    with h5py.File(made[-1].path / "features.h5", "a") as file:
        del file["a.png/keypoints"]
        file["a.png/keypoints"] = h5py.ExternalLink("/etc/passwd", "x")
    return made


def _claim(*shape: int) -> dict[str, object]:
    """A dataset that claims a shape and stores nothing."""
    return {"shape": shape, "dtype": "i4", "chunks": (64, 2)[: len(shape)]}


HLOC_CHANGES: dict[str, tuple[str, str, dict[str, object] | None]] = {
    "keypoints missing": ("features.h5", "a.png/keypoints", None),
    "keypoints of three columns": ("features.h5", "a.png/keypoints", {"data": np.zeros((20, 3))}),
    "keypoints that are NaN": ("features.h5", "a.png/keypoints", {"data": np.full((20, 2), np.nan)}),
    "keypoints far outside": ("features.h5", "a.png/keypoints", {"data": np.full((20, 2), 1e30)}),
    "keypoints in text": ("features.h5", "a.png/keypoints", {"data": np.full((20, 2), b"x")}),
    "keypoints without end": ("features.h5", "a.png/keypoints", _claim(2**40, 2)),
    "another image size": ("features.h5", "a.png/image_size", {"data": np.array([9999, 9999])}),
    "image size that is NaN": ("features.h5", "a.png/image_size", {"data": np.array([np.nan, 1])}),
    "matches missing": ("matches.h5", "a.png/b.png/matches0", None),
    "matches to nowhere": ("matches.h5", "a.png/b.png/matches0", {"data": np.full(20, 9999)}),
    "matches below -1": ("matches.h5", "a.png/b.png/matches0", {"data": np.full(20, -7)}),
    "matches too many": ("matches.h5", "a.png/b.png/matches0", {"data": np.zeros(99, dtype=np.int64)}),
    "matches without end": ("matches.h5", "a.png/b.png/matches0", _claim(2**40)),
}


def _write_hloc(folder: Path, files: dict[str, bytes]) -> Hostile:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return Hostile("hostile hloc files (h5)", folder, End.EITHER if "99" in folder.name else End.REFUSED)


def _written(folder: Path, contents: dict[str, bytes], suffix: str, kind: str) -> list[Hostile]:
    made = []
    for name, content in contents.items():
        path = folder / f"{name}{suffix}"
        path.write_bytes(content)
        made.append(Hostile(kind, path, End.EITHER if name in ("flipped-1", "nan-weights") else End.REFUSED))
    return made


def _damaged(whole: bytes) -> dict[str, bytes]:
    """The usual ways in which a file is damaged."""
    parts = {f"first-{percent}": whole[: len(whole) * percent // 100] for percent in (1, 25, 50, 99)}
    return {"empty": b"", "noise": np.random.default_rng(0).bytes(3000), "zeros": bytes(len(whole)), **parts}


def _zipped(arrays: dict[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _zipped_raw(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _npy(descr: str, shape: tuple[int, ...], data: bytes) -> bytes:
    """An npy file whose header claims what one likes."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def _safetensors(header: dict[str, object], data: bytes) -> bytes:
    return _safetensors_raw(json.dumps(header).encode(), data)


def _safetensors_raw(header: bytes, data: bytes) -> bytes:
    return struct.pack("<Q", len(header)) + header + data
