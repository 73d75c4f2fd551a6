"""transforms.json in nerfstudio's conventions: projections rebuilt from it meet the keypoints as COLMAP's do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.report.export.models import error_px, make_model
from vgpa.colmap.model import read_model
from vgpa.errors import InputError
from vgpa.mapping.triangulate import observed_px
from vgpa.report.export.nerfstudio import write_nerfstudio
from vgpa.report.ply import VERTEX
from vgpa.scene import Keypoints, Reconstruction

PERSPECTIVE = ("SIMPLE_PINHOLE", "PINHOLE", "SIMPLE_RADIAL", "RADIAL", "OPENCV")
FISHEYE = ("SIMPLE_RADIAL_FISHEYE", "RADIAL_FISHEYE", "OPENCV_FISHEYE")


def read_points(path: Path) -> np.ndarray:
    vertices = np.frombuffer(path.read_bytes().partition(b"end_header\n")[2], dtype=VERTEX)
    return np.stack([vertices[axis] for axis in "xyz"], axis=-1).astype(float)


def nerfstudio_pixels(fields: dict[str, Any], frame: dict[str, Any], xyz: np.ndarray) -> np.ndarray:
    """(n, 2) where nerfstudio's camera of a frame sees points of the saved world (OpenGL axes, OpenCV lenses)."""
    cam_from_saved = np.linalg.inv(np.array(frame["transform_matrix"]))
    right, up, back = (xyz @ cam_from_saved[:3, :3].T + cam_from_saved[:3, 3]).T
    x, y = right / -back, -up / -back
    k1, k2, k3, k4, p1, p2 = (fields.get(name, 0.0) for name in ("k1", "k2", "k3", "k4", "p1", "p2"))
    r2 = x**2 + y**2
    if fields["camera_model"] == "OPENCV_FISHEYE":
        theta = np.arctan(np.sqrt(r2))
        ratio = theta * (1 + k1 * theta**2 + k2 * theta**4 + k3 * theta**6 + k4 * theta**8) / np.sqrt(r2)
        x, y = x * ratio, y * ratio
    else:
        ratio = 1 + k1 * r2 + k2 * r2**2
        x, y = (
            x * ratio + 2 * p1 * x * y + p2 * (r2 + 2 * x**2),
            y * ratio + 2 * p2 * x * y + p1 * (r2 + 2 * y**2),
        )
    return np.stack([fields["fl_x"] * x + fields["cx"], fields["fl_y"] * y + fields["cy"]], axis=-1)


def exported_error_px(folder: Path, model: Reconstruction, keypoints: Keypoints) -> np.ndarray:
    """(num_obs,) reprojection error of every observation, from transforms.json and its points alone."""
    meta = json.loads((folder / "transforms.json").read_text())
    xyz = read_points(folder / meta["ply_file_path"])[model.tracks.track_idx]
    frames = {frame["file_path"].removeprefix("images/"): frame for frame in meta["frames"]}
    seen = np.zeros((len(xyz), 2))
    for k, name in enumerate(model.images.names):
        rows = model.tracks.image_idx == k
        seen[rows] = nerfstudio_pixels(meta | frames[name], frames[name], xyz[rows])
    return np.linalg.norm(seen - observed_px(keypoints, model.tracks), axis=-1)


@pytest.mark.parametrize("is_z_up", [False, True])
@pytest.mark.parametrize("lenses", [*((lens,) for lens in PERSPECTIVE + FISHEYE), PERSPECTIVE, FISHEYE])
def test_points_meet_keypoints_as_in_colmap(lenses: tuple[str, ...], is_z_up: bool, tmp_path: Path) -> None:
    model, keypoints = make_model(*lenses)
    write_nerfstudio(model, is_z_up, tmp_path)
    error = error_px(model, keypoints)
    assert error.mean() == pytest.approx(0.6, abs=0.1)
    np.testing.assert_allclose(exported_error_px(tmp_path, model, keypoints), error, atol=2e-3)


@pytest.mark.parametrize("scene", ["lund29", "statue_of_liberty_135"])
def test_real_models_keep_their_error(scene: str, data_dir: Path, tmp_path: Path) -> None:
    model, keypoints = read_model(data_dir / "scenes" / scene / "reference")
    write_nerfstudio(model, False, tmp_path)
    error = error_px(model, keypoints)
    assert exported_error_px(tmp_path, model, keypoints).mean() == pytest.approx(error.mean(), abs=1e-3)


def test_a_shared_camera_stands_once_and_different_ones_at_every_frame(tmp_path: Path) -> None:
    intrinsics = {"w", "h", "fl_x", "fl_y", "cx", "cy"}
    write_nerfstudio(make_model("OPENCV")[0], False, tmp_path)
    meta = json.loads((tmp_path / "transforms.json").read_text())
    assert set(meta) >= intrinsics | {"k1", "k2", "p1", "p2"}
    assert set(meta["frames"][0]) == {"file_path", "transform_matrix"}
    write_nerfstudio(make_model("PINHOLE", "OPENCV")[0], False, tmp_path)
    meta = json.loads((tmp_path / "transforms.json").read_text())
    # nerfstudio takes what stands at the top for all frames.
    assert not set(meta) & (intrinsics | {"k1", "k2", "p1", "p2"})
    assert meta["camera_model"] == "OPENCV"
    assert all(set(frame) >= intrinsics for frame in meta["frames"])


def test_applied_transform_leads_from_the_model_to_the_saved_world(tmp_path: Path) -> None:
    model, _ = make_model("PINHOLE")
    write_nerfstudio(model, False, tmp_path)
    meta = json.loads((tmp_path / "transforms.json").read_text())
    applied = np.array(meta["applied_transform"])
    assert np.linalg.det(applied[:, :3]) == pytest.approx(1)
    np.testing.assert_allclose(applied[:, :3] @ [0, -1, 0], [0, 0, 1])
    centre = np.array([frame["transform_matrix"] for frame in meta["frames"]])[:, :3, 3]
    np.testing.assert_allclose(model.poses.cam_from_world.centre @ applied[:, :3].T + applied[:, 3], centre)
    np.testing.assert_allclose(model.xyz @ applied[:, :3].T, read_points(tmp_path / "sparse_pc.ply"), atol=1e-6)


@pytest.mark.parametrize("lenses", [("FULL_OPENCV",), ("PINHOLE", "OPENCV_FISHEYE")])
def test_lenses_that_nerfstudio_cannot_hold_are_refused(lenses: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--undistort"):
        write_nerfstudio(make_model(*lenses)[0], False, tmp_path)
    assert not any(tmp_path.iterdir())
