"""From photos to the tensors that gsplat's rasterizer takes: cameras, and one small splat on every point.

    python examples/into_gsplat.py photos out

Where gsplat and a GPU are at hand, `gsplat.rasterization(**to_gpu(splats), **to_gpu(cameras))` draws them. gsplat's
own trainer needs no code at all: `python examples/simple_trainer.py default --data_dir out/3dgs --data_factor 1`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from scipy.spatial import cKDTree

import vgpa
from vgpa.report.export.options import ExportOptions
from vgpa.report.export.run import export_model


def camera_tensors(model: vgpa.Reconstruction) -> dict[str, torch.Tensor]:
    """`viewmats` (n, 4, 4), cam_from_world with COLMAP's axes as gsplat wants them, and `Ks` (n, 3, 3)."""
    viewmats = np.tile(np.eye(4), (len(model.images), 1, 1))
    viewmats[:, :3] = model.poses.cam_from_world.matrix
    calibration = np.tile(np.eye(3), (len(model.images), 1, 1))
    for k in range(len(model.images)):
        # A straightened camera has the parameters fx, fy, cx, cy.
        fx, fy, cx, cy = model.images.camera_of(k).params
        calibration[k] = [[fx, 0, cx], [0, fy, cy], [0, 0, 1]]
    return {"viewmats": torch.from_numpy(viewmats).float(), "Ks": torch.from_numpy(calibration).float()}


def splat_tensors(model: vgpa.Reconstruction) -> dict[str, torch.Tensor]:
    """A round splat on every point, as wide as the mean distance to its three nearest neighbours."""
    nearest = cKDTree(model.xyz).query(model.xyz, k=4)[0][:, 1:]
    return {
        "means": torch.tensor(model.xyz, dtype=torch.float32),
        "quats": torch.tensor([1.0, 0, 0, 0]).repeat(model.num_points, 1),
        "scales": torch.from_numpy(nearest.mean(axis=1)).float()[:, None].repeat(1, 3),
        "opacities": torch.full((model.num_points,), 0.1),
        "colors": torch.from_numpy(model.color / 255).float(),
    }


def main(photos: Path, out: Path) -> None:
    """Reconstruct the photos, straighten them for splatting into out/3dgs, and show what gsplat would get."""
    vgpa.reconstruct(photos, out)
    export_model(out, out / "3dgs", ExportOptions("3dgs", images=photos))
    model, _ = vgpa.read_model(out / "3dgs" / "sparse" / "0")
    for name, tensor in (splat_tensors(model) | camera_tensors(model)).items():
        print(f"{name:10} {tuple(tensor.shape)}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
