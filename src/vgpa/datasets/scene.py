"""What every dataset gives back: one scene, in one type, whatever its files look like."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vgpa.scene import Keypoints, Reconstruction, Tracks, ViewGraph


@dataclass(frozen=True, eq=False)
class DatasetScene:
    """A scene with its reference. Immutable; photos and database stay on disk.

    Attributes:
        name: as `list_scenes` gives it.
        reference: the images of the scene in the dataset's order; the poses it knows (`poses.is_known`); the points it
            brings, which may be none. Its cameras hold the dataset's intrinsics: `focal_source` is PRIOR where the
            dataset knows them, and GUESS where it does not.
        image_dir: folder that the names in `reference.images` are relative to; None where there are no photos.
        database: a COLMAP database with verified pairs; None where the dataset brings none.
        view_graph: measured relative poses between `reference.images`; None where the dataset brings none.
        keypoints, tracks: what `reference.images` see, and which keypoints belong together; both None where the
            dataset brings no tracks.
    """

    name: str
    reference: Reconstruction
    image_dir: Path | None = None
    database: Path | None = None
    view_graph: ViewGraph | None = None
    keypoints: Keypoints | None = None
    tracks: Tracks | None = None

    def __post_init__(self) -> None:
        num_images = len(self.reference.images)
        if self.view_graph is not None and self.view_graph.num_images != num_images:
            raise ValueError("the view graph must count the images of the reference")
        if (self.keypoints is None) != (self.tracks is None):
            raise ValueError("tracks need keypoints, and keypoints tracks")
        if self.keypoints is not None and len(self.keypoints.offsets) != num_images + 1:
            raise ValueError("there must be one run of keypoints per image of the reference")
