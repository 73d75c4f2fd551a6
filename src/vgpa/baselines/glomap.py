"""GLOMAP, which is COLMAP's global mapper now: averaged rotations, then positions and points at once."""

from vgpa.colmap.mappers import map_globally as map_database

__all__ = ["map_database"]
