"""`vgpa view OUT`: look at a run in the browser, live."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Annotated

import tyro

from vgpa.errors import InputError


def view(
    folder: Annotated[
        tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT", help="output folder of a run, or a COLMAP model")
    ],
    images: Annotated[Path | None, tyro.conf.arg(metavar="DIR", help="folder of photos, if not the run's")] = None,
    host: Annotated[str, tyro.conf.arg(help="address to listen on; 0.0.0.0 lets other machines in")] = "127.0.0.1",
    port: Annotated[int, tyro.conf.arg(help="port to listen on, or the next that is free")] = 8080,
) -> int:
    """Points, cameras and photos of a run, and what each stage did to the poses. Ctrl-C ends it."""
    from vgpa.viewer.load import load_run

    run = load_run(folder, images)
    try:
        from vgpa.viewer.serve import serve
    except ModuleNotFoundError as error:
        raise InputError("The viewer needs viser, which is not installed", "pip install 'vgpa[viewer]'") from error
    server = serve(run, host, port)
    print(f"viewer   {server.url}   (Ctrl-C ends it)", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        server.stop()
    return 0
