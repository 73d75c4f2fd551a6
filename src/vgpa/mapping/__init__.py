"""From poses and tracks to a finished model: triangulate, filter, bundle adjust, in rounds."""
