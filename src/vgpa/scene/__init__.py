"""The immutable types that every stage shares: images, keypoints, matches, view graph, tracks, poses, model.

Each is validated when it is made (shapes, finite numbers, unit quaternions and directions, indices in range),
holds read-only arrays, and changes only by making a new one. Nothing here reads files.
"""

from vgpa.scene.images import Camera, FocalSource, ImageSet, Keypoints
from vgpa.scene.poses import Poses
from vgpa.scene.problem import Matches, Problem
from vgpa.scene.reconstruction import ImageState, Reconstruction
from vgpa.scene.tracks import Tracks
from vgpa.scene.view_graph import ViewGraph

__all__ = [
    "Camera",
    "FocalSource",
    "ImageSet",
    "ImageState",
    "Keypoints",
    "Matches",
    "Poses",
    "Problem",
    "Reconstruction",
    "Tracks",
    "ViewGraph",
]
