"""`vgpa view OUT`: look at a run in the browser, live."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Annotated

from vgpa.cli.parse import Arg
from vgpa.errors import InputError


def view(
    folder: Annotated[Path, Arg("output folder of a run, or a COLMAP model", "OUT", is_positional=True)],
    images: Annotated[Path | None, Arg("folder of photos, if not the run's", "DIR")] = None,
    host: Annotated[str, Arg("address to listen on; 0.0.0.0 lets other machines in")] = "127.0.0.1",
    port: Annotated[int, Arg("port to listen on, or the next that is free")] = 8080,
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
