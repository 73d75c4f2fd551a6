"""The one room that knows pycolmap and COLMAP's files: databases, models, features, bundle adjustment.

pycolmap's interface changes with every release; everything else in the package sees only the types of `scene`.
"""

# pycolmap brings a zlib of its own along. If it is loaded before Python's, Python's calls into both, and the process
# crashes at the first thing it compresses.
import zlib  # noqa: F401
