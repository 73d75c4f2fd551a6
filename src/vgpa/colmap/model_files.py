"""Whether the binary files of a COLMAP model are whole, before pycolmap reads them.

pycolmap believes the counts that the files claim, and reads on for hours where a damaged one claims billions. Here
every record is walked over, and its counts are held against the bytes that are there. Nothing is allocated.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

import pycolmap

from vgpa.colmap.large_files import IMAGE, KEYPOINT, OBSERVATION, POINT

COUNT = Struct("<Q")
SHORT_COUNT = Struct("<I")
CAMERA = Struct("<IiQQ")
FRAME_SIZE, FRAME_DATA_SIZE = 4 + 4 + 7 * 8, 16
SENSOR_SIZE, SENSOR_POSE_SIZE = 8, 7 * 8


def check_binary_files(folder: Path) -> None:
    """Raise ValueError with a reason unless all counts in the model's binary files are those of their contents."""
    for name, skip in _RECORDS.items():
        path = folder / f"{name}.bin"
        if path.is_file():
            _check(path, skip)


@dataclass(frozen=True)
class _Bytes:
    """The bytes of a file, which are not read before they are needed."""

    content: bytes | mmap.mmap

    def count(self, start: int, form: Struct = COUNT) -> int:
        """The count that is stored at the given place."""
        if start + form.size > len(self.content):
            raise ValueError("it ends too early")
        return int(form.unpack_from(self.content, start)[0])

    def skip(self, start: int, num: int, size: int) -> int:
        """Where `num` records of the given size end."""
        end = start + num * size
        if end > len(self.content):
            raise ValueError("it ends too early")
        return end


def _check(path: Path, skip: Callable[[_Bytes, int], int]) -> None:
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""
            data = _Bytes(content)
            end = COUNT.size
            for _ in range(data.count(0)):
                end = skip(data, end)
    except ValueError as error:
        raise ValueError(f"{path.name} is damaged: {error}") from error


def _skip_camera(data: _Bytes, start: int) -> int:
    end = data.skip(start, 1, CAMERA.size)
    _, model, _, _ = CAMERA.unpack_from(data.content, start)
    if model not in _NUM_PARAMS:
        raise ValueError(f"camera model number {model} is unknown")
    return data.skip(end, _NUM_PARAMS[model], 8)


def _skip_image(data: _Bytes, start: int) -> int:
    end = data.content.find(b"\0", data.skip(start, 1, IMAGE.itemsize))
    if end < 0:
        raise ValueError("a name does not end")
    return data.skip(end + 1 + COUNT.size, data.count(end + 1), KEYPOINT.itemsize)


def _skip_point(data: _Bytes, start: int) -> int:
    end = start + POINT.itemsize
    return data.skip(end, data.count(end - COUNT.size), OBSERVATION.itemsize)


def _skip_frame(data: _Bytes, start: int) -> int:
    end = start + FRAME_SIZE
    return data.skip(end + SHORT_COUNT.size, data.count(end, SHORT_COUNT), FRAME_DATA_SIZE)


def _skip_rig(data: _Bytes, start: int) -> int:
    num_sensors = data.count(start + 4, SHORT_COUNT)
    end = data.skip(start + 8, min(num_sensors, 1), SENSOR_SIZE)
    for _ in range(num_sensors - 1):
        end = data.skip(end, 1, SENSOR_SIZE + 1)
        end = data.skip(end, int(data.content[end - 1] != 0), SENSOR_POSE_SIZE)
    return end


_NUM_PARAMS = {
    int(model): len(pycolmap.Camera.create_from_model_name(1, name, 1.0, 1, 1).params)
    for name, model in pycolmap.CameraModelId.__members__.items()
    if name != "INVALID"
}
_RECORDS = {
    "cameras": _skip_camera,
    "rigs": _skip_rig,
    "frames": _skip_frame,
    "images": _skip_image,
    "points3D": _skip_point,
}
