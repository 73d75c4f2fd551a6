"""The examples that lead into nerfstudio and gsplat, on rendered photos."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

from vgpa.colmap.model import read_model
from vgpa.mapping.triangulate import observed_px

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One output folder for both: the second run finds the features and pairs of the first."""
    return tmp_path_factory.mktemp("into")


def test_into_nerfstudio(demo_photos: Path, out: Path) -> None:
    runpy.run_path(str(EXAMPLES / "into_nerfstudio.py"))["main"](demo_photos, out)
    meta = json.loads((out / "nerfstudio/transforms.json").read_text())
    assert len(meta["frames"]) == 6
    assert all((out / "nerfstudio" / frame["file_path"]).is_file() for frame in meta["frames"])
    assert (out / "nerfstudio" / meta["ply_file_path"]).is_file()


def test_into_gsplat(demo_photos: Path, out: Path) -> None:
    example = runpy.run_path(str(EXAMPLES / "into_gsplat.py"))
    example["main"](demo_photos, out)
    model, keypoints = read_model(out / "3dgs/sparse/0")
    cameras, splats = example["camera_tensors"](model), example["splat_tensors"](model)
    assert {tensor.dtype for tensor in (cameras | splats).values()} == {torch.float32}
    tracks = model.tracks
    image_idx = torch.tensor(tracks.image_idx)
    mean = torch.nn.functional.pad(splats["means"][tracks.track_idx], (0, 1), value=1.0)
    in_camera = (cameras["viewmats"][image_idx] @ mean[..., None])[:, :3]
    pixel = (cameras["Ks"][image_idx] @ in_camera)[..., 0].numpy()
    error = np.linalg.norm(pixel[:, :2] / pixel[:, 2:] - observed_px(keypoints, tracks), axis=-1)
    assert error.mean() < 1.0
