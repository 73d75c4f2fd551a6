"""Colours of points: the mean over the photos that see them, at the nearest pixel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from vgpa.geometry.rotation import FloatArray
from vgpa.mapping.triangulate import observed_px
from vgpa.scene import Keypoints, Reconstruction


def colorize(model: Reconstruction, keypoints: Keypoints, folder: Path) -> Reconstruction:
    """The same model with the colours of its points; photos that are not below the folder are passed over."""
    tracks = model.tracks
    xy_px = observed_px(keypoints, tracks)
    color = np.zeros((tracks.num_observations, 3))
    is_seen = np.zeros(tracks.num_observations, dtype=np.bool_)
    order = np.argsort(tracks.image_idx, kind="stable")
    images, starts = np.unique(tracks.image_idx[order], return_index=True)
    for k, rows in zip(images, np.split(order, starts[1:]) if len(images) else [], strict=True):
        sampled = _sample(folder, model.images.names[k], xy_px[rows])
        if sampled is not None:
            color[rows], is_seen[rows] = sampled, True
    count = np.bincount(tracks.track_idx[is_seen], minlength=len(tracks))
    total = np.stack([np.bincount(tracks.track_idx, channel, len(tracks)) for channel in color.T], axis=-1)
    mean = total / np.maximum(count, 1)[:, None]
    return replace(model, color=np.where(count[:, None] > 0, np.rint(mean), model.color).astype(np.uint8))


def _sample(folder: Path, name: str, xy_px: FloatArray) -> FloatArray | None:
    """(n, 3) colours of a photo at pixels (n, 2), or None where there is no such photo below the folder."""
    path = (folder / name).resolve()
    # Names come from databases that anybody may have written: never follow one out of the folder.
    if not (path.is_relative_to(folder.resolve()) and path.is_file()):
        return None
    try:
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    # Pixel (0.5, 0.5) is the centre of the first pixel, so truncation gives its index.
    column, row = np.floor(xy_px).astype(np.int64).T
    height, width = pixels.shape[:2]
    return pixels[np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)].astype(np.float64)
