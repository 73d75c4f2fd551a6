"""Datasets in their published layouts: list_scenes() and load_scene()."""
