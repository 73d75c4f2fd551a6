"""What the viewer shows, read from the output folder of a run or from any COLMAP model."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vgpa.colmap.model import read_model
from vgpa.errors import InputError
from vgpa.geometry.alignment import align_cameras
from vgpa.geometry.rigid import Rigid
from vgpa.output import STAGE_POSES
from vgpa.scene import Poses, Reconstruction

FINAL = "final"
MIN_NUM_TO_ALIGN = 2


@dataclass(frozen=True, eq=False)
class ViewedModel:
    """A model and what its poses were on the way.

    Attributes:
        name: the folder it was read from.
        model: the reconstruction; all of its images are registered.
        stages: poses of its images by stage, in the order of the run, in the world of the model; the last is "final".
    """

    name: str
    model: Reconstruction
    stages: dict[str, Poses]


@dataclass(frozen=True, eq=False)
class ViewedRun:
    """The models of a run, the largest first, and the folder of its photos where it is known."""

    models: tuple[ViewedModel, ...]
    image_folder: Path | None


def load_run(folder: Path, image_folder: Path | None) -> ViewedRun:
    """Read all models of an output folder, or the one of a model folder.

    Args:
        image_folder: the folder of the photos, if the run's own is not to be used.
    """
    places = sorted((p for p in folder.glob("sparse/*") if p.name.isdecimal()), key=lambda p: int(p.name))
    if not places and not any((folder / f"images.{suffix}").is_file() for suffix in ("bin", "txt")):
        raise InputError(f"There is no model in {folder}", "Give the output folder of a run, or a COLMAP model")
    stages = _read_stages(folder / STAGE_POSES)
    models = [_view(place, stages.get(place.name, {})) for place in places or [folder]]
    return ViewedRun(tuple(models), image_folder or _find_photos(folder))


def _view(place: Path, stages: dict[str, dict[str, Rigid]]) -> ViewedModel:
    model, _ = read_model(place)
    aligned = {name: _align(by_name, model) for name, by_name in stages.items()}
    known = {name: poses for name, poses in aligned.items() if poses is not None}
    return ViewedModel(place.name, model, known | {FINAL: model.poses})


def _align(cam_from_stage: dict[str, Rigid], model: Reconstruction) -> Poses | None:
    """A stage's poses of the model's images, moved to where they agree best with the final ones."""
    names = model.images.names
    image_idx = np.array([k for k, name in enumerate(names) if name in cam_from_stage], dtype=np.int64)
    if len(image_idx) < MIN_NUM_TO_ALIGN:
        return None
    found = [cam_from_stage[names[k]] for k in image_idx]
    before = Rigid(np.stack([pose.quaternion_wxyz for pose in found]), np.stack([pose.translation for pose in found]))
    world_from_stage = align_cameras(before, model.poses.cam_from_world[image_idx])
    return Poses.of_all(world_from_stage.apply_to_cameras(before)).scatter(image_idx, len(names))


def _read_stages(path: Path) -> dict[str, dict[str, dict[str, Rigid]]]:
    """cam_from_world by model, stage and image name; none where the run left none."""
    if not path.is_file():
        return {}
    stages: dict[str, dict[str, dict[str, Rigid]]] = {}
    try:
        with np.load(path, allow_pickle=False) as arrays:
            names = arrays["names"].tolist()
            for key in arrays.files:
                if not key.endswith("/image_idx"):
                    continue
                number, stage, _ = key.split("/")
                quaternion_wxyz, translation = (
                    arrays[f"{number}/{stage}/{x}"] for x in ("quaternion_wxyz", "translation")
                )
                motions = Rigid(quaternion_wxyz.astype(np.float64), translation.astype(np.float64))
                named = {names[image]: motions[k] for k, image in enumerate(arrays[key].tolist())}
                stages.setdefault(number, {})[stage] = named
    except (OSError, ValueError, KeyError, IndexError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} cannot be read as the poses of a run", "Run again, or remove this file") from error
    return stages


def _find_photos(folder: Path) -> Path | None:
    """The folder of the run's photos: where the run found them, or `images` beside the model."""
    try:
        named = json.loads((folder / "report.json").read_text(encoding="utf-8"))["image_folder"]
    except (OSError, ValueError, KeyError, TypeError):
        named = None
    places = [Path(named)] if isinstance(named, str) else []
    return next((place for place in (*places, folder / "images") if place.is_dir()), None)
