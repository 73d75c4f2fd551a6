"""Poses of other methods come back from every file they are usually left in, whatever way round they are stored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.synthetic import Truth, make_problem
from vgpa.baselines.imported import find_imported, read_imported
from vgpa.colmap.model import write_model
from vgpa.errors import InputError
from vgpa.geometry.rotation import rotation_angle_rad, xyzw_from_wxyz
from vgpa.scene import Poses, Reconstruction, Tracks

NUM_IMAGES = 6


@pytest.fixture(scope="module")
def truth() -> Truth:
    return make_problem(NUM_IMAGES, 10)


def four_by_four(matrix: np.ndarray) -> np.ndarray:
    return np.concatenate([matrix, np.tile([[[0.0, 0, 0, 1]]], (len(matrix), 1, 1))], axis=1)


def write_colmap(path: Path, truth: Truth) -> Path:
    images, nothing = truth.problem.images, np.zeros((0, 3))
    poses = Poses.of_all(truth.cam_from_world)
    model = Reconstruction(images, poses, nothing, Tracks.empty(), np.zeros(0), nothing.astype(np.uint8))
    write_model(model, truth.problem.keypoints, path / "sparse" / "0")
    return path


def write_vggt(path: Path, truth: Truth) -> Path:
    """As VGGT writes predictions.npz: float32, world to camera, with much else."""
    extrinsic = truth.cam_from_world.matrix[None].astype(np.float32)
    np.savez(path / "predictions.npz", extrinsic=extrinsic, images=np.zeros((6, 3, 4, 4)), depth=np.zeros(3))
    return path / "predictions.npz"


def write_named(path: Path, truth: Truth) -> Path:
    """In another order, with names as bytes, of which only the file's part is told."""
    order = [3, 1, 0, 5, 4, 2]
    names = np.array([f"photos/{truth.problem.images.names[k]}".encode() for k in order])
    np.savez(path / "poses.npz", c2w=four_by_four(truth.cam_from_world.inverse().matrix)[order], image_names=names)
    return path / "poses.npz"


def write_resfm(path: Path, truth: Truth) -> Path:
    inverse = truth.cam_from_world.inverse()
    names = np.array(truth.problem.images.names, dtype=object)
    np.savez(path / "Final.npz", Rs_ba=inverse.rotation, ts_ba=inverse.translation, namesList=names)
    return path / "Final.npz"


def write_cut3r(path: Path, truth: Truth) -> Path:
    (path / "camera").mkdir()
    for k, matrix in enumerate(four_by_four(truth.cam_from_world.inverse().matrix)):
        np.savez(path / "camera" / f"{k:06d}.npz", pose=matrix.astype(np.float32), intrinsics=np.eye(3))
    return path


def write_tum(path: Path, truth: Truth) -> Path:
    """Times are numbers of images; the lines are not in order."""
    inverse = truth.cam_from_world.inverse()
    rows = np.hstack([inverse.translation, xyzw_from_wxyz(inverse.quaternion_wxyz)])
    lines = [f"{k}.0 " + " ".join(map(repr, row)) for k, row in enumerate(rows.tolist())]
    (path / "traj.txt").write_text("# time tx ty tz qx qy qz qw\n" + "\n".join(reversed(lines)) + "\n")
    return path / "traj.txt"


def write_tum_by_name(path: Path, truth: Truth) -> Path:
    text = write_tum(path, truth).read_text()
    for k, name in enumerate(truth.problem.images.names):
        text = text.replace(f"\n{k}.0 ", f"\n{Path(name).stem} ")
    (path / "named.txt").write_text(text)
    return path / "named.txt"


def write_kitti(path: Path, truth: Truth) -> Path:
    np.savetxt(path / "poses.txt", truth.cam_from_world.inverse().matrix.reshape(NUM_IMAGES, 12), fmt="%.17g")
    return path / "poses.txt"


WRITERS = (
    *(write_colmap, write_vggt, write_named, write_resfm),
    *(write_cut3r, write_tum, write_tum_by_name, write_kitti),
)


@pytest.mark.parametrize("write", WRITERS)
def test_poses_come_back(write: Callable[[Path, Truth], Path], truth: Truth, tmp_path: Path) -> None:
    model = read_imported(write(tmp_path, truth), truth.problem.images)
    found = model.poses.cam_from_world
    assert model.poses.is_known.all()
    assert model.images is truth.problem.images
    assert rotation_angle_rad(found.rotation, truth.cam_from_world.rotation).max() < 1e-6
    np.testing.assert_allclose(found.centre, truth.cam_from_world.centre, atol=1e-5)


def test_unknown_poses_and_foreign_images_are_left_out(truth: Truth, tmp_path: Path) -> None:
    matrix = truth.cam_from_world.matrix.copy()
    matrix[2] = np.nan
    names = [*truth.problem.images.names[:5], "another.jpg"]
    np.savez(tmp_path / "poses.npz", w2c=matrix, names=np.array(names))
    model = read_imported(tmp_path / "poses.npz", truth.problem.images)
    assert model.poses.is_known.tolist() == [True, True, False, True, True, False]


def test_poses_without_names_must_be_complete(truth: Truth, tmp_path: Path) -> None:
    np.savez(tmp_path / "poses.npz", w2c=truth.cam_from_world.matrix[:4])
    with pytest.raises(InputError, match=r"4 poses for 6 names"):
        read_imported(tmp_path / "poses.npz", truth.problem.images)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("poses.npz", b"not an archive", "pickle"),
        ("poses.txt", b"1 2 3\n", "8 numbers"),
        ("poses.txt", b"1 2 3 4 5 6 7 8\n1 2\n", "all lines alike"),
        ("poses.txt", b"", "8 numbers"),
        ("poses.txt", b"a b c d e f g h\n", "could not convert"),
        ("poses.txt", b"\xff\xfe\x00", "decode"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(
    name: str, content: bytes, reason: str, truth: Truth, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=rf"(?s){name} cannot be read \(.*{reason}.*\)\. Give a COLMAP model"):
        read_imported(tmp_path / name, truth.problem.images)


def test_matrices_that_are_no_poses_are_refused(truth: Truth, tmp_path: Path) -> None:
    np.savez(tmp_path / "poses.npz", w2c=2 * truth.cam_from_world.matrix)
    with pytest.raises(InputError, match="not a rotation"):
        read_imported(tmp_path / "poses.npz", truth.problem.images)


def test_pickles_are_not_loaded(truth: Truth, tmp_path: Path) -> None:
    np.savez(tmp_path / "poses.npz", w2c=np.array([truth], dtype=object))
    with pytest.raises(InputError, match="allow_pickle=False"):
        read_imported(tmp_path / "poses.npz", truth.problem.images)


def test_a_scenes_file_is_found_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b.npz").touch()
    found = [find_imported(tmp_path, name) for name in ("a", "b", "c")]
    assert found == [tmp_path / "a", tmp_path / "b.npz", None]
