"""The cameras in the viewer: frusta at every stage of the run, and the photo of the one that is clicked."""

from __future__ import annotations

import html
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import viser

from vgpa.report.scene import display_box, frustum_depth, half_view
from vgpa.report.thumbnails import read_photo
from vgpa.scene import Poses
from vgpa.viewer.load import FINAL, ViewedModel
from vgpa.viewer.world import ViewedWorld, error_colors, measure_change

ROOT, TRAVEL = "/cameras", "/travel"
STAGE_WORDS = {"network": "Network", "averaged": "Averaged", FINAL: "Final"}
PHOTO_SIZE_PX = 640
LINE_PX = 1.2
SELECTED_COLOR, TRAVEL_COLOR = (255, 255, 255), (255, 210, 90)


class CamerasView:
    """The frusta of a model below `ROOT`, with their controls in the open folder of controls."""

    def __init__(self, server: viser.ViserServer, viewed: ViewedModel, world: ViewedWorld, photos: Path | None) -> None:
        """Draw the final cameras; `photos` is the folder of the photos where it is known."""
        self._server, self._viewed, self._world, self._photos = server, viewed, world, photos
        self._selected = -1
        self._add_stages()
        self._add_frusta()
        self._add_selection()
        self.show_stage(FINAL)

    def show_stage(self, stage: str) -> None:
        """Move the cameras to where they were at a stage; lines lead to where they ended."""
        poses, view_from_world = self._viewed.stages[stage], self._world.view_from_world
        cameras = view_from_world.apply_to_cameras(poses.cam_from_world)
        final = view_from_world.apply(self._viewed.model.poses.cam_from_world.centre)
        quaternion_wxyz, centre = cameras.inverse().quaternion_wxyz, cameras.centre
        with self._server.atomic():
            for k, frustum in enumerate(self._frusta):
                frustum.visible = bool(poses.is_known[k])
                frustum.wxyz, frustum.position = quaternion_wxyz[k], centre[k]
            self._server.scene.add_line_segments(
                TRAVEL,
                np.stack([centre, final], axis=1)[poses.is_known].astype(np.float32),
                TRAVEL_COLOR,
                thickness=LINE_PX,
                thickness_units="screen",
                visible=stage != FINAL,
            )
        self._words.content = paragraph(self._describe(stage, poses))

    def select(self, image_idx: int) -> None:
        """Show the photo and the figures of an image, and mark its camera."""
        before, self._selected = self._selected, image_idx
        for k in {before, image_idx} - {-1}:
            self._frusta[k].color = self._color_of(k)
        name, error_px = self._viewed.model.images.names[image_idx], self._world.errors_px[image_idx]
        error = "" if np.isnan(error_px) else f", mean error {error_px:.2f} px"
        num_points = int((self._viewed.model.tracks.image_idx == image_idx).sum())
        self._facts.content = paragraph(f"<b>{html.escape(name)}</b><br>{num_points:,} points{error}")
        self._look.visible = True
        photo = None if self._photos is None else read_photo(self._photos, name, PHOTO_SIZE_PX)
        self._photo.visible = photo is not None
        if photo is not None:
            self._photo.image = np.asarray(photo)

    def _add_stages(self) -> None:
        stage_of = {STAGE_WORDS.get(stage, stage): stage for stage in self._viewed.stages}
        has_choice = len(stage_of) > 1
        choice = self._server.gui.add_dropdown(
            "Poses", list(stage_of), initial_value=STAGE_WORDS[FINAL], visible=has_choice
        )
        self._words = self._server.gui.add_html("", visible=has_choice)
        choice.on_update(lambda _: self.show_stage(stage_of[choice.value]))

    def _describe(self, stage: str, poses: Poses) -> str:
        if stage == FINAL:
            return "After bundle adjustment."
        change = measure_change(poses, self._viewed.model.poses)
        missing = self._viewed.model.num_registered - change.num_images
        return (
            f"Median distance from the final poses: {change.rotation_deg:.3f}° and {change.position_percent:.3f}% "
            f"of the scene's size.{f' {missing} images came later.' if missing else ''}"
        )

    def _add_frusta(self) -> None:
        model, scene = self._viewed.model, self._server.scene
        centre = self._world.view_from_world.apply(model.poses.cam_from_world.centre)
        depth = 0.75 * frustum_depth(centre, display_box(np.empty((0, 3)), centre))
        root = scene.add_frame(ROOT, show_axes=False)
        size = self._server.gui.add_slider("Camera size", 0.2, 5.0, 0.1, 1.0)
        is_shown = self._server.gui.add_checkbox("Show cameras", initial_value=True)
        self._half = half_view(model)
        self._frusta = [
            scene.add_camera_frustum(
                f"{ROOT}/{k}",
                2 * float(np.arctan(y)),
                x / y,
                scale=depth,
                thickness=LINE_PX,
                thickness_units="screen",
                color=self._color_of(k),
            )
            for k, (x, y) in enumerate(self._half.tolist())
        ]
        for k, frustum in enumerate(self._frusta):
            frustum.on_click(partial(self._on_click, k))

        def show(_: Any) -> None:
            root.visible = is_shown.value
            for frustum in self._frusta:
                frustum.scale = depth * size.value

        for control in (size, is_shown):
            control.on_update(show)

    def _on_click(self, image_idx: int, _: Any) -> None:
        self.select(image_idx)

    def _add_selection(self) -> None:
        gui = self._server.gui
        with gui.add_folder("Image"):
            hint = "" if self._photos else " To see its photo, start with --images DIR."
            self._facts = gui.add_html(paragraph(f"Click a camera.{hint}"))
            self._photo = gui.add_image(np.zeros((2, 3, 3), dtype=np.uint8), visible=False)
            self._look = gui.add_button("Look through this camera", visible=False)
        self._look.on_click(lambda event: self._look_through(event.client))

    def _look_through(self, client: viser.ClientHandle | None) -> None:
        if client is None:
            return
        frustum, fov = self._frusta[self._selected], 2 * float(np.arctan(self._half[self._selected, 1]))
        with client.atomic():
            client.camera.wxyz, client.camera.position, client.camera.fov = frustum.wxyz, frustum.position, fov

    def _color_of(self, image_idx: int) -> tuple[int, int, int]:
        if image_idx == self._selected:
            return SELECTED_COLOR
        red, green, blue = error_colors(self._world.errors_px[image_idx, None], self._world.limit_px)[0].tolist()
        return red, green, blue


def paragraph(markup: str) -> str:
    """Text for the panel of controls. Names in it must be escaped already."""
    return f'<p style="margin: 0 0.8em 0.6em; font-size: 0.875em; overflow-wrap: anywhere">{markup}</p>'
