"""The demo: a small textured world with known cameras, and photos of it.

`make_world` builds the world, `loop_cameras` walks around it, `write_photos` takes the pictures.
A reconstruction made from the photos alone can then be scored against the true cameras.
"""

from vgpa.demo.render import render_view, write_photos
from vgpa.demo.world import DemoCameras, Quad, World, loop_cameras, make_world

__all__ = [
    "DemoCameras",
    "Quad",
    "World",
    "loop_cameras",
    "make_world",
    "render_view",
    "write_photos",
]
