"""The viewer in the browser: a viser server with points, cameras, and controls for what each stage did.

It listens on this machine only unless it is told otherwise. Names of images are the user's and may hold anything:
they reach the browser as escaped text.
"""

from __future__ import annotations

import contextlib
import io

import numpy as np
import viser

from vgpa.viewer import cameras, points
from vgpa.viewer.cameras import CamerasView, paragraph
from vgpa.viewer.load import ViewedModel, ViewedRun
from vgpa.viewer.world import SIZE, view_world

START = (-0.28 * SIZE, -0.62 * SIZE, 0.33 * SIZE)
"""Where the reader stands at first: behind the cameras, a little to the side and above."""
BACKGROUND = (17, 21, 29)


class Server(viser.ViserServer):
    """viser's server, without greetings, and without the public links that any page in the browser could ask for."""

    def __init__(self, host: str, port: int) -> None:
        """Listen; a port that is taken becomes the next that is free."""
        with contextlib.redirect_stdout(io.StringIO()):
            super().__init__(host=host, port=port, label="VGPA", verbose=False)

    def stop(self) -> None:
        """Stop listening."""
        with contextlib.redirect_stdout(io.StringIO()):
            super().stop()

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Nothing leaves the machine."""
        return None

    @property
    def url(self) -> str:
        """Where a browser on this machine finds it."""
        return f"http://{self.get_host()}:{self.get_port()}"


def serve(run: ViewedRun, host: str, port: int) -> Server:
    """Start to serve a run, and give back the server."""
    server = Server(host, port)
    server.gui.configure_theme(dark_mode=True, show_logo=False, show_share_button=False)
    server.initial_camera.position, server.initial_camera.look_at = START, (0.0, 0.0, 0.0)
    server.scene.set_background_image(np.full((1, 1, 3), BACKGROUND, dtype=np.uint8))
    if len(run.models) > 1:
        labels = {f"{v.name}: {v.model.num_registered} images": v for v in run.models}
        choice = server.gui.add_dropdown("Model", list(labels))

        @choice.on_update
        def _(_: object) -> None:
            shown[0].remove()
            for root in (points.ROOT, cameras.ROOT, cameras.TRAVEL):
                server.scene.remove_by_name(root)
            shown[0] = _show(server, labels[choice.value], run)

    shown = [_show(server, run.models[0], run)]
    return server


def _show(server: Server, viewed: ViewedModel, run: ViewedRun) -> viser.GuiFolderHandle:
    """Draw one model, and give back the folder with its controls."""
    model, world = viewed.model, view_world(viewed.model)
    folder = server.gui.add_folder("Reconstruction")
    with server.atomic(), folder:
        error = f", median error {np.median(model.error_px):.2f} px" if model.num_points else ""
        server.gui.add_html(paragraph(f"{model.num_registered:,} images, {model.num_points:,} points{error}"))
        points.add_points(server, model, world)
        CamerasView(server, viewed, world, run.image_folder)
    return folder
