"""The one room that knows pycolmap and COLMAP's files: databases, models, features, bundle adjustment.

pycolmap's interface changes with every release; everything else in the package sees only the types of `scene`.
"""
