"""From photos to a trustworthy view graph: photos, features, matches, graph, tracks.

The COLMAP database in the output folder is what passes between the stages and what users keep.
"""
