"""A model from approximate poses, without the steps after adjustment."""

from __future__ import annotations

from vgpa.config import MappingConfig
from vgpa.mapping.one_round import Given
from vgpa.mapping.rounds import refine_model, start_model
from vgpa.scene import ImageSet, Keypoints, Poses, Reconstruction, Tracks


def build_model(
    images: ImageSet, poses: Poses, keypoints: Keypoints, tracks: Tracks, config: MappingConfig
) -> Reconstruction:
    """The model that the tracks support, after all rounds."""
    return refine_model(start_model(Given(images, keypoints, tracks, config, num_threads=1), poses))
