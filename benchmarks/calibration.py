"""Cameras without any known focal length: how wrong the guess is, the vote is, and bundle adjustment leaves it.

    VGPA_DATA=... python benchmarks/calibration.py --work DIR [SET ...]

Photos are reconstructed without intrinsics (runs resume in DIR); focal lengths and poses are compared with the
reference of the scene of the same name. Sets whose photos carry EXIF are copied without it first.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from PIL import Image

from vgpa import pipeline
from vgpa.colmap.cameras import mean_focal_px
from vgpa.colmap.database import read_problem
from vgpa.colmap.model import read_model
from vgpa.evaluate import evaluate
from vgpa.frontend.photos import list_photos
from vgpa.scene import FocalSource, ImageSet

SETS = ("fountain-P11", "entry-P10", "reichstag10", "kitchen25", "fox50")
HEADER = (
    "| photos | cameras voted | focal error: guess | with votes | after bundle adjustment | registered | AUC@1 / 5 |\n"
    "|---|---|---|---|---|---|---|"
)


def without_exif(photos: Path, folder: Path) -> Path:
    """The photos, or a copy of them whose pixels are the same and which say nothing about their camera."""
    names = list_photos(photos)
    if not any(Image.open(photos / name).getexif() for name in names):
        return photos
    for name in names:
        target = folder / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            with Image.open(photos / name) as image:
                image.convert("RGB").save(target, quality=100, subsampling=0)
    return folder


def focal_error(images: ImageSet, true_px: dict[str, float], use_guess: bool = False) -> float:
    """Median relative error over the images that the reference has."""
    errors = []
    for k, name in enumerate(images.names):
        camera = images.camera_of(k)
        focal_px = 1.2 * max(camera.width_px, camera.height_px) if use_guess else mean_focal_px(camera)
        if name in true_px:
            errors.append(abs(focal_px / true_px[name] - 1))
    return float(np.median(errors))


def run_set(name: str, work: Path) -> str:
    """One row of the table."""
    data = Path(os.environ["VGPA_DATA"])
    photos = without_exif(data / "photos" / name / "images", work / f"{name}-photos")
    reference, _ = read_model(data / "scenes" / name / "reference")
    true_px = {n: mean_focal_px(reference.images.camera_of(k)) for k, n in enumerate(reference.images.names)}
    result = pipeline.reconstruct(photos, work / name / "exhaustive")
    images = read_problem(work / name / "exhaustive" / "database.db").images
    scores = evaluate(result.reconstruction, reference)
    num_voted = sum(camera.focal_source is FocalSource.VOTED for camera in images.cameras)
    return (
        f"| {name} | {num_voted} of {len(images.cameras)} | {focal_error(images, true_px, use_guess=True):.1%} "
        f"| {focal_error(images, true_px):.1%} | {focal_error(result.reconstruction.images, true_px):.2%} "
        f"| {scores.num_registered} / {scores.num_images} | {scores.auc[1]:.3f} / {scores.auc[5]:.3f} |"
    )


def main() -> None:
    """Run the named sets, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--work", type=Path, required=True, help="folder for the runs, which resume")
    arguments = parser.parse_args()
    print(HEADER)
    for name in arguments.sets:
        print(run_set(name, arguments.work), flush=True)


if __name__ == "__main__":
    main()
