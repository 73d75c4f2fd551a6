"""The demo: a small textured world with known cameras, and photos of it.

`make_world` builds the world, `loop_cameras` walks around it, `write_photos` takes the pictures.
A reconstruction made from the photos alone can then be scored against the true cameras.

The world is drawn on a `plan`: `quarter` says what stands where, `buildings` how it is built.
`paints` and `light` give every surface its picture, `textures` keeps the pictures for `render`,
and `walk` holds the cameras.
"""

from vgpa.demo.plan import Quad
from vgpa.demo.render import render_view, write_photos
from vgpa.demo.walk import DemoCameras, loop_cameras
from vgpa.demo.world import World, make_world

__all__ = [
    "DemoCameras",
    "Quad",
    "World",
    "loop_cameras",
    "make_world",
    "render_view",
    "write_photos",
]
