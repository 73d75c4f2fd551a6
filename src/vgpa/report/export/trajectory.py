"""Camera poses as a trajectory in the TUM format, which evo and other tools read: one line for each image."""

from __future__ import annotations

from pathlib import PurePosixPath

import numpy as np

from vgpa.geometry.rotation import xyzw_from_wxyz
from vgpa.scene import Reconstruction


def tum_trajectory(model: Reconstruction) -> str:
    """Lines "timestamp tx ty tz qx qy qz qw" of world_from_cam, in the order of time.

    The timestamp is the number that the file is named by where all files are (1305031102.175304.png); otherwise
    images count from 0 in the order of their names.
    """
    known = np.flatnonzero(model.poses.is_known).tolist()
    known.sort(key=lambda k: model.images.names[k])
    times = _timestamps([model.images.names[k] for k in known])
    world_from_cam = model.poses.cam_from_world[known].inverse()
    pose = np.column_stack([world_from_cam.translation, xyzw_from_wxyz(world_from_cam.quaternion_wxyz)])
    order = np.argsort(np.array(times, dtype=np.float64), kind="stable")
    lines = (f"{times[k]} " + " ".join(f"{value:.9f}" for value in pose[k]) for k in order)
    return "# timestamp tx ty tz qx qy qz qw\n" + "".join(f"{line}\n" for line in lines)


def _timestamps(names: list[str]) -> list[str]:
    stems = [PurePosixPath(name).stem for name in names]
    are_numbers = all(stem.replace(".", "", 1).isdecimal() and stem.isascii() for stem in stems)
    return stems if are_numbers and len(set(stems)) == len(stems) else [str(k) for k in range(len(names))]
