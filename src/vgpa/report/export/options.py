"""What can be asked of an export."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Target = Literal["colmap", "text", "ply", "nerfstudio", "tum", "3dgs"]


@dataclass(frozen=True)
class ExportOptions:
    """One export.

    Attributes:
        target: what the files are for.
        images: folder of the model's photos, where it is known.
        undistort: straighten photos and model, so that every camera is a plain pinhole; 3dgs always does.
        metric: bring the model into metres east-north-up by GPS.
        gps: table of GPS positions; without it they come from the photos' EXIF, or from the run's database.
    """

    target: Target
    images: Path | None = None
    undistort: bool = False
    metric: bool = False
    gps: Path | None = None

    @property
    def is_straight(self) -> bool:
        """Whether the exported cameras are plain pinholes."""
        return self.undistort or self.target == "3dgs"

    @property
    def takes_photos(self) -> bool:
        """Whether photos belong to the export."""
        return self.target not in ("ply", "tum")
