"""From a folder of photos to cameras, in Python: `python examples/quick_start.py PHOTOS OUT`."""

from __future__ import annotations

import sys
from pathlib import Path

import vgpa


def main(photos: Path, out: Path) -> vgpa.Result:
    """Reconstruct, and look at what came out."""
    result = vgpa.reconstruct(photos, out)
    model = result.reconstruction
    print(f"{model.num_registered} of {len(model.images)} images, {model.num_points} points")

    # Every image is registered or has a reason why it is not.
    for name, state in result.states.items():
        print(f"{name}: {state.value}")

    # Poses take points of the world into the camera's frame: x_cam = rotation @ x_world + translation.
    cam_from_world = model.poses.cam_from_world[model.poses.is_known]
    print("centre of the first camera:", cam_from_world.centre[0].round(3))
    print("it looks along:", cam_from_world.rotation[0, 2].round(3))

    # Cameras are COLMAP's, with their refined parameters; points have a position, a colour and an error.
    for camera in model.images.cameras:
        print(camera.model, camera.params.round(2), "focal length from:", camera.focal_source.value)
    print("median reprojection error:", result.summary["median_error_px"], "px")
    return result


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
