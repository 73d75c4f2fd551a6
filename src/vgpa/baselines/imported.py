"""Poses that another method left in files, so that it can stand in a table although it cannot be run here.

    folder of a COLMAP model    itself, or below sparse/0, sparse or 0 (VGGT, VGGSfM, MASt3R-SfM, any mapper)
    folder of camera/*.npz      one file per image, in order, with `pose`, camera to world (CUT3R, TTT3R)
    .npz, world to camera       `extrinsic`, `extrinsics`, `cam_from_world`, `w2c` or `T_w2c`, (n, 3, 4) or (n, 4, 4)
    .npz, camera to world       `pose`, `poses`, `c2w`, `cam2world`, `camera_poses` or `world_from_cam`, likewise
    .npz of RESfM               `Rs_ba` and `ts_ba` (or `Rs` and `ts`): camera-to-world rotations and camera centres
    .txt, 8 numbers a line      TUM: time, position, quaternion x y z w of the camera in the world
    .txt, 12 numbers a line     KITTI: camera to world, row by row

Images are known by name where the file has names (in an npz: `names`, `image_names` or `namesList`), by time where a
TUM file's times are the images' names or numbers, and else by their order, which is that of the sorted names: then
there must be one pose per image. A pose with numbers that are not finite is one that the method does not know.
Pickled objects are never loaded.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from vgpa.colmap.model import read_model
from vgpa.errors import InputError
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, nearest_rotation
from vgpa.scene import ImageSet, Poses, Reconstruction, Tracks

MODEL_FOLDERS = (".", "sparse/0", "sparse", "0")
WORLD_TO_CAM = ("extrinsic", "extrinsics", "cam_from_world", "w2c", "T_w2c")
CAM_TO_WORLD = ("pose", "poses", "c2w", "cam2world", "camera_poses", "world_from_cam")
NAMES = ("names", "image_names", "namesList")
MAX_STRAIN = 0.05
"""How far a matrix may be from a rotation, entry by entry; more is not a pose."""

Posed = tuple[Sequence[str] | None, FloatArray]
"""Names (None: in order) and cam_from_world matrices (n, 3, 4)."""


def read_imported(path: Path, images: ImageSet) -> Reconstruction:
    """The poses of a file or a folder as a model of the given images, without points."""
    try:
        names, matrix = _reader(path)(path, images)
        poses = _match(names, matrix, images)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"The poses of {path} cannot be read ({error})",
            "Give a COLMAP model, an npz of extrinsics, or a TUM or KITTI trajectory, with one pose per image",
        ) from error
    no_color = np.zeros((0, 3), dtype=np.uint8)
    return Reconstruction(images, poses, np.zeros((0, 3)), Tracks.empty(), np.zeros(0), no_color)


def find_imported(path: Path, scene: str) -> Path | None:
    """Where a scene's poses lie below a folder: SCENE, SCENE.npz or SCENE.txt; None where there are none."""
    candidates = (path / scene, path / f"{scene}.npz", path / f"{scene}.txt")
    return next((candidate for candidate in candidates if candidate.exists()), None)


def _reader(path: Path) -> Callable[[Path, ImageSet], Posed]:
    if path.is_dir():
        return _read_model if _model_folder(path) is not None else _read_frames
    if not path.is_file():
        raise FileNotFoundError("there is nothing")
    return _read_npz if path.suffix == ".npz" else _read_trajectory


def _model_folder(path: Path) -> Path | None:
    folders = [path / name for name in MODEL_FOLDERS]
    return next((f for f in folders if (f / "images.bin").is_file() or (f / "images.txt").is_file()), None)


def _read_model(path: Path, images: ImageSet) -> Posed:
    folder = _model_folder(path)
    assert folder is not None
    model, _ = read_model(folder)
    return model.images.names, model.poses.cam_from_world.matrix


def _read_frames(path: Path, images: ImageSet) -> Posed:
    """One npz per image, in the order of their names."""
    folder = path / "camera" if (path / "camera").is_dir() else path
    files = sorted(folder.glob("*.npz"))
    if not files:
        raise ValueError("there is neither a COLMAP model nor an npz")
    if len(files) == 1:
        return _read_npz(files[0], images)
    return None, np.concatenate([_read_npz(file, images)[1] for file in files])


def _read_npz(path: Path, images: ImageSet) -> Posed:
    with np.load(path, allow_pickle=False) as file:
        names = _names_in(file)
        for key in (*WORLD_TO_CAM, *CAM_TO_WORLD):
            if key in file.files:
                matrix = _as_matrices(file[key])
                return names, matrix if key in WORLD_TO_CAM else _inverted(matrix)
        for rotations, centres in (("Rs_ba", "ts_ba"), ("Rs", "ts")):
            if rotations in file.files and centres in file.files:
                motion = np.concatenate([file[rotations], file[centres].reshape(-1, 3, 1)], axis=2)
                return names, _inverted(_as_matrices(motion))
    wanted = ", ".join((*WORLD_TO_CAM, *CAM_TO_WORLD))
    raise ValueError(f"there is none of the arrays {wanted}, Rs_ba with ts_ba")


