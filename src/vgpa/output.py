"""The output folder of a run: made and checked before anything is computed for it, and filled with models after.

Models lie in `sparse/0`, `sparse/1`, ..., the largest first, as COLMAP numbers them. `poses.npz` keeps the poses that
each of them had on its way: arrays "MODEL/STAGE/quaternion_wxyz", ".../translation" and ".../image_idx" (cam_from_world
of these images, each stage in a world of its own) and "names" of all images.

The command line opens its output folder before it loads numpy and pycolmap, so they are imported where they are used.
"""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vgpa.errors import OutputError

if TYPE_CHECKING:
    from vgpa.scene import Keypoints, Poses, Reconstruction
    from vgpa.solution import Part, Solution

MODEL_FILES = ("cameras", "images", "points3D", "frames", "rigs")
STAGE_POSES = "poses.npz"


def open_output(folder: Path) -> None:
    """Make the folder, and raise a sentence for the user unless a file can be written there."""
    probe = folder / ".vgpa"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise OutputError(
            f"The output folder {folder} cannot be written ({error.strerror})",
            "Give another folder with -o, or change its permissions",
        ) from error


def write_models(models: list[Reconstruction], keypoints: Keypoints, folder: Path) -> None:
    """Write all models of a run below `folder/sparse`; those that an earlier run left beyond them are removed."""
    from vgpa.colmap.model import PARTIAL, write_model

    for number, model in enumerate(models):
        write_model(model, keypoints, folder / "sparse" / str(number))
    for number in count(len(models)):
        stale = folder / "sparse" / str(number)
        if not stale.is_dir():
            return
        shutil.rmtree(stale / PARTIAL, ignore_errors=True)
        for name in MODEL_FILES:
            (stale / f"{name}.bin").unlink(missing_ok=True)
        if not any(stale.iterdir()):
            stale.rmdir()


def stage_poses(part: Part, num_images: int) -> dict[str, Poses]:
    """The poses that a model had on its way, by stage in the order of the run, of all images of the problem.

    A model that was given had no way: there are no stages.
    """
    if part.averaged.start == "model":
        return {}
    stages: dict[str, Poses | None] = {"network": part.predicted, "averaged": part.averaged.poses}
    return {name: poses.scatter(part.image_idx, num_images) for name, poses in stages.items() if poses is not None}


def write_stage_poses(solution: Solution, folder: Path) -> None:
    """Write what the models' poses were on their way, for the viewer."""
    import numpy as np

    names = solution.problem.images.names
    arrays: dict[str, Any] = {"names": np.array(names, dtype=np.str_)}
    for number, part in enumerate(solution.parts):
        for stage, poses in stage_poses(part, len(names)).items():
            image_idx = np.flatnonzero(poses.is_known)
            motion = poses.cam_from_world[image_idx]
            arrays[f"{number}/{stage}/image_idx"] = image_idx
            arrays[f"{number}/{stage}/quaternion_wxyz"] = motion.quaternion_wxyz
            arrays[f"{number}/{stage}/translation"] = motion.translation
    partial = folder / f"{STAGE_POSES}.partial"
    with partial.open("wb") as file:
        np.savez(file, **arrays)
    partial.replace(folder / STAGE_POSES)


def describe_models(summary: dict[str, Any], solution: Solution) -> dict[str, Any]:
    """The summary of a run with its models: a list of them, and for every image its model and what is doubtful.

    Points and errors of images in further models are those in their own model.
    """
    import numpy as np

    rows = {row["name"]: row | {"model": None, "doubts": []} for row in summary["images"]}
    for number, part in enumerate(solution.parts):
        model, tracks = part.model, part.model.tracks
        num_points = np.bincount(tracks.image_idx, minlength=len(model.images))
        error_sum = np.bincount(tracks.image_idx, model.error_px[tracks.track_idx], len(model.images))
        for k in np.flatnonzero(model.poses.is_known):
            name, num = model.images.names[k], int(num_points[k])
            rows[name] |= {
                "model": number,
                "num_points": num,
                "mean_error_px": float(error_sum[k]) / num if num else None,
                "doubts": solution.doubts.get(name, []),
            }
    models = [
        {
            "folder": f"sparse/{number}",
            "num_registered": part.model.num_registered,
            "num_points": part.model.num_points,
            "mean_error_px": float(part.model.error_px.mean()) if part.model.num_points else 0.0,
        }
        for number, part in enumerate(solution.parts)
    ]
    return summary | {"models": models, "images": list(rows.values())}
