"""COLMAP's incremental mapper: two images first, then one more at a time, with bundle adjustment throughout."""

from vgpa.colmap.mappers import map_incrementally as map_database

__all__ = ["map_database"]