def _names_in(file: np.lib.npyio.NpzFile) -> list[str] | None:
    """The names of a file, where it keeps them as text: published files keep them as Python objects too."""
    for key in NAMES:
        if key in file.files:
            try:
                array = file[key]
            except ValueError:
                return None
            if array.dtype.kind in "US":
                decoded = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
                return [str(name) for name in decoded.ravel()]
    return None


def _as_matrices(array: np.ndarray) -> FloatArray:
    """(n, 3, 4) from (n, 3, 4), (n, 4, 4), one such matrix, or these in a batch of one."""
    matrix = np.asarray(array, dtype=np.float64)
    while matrix.ndim > 3 and matrix.shape[0] == 1:
        matrix = matrix[0]
    matrix = matrix[None] if matrix.ndim == 2 else matrix
    if matrix.ndim != 3 or matrix.shape[1:] not in ((3, 4), (4, 4)):
        raise ValueError(f"poses should have shape (n, 3, 4) or (n, 4, 4), but have {array.shape}")
    return np.where(np.isfinite(matrix), matrix, np.nan)[:, :3]


def _read_trajectory(path: Path, images: ImageSet) -> Posed:
    lines = [line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    lengths = {len(line) for line in lines}
    if lengths == {12}:
        return None, _inverted(np.array(lines, dtype=np.float64).reshape(-1, 3, 4))
    if lengths != {8}:
        raise ValueError("a line should hold 8 numbers (TUM) or 12 (KITTI), all lines alike")
    numbers = np.array([line[1:] for line in lines], dtype=np.float64)
    quaternion_xyzw = numbers[:, 3:]
    length = np.linalg.norm(quaternion_xyzw, axis=1, keepdims=True)
    unit = np.roll(quaternion_xyzw / np.where(length > 0, length, np.nan), 1, axis=1)
    is_known = np.isfinite(unit).all(axis=1) & np.isfinite(numbers[:, :3]).all(axis=1)
    matrix = np.full((len(lines), 3, 4), np.nan)
    matrix[is_known] = Rigid(unit[is_known], numbers[is_known, :3]).inverse().matrix
    return _names_of_times([line[0] for line in lines], images), matrix


def _names_of_times(times: list[str], images: ImageSet) -> list[str] | None:
    """Times that are names without their ending, or numbers of images in order; None where they are neither."""
    stems = {PurePosixPath(name).stem for name in images.names}
    if stems.issuperset(times):
        return times
    ordered = sorted(images.names)
    numbers = np.array(times, dtype=np.float64)
    if (numbers == np.round(numbers)).all() and numbers.min() >= 0 and numbers.max() < len(ordered):
        return [ordered[int(number)] for number in numbers]
    return None


def _inverted(matrix: FloatArray) -> FloatArray:
    """(n, 3, 4) motions the other way round; those that are not finite stay so."""
    back = np.swapaxes(matrix[:, :, :3], 1, 2)
    return np.concatenate([back, -back @ matrix[:, :, 3:]], axis=2)


def _match(names: Sequence[str] | None, matrix: FloatArray, images: ImageSet) -> Poses:
    """Poses of the images: by name, or by name without folder and ending where that tells them apart, or in order."""
    if names is None:
        names = sorted(images.names)
    if len(names) != len(matrix):
        raise ValueError(f"there are {len(matrix)} poses for {len(names)} names")
    index = {name: k for k, name in enumerate(images.names)}
    stems = [PurePosixPath(name).stem for name in images.names]
    by_stem = {stem: k for k, stem in enumerate(stems) if stems.count(stem) == 1}
    at = np.array([index.get(name, by_stem.get(PurePosixPath(name).stem, -1)) for name in names], dtype=np.int64)
    usable = (at >= 0) & np.isfinite(matrix).all(axis=(1, 2))
    if not usable.any():
        raise ValueError("no pose belongs to an image of the scene")
    if len(set(at[usable].tolist())) != usable.sum():
        raise ValueError("an image has two poses")
    rotation = nearest_rotation(matrix[usable, :, :3])
    if np.abs(rotation - matrix[usable, :, :3]).max() > MAX_STRAIN:
        raise ValueError("a pose is not a rotation and a translation")
    return Poses.of_all(Rigid.from_matrix(rotation, matrix[usable, :, 3])).scatter(at[usable], len(images))
