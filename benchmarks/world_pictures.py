"""Training worlds from above: one picture for each kind of place (`benchmarks/worlds.py pictures`)."""

from __future__ import annotations

import colorsys
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from vgpa.train.cameras import draw_subsets, lay_out, load_cameras
from vgpa.train.draw import Draw
from vgpa.train.kinds import KINDS
from vgpa.train.layouts import Layout
from vgpa.train.worlds import photograph

NUM_CAMS = 80
NUM_CAMS_OF = {"turntable": 36, "orbit": 60}
SEED = 5
SEED_OF = {"street": 3, "loop": 2}
"""Where the usual seed makes a dull picture."""
PICTURE_PX, OVERSAMPLING = 420, 3
NUM_COLORS = 112
GREY, BLUE, RED = (205, 205, 205), (140, 160, 190), (220, 50, 40)


def draw_pictures(cameras: tuple[Path, ...], folder: Path) -> None:
    """One world of each kind from above."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        draw = Draw(torch.Generator().manual_seed(SEED_OF.get(kind, SEED)))
        num = NUM_CAMS_OF.get(kind, NUM_CAMS)
        _draw_picture(draw, kind, KINDS[kind].make(draw, torch.arange(num)[None] / num, 800), folder)
    if cameras:
        draw, real = (
            Draw(torch.Generator().manual_seed(SEED)),
            load_cameras(cameras[-2:-1] or cameras, torch.device("cpu")),
        )
        chosen = draw_subsets(draw, real, 1, NUM_CAMS)
        _draw_picture(draw, "cameras", lay_out(draw, real, chosen, torch.tensor([[NUM_CAMS]]), 800), folder)


def _draw_picture(draw: Draw, kind: str, layout: Layout, folder: Path) -> None:
    """Points grey, cameras coloured by where they look, edges thin, wrong edges red."""
    exists = torch.ones_like(layout.max_range, dtype=torch.bool)
    worlds = photograph(draw, layout, exists, (kind,), 0.3)
    point, centre = layout.point[0, :, :2].numpy(), worlds.centre[:, :2].numpy()
    shown = np.concatenate([centre, point])
    low, high = np.quantile(shown, 0.01, axis=0), np.quantile(shown, 0.99, axis=0)
    low, high = np.minimum(low, centre.min(0)), np.maximum(high, centre.max(0))
    size, scale = PICTURE_PX * OVERSAMPLING, 0.92 * PICTURE_PX * OVERSAMPLING / (high - low).max()

    def place(xy: NDArray[np.float64]) -> NDArray[np.float64]:
        offset = (xy - 0.5 * (low + high)) * scale
        return np.stack([0.5 * size + offset[..., 0], 0.5 * size - offset[..., 1]], axis=-1)

    image = Image.new("RGB", (size, size), "white")
    pen = ImageDraw.Draw(image)
    for x, y in place(point):
        pen.ellipse((x - 3, y - 3, x + 3, y + 3), fill=GREY)
    ends = place(centre)[worlds.graph.edge_index.numpy()].transpose(1, 0, 2)
    for is_wrong in (False, True):
        for k in np.flatnonzero(worlds.is_wrong.numpy() == is_wrong):
            pen.line([tuple(xy) for xy in ends[k]], fill=RED if is_wrong else BLUE, width=2)
    for xy, forward in zip(place(centre), worlds.cam_from_world[:, 2].numpy(), strict=True):
        _draw_camera(pen, xy, forward)
    image = image.resize((PICTURE_PX, PICTURE_PX), Image.Resampling.LANCZOS)
    image.quantize(NUM_COLORS, dither=Image.Dither.NONE).save(folder / f"{kind}.png", optimize=True)


def _draw_camera(pen: ImageDraw.ImageDraw, xy: NDArray[np.float64], forward: NDArray[np.float64]) -> None:
    """A small wedge that opens where the camera looks; seen from above, one that looks down is only a dot."""
    ahead = 34 * np.array([forward[0], -forward[1]])
    aside = 0.5 * np.array([-ahead[1], ahead[0]])
    hue = np.arctan2(forward[1], forward[0]) / (2 * np.pi) % 1
    color = tuple(int(255 * x) for x in colorsys.hsv_to_rgb(hue, 0.9, 0.75))
    pen.polygon([tuple(xy), tuple(xy + ahead + aside), tuple(xy + ahead - aside)], fill=color)
    pen.ellipse((*(xy - 6), *(xy + 6)), fill=color)
