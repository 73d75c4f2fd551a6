"""The points in the viewer, and the controls for their size, colour and largest error."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from vgpa.geometry.rotation import FloatArray
from vgpa.report.scene import has_colors
from vgpa.scene import Reconstruction
from vgpa.viewer.world import ViewedWorld, error_colors

ROOT = "/points"
MAX_NUM_POINTS = 400_000
NUM_STEPS = 25
"""Steps of the slider for errors. Each is a cloud of its own, so that moving the slider sends no points again."""
PIXEL_STEP = 0.01
UNCOLORED = (169, 182, 200)


def add_points(server: viser.ViserServer, model: Reconstruction, world: ViewedWorld) -> None:
    """Draw a model's points below `ROOT`, and add their controls to the open folder of controls."""
    drawn = np.linspace(0, model.num_points - 1, min(model.num_points, MAX_NUM_POINTS)).astype(np.int64)
    xyz, error_px = world.view_from_world.apply(model.xyz[drawn]).astype(np.float32), model.error_px[drawn]
    photo = model.color[drawn] if has_colors(model.color) else np.full((len(drawn), 3), UNCOLORED, dtype=np.uint8)
    colors = {"Photo": photo, "Error": error_colors(error_px, world.limit_px)}
    step, members = group_by_error(error_px)
    root, gui = server.scene.add_frame(ROOT, show_axes=False), server.gui
    size = gui.add_slider("Point size", 1, 10, 1, 3)
    limit = gui.add_slider("Max. error, px", step, step * NUM_STEPS, step, step * NUM_STEPS, hint="The end shows all")
    paint = gui.add_dropdown("Colour", list(colors))
    is_shown = gui.add_checkbox("Show points", initial_value=True)
    clouds = [
        server.scene.add_point_cloud(f"{ROOT}/{k}", xyz[rows], photo[rows], precision="float32", point_shading="flat")
        for k, rows in enumerate(members)
    ]

    def show(_: Any) -> None:
        root.visible = is_shown.value
        for k, cloud in enumerate(clouds):
            cloud.visible = (k + 0.5) * step < limit.value
            cloud.point_size = 0.01 * size.value

    def recolor(_: Any) -> None:
        for cloud, rows in zip(clouds, members, strict=True):
            cloud.colors = colors[paint.value][rows]

    show(None)
    for control in (size, limit, is_shown):
        control.on_update(show)
    paint.on_update(recolor)


def group_by_error(error_px: FloatArray) -> tuple[float, list[NDArray[np.int64]]]:
    """A round step in pixels, and the points whose error is within step k + 1; the last holds all beyond too."""
    usual = float(np.percentile(error_px, 99)) if len(error_px) else 0.0
    step = PIXEL_STEP * max(1, int(np.ceil(usual / NUM_STEPS / PIXEL_STEP)))
    group = np.clip(np.ceil(error_px / step) - 1, 0, NUM_STEPS - 1)
    return step, [np.flatnonzero(group == k) for k in range(NUM_STEPS)]
