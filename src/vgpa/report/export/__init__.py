"""Models for the next tool: COLMAP, nerfstudio, 3D Gaussian splatting, trajectories, and metres on the map."""
