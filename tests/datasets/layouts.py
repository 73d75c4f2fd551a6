"""Small scenes with a known answer, written in the layouts that datasets are published in."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from tests.synthetic import FOCAL_PX, HEIGHT_PX, WIDTH_PX, Truth, make_problem
from vgpa import config
from vgpa.colmap.model import write_model
from vgpa.datasets import DatasetName
from vgpa.frontend.resfm import TrackFile, write_tracks
from vgpa.geometry.rigid import relative
from vgpa.scene import Poses, Reconstruction, Tracks

NUM_IMAGES, NUM_POINTS = 6, 60
FLIP = np.diag([1.0, -1.0, -1.0])
CALIBRATION = np.array([[FOCAL_PX, 0, WIDTH_PX / 2], [0, FOCAL_PX, HEIGHT_PX / 2], [0, 0, 1.0]])


@dataclass(frozen=True)
class Layout:
    """How a dataset looks on disk.

    Attributes:
        dataset: whose it is; scene: the name its scene then has.
        write: writes the scene below a folder.
        has_intrinsics, has_photos, has_tracks: what it tells besides poses.
    """

    dataset: DatasetName
    scene: str
    write: Callable[[Path, Truth], None]
    has_intrinsics: bool = True
    has_photos: bool = False
    has_tracks: bool = False


def make_truth() -> Truth:
    """Six cameras on a ring around sixty points that all of them see."""
    return make_problem(NUM_IMAGES, NUM_POINTS)


def write_photos(folder: Path, names: tuple[str, ...]) -> None:
    """Grey photos of the right size."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        Image.new("L", (WIDTH_PX, HEIGHT_PX), 128).save(folder / name, quality=1)


def write_strecha(root: Path, truth: Truth) -> None:
    folder, cams = root / "fountain-P6", truth.cam_from_world
    write_photos(folder / "images", truth.problem.images.names)
    (folder / "images" / "K.txt").write_text(text(CALIBRATION) + "\n")
    (folder / "gt_dense_cameras").mkdir()
    for k, name in enumerate(truth.problem.images.names):
        lines = [text(CALIBRATION), "0 0 0", text(cams.rotation[k].T), text(cams.centre[k]), f"{WIDTH_PX} {HEIGHT_PX}"]
        (folder / "gt_dense_cameras" / f"{name}.camera").write_text(" \n".join(lines) + "\n")


def write_blendedmvs(root: Path, truth: Truth) -> None:
    folder = root / "5a48ba95c7dab83a7924b44a"
    write_photos(folder / "blended_images", truth.problem.images.names)
    (folder / "cams").mkdir()
    (folder / "cams" / "pair.txt").write_text("6\n0\n5 1 10 2 9 3 8 4 7 5 6\n")
    for k, name in enumerate(truth.problem.images.names):
        pose = np.vstack([truth.cam_from_world.matrix[k], [0, 0, 0, 1]])
        content = f"extrinsic\n{text(pose)}\n\nintrinsic\n{text(CALIBRATION)}\n\n0.5 0.01 128 1.8\n"
        (folder / "cams" / name.replace(".jpg", "_cam.txt")).write_text(content)


def write_folder(root: Path, truth: Truth) -> None:
    write_model(model_of(truth), truth.problem.keypoints, root / "plaza" / "reference")
    images = truth.problem.images
    track_idx = np.tile(np.arange(NUM_POINTS), NUM_IMAGES)
    tracks = TrackFile(images.names, images.cameras, images.camera_idx, truth.problem.keypoints, track_idx)
    write_tracks(root / "plaza" / "database.db", tracks, config.default())


def write_imc(root: Path, truth: Truth) -> None:
    cams, names = truth.cam_from_world, truth.problem.images.names
    write_photos(root / "train" / "heritage" / "cyprus" / "images", names)
    with (root / "train" / "train_labels.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["dataset", "scene", "image_path", "rotation_matrix", "translation_vector"])
        for k, name in enumerate(names):
            pose = [";".join(map(repr, values.ravel().tolist())) for values in (cams.rotation[k], cams.translation[k])]
            writer.writerow(["heritage", "cyprus", f"heritage/cyprus/images/{name}", *pose])
        nothing = [";".join(["nan"] * num) for num in (9, 3)]
        writer.writerow(["heritage", "dioscuri", "heritage/dioscuri/images/lost.png", *nothing])


def write_megadepth(root: Path, truth: Truth) -> None:
    write_model(model_of(truth), truth.problem.keypoints, root / "0019" / "sparse" / "manhattan" / "0")
    write_photos(root / "0019" / "images", truth.problem.images.names)


def write_scene_info(root: Path, truth: Truth) -> None:
    """As D2-Net and LoFTR write it: arrays of Python objects, with None for images that are not there."""
    names = truth.problem.images.names
    write_photos(root / "Undistorted_SfM" / "0015" / "images", names)
    (root / "scene_info").mkdir()
    arrays = {key: np.full(NUM_IMAGES + 1, None, dtype=object) for key in ("image_paths", "intrinsics", "poses")}
    for k, name in enumerate(names):
        arrays["image_paths"][k + 1] = f"Undistorted_SfM/0015/images/{name}"
        arrays["intrinsics"][k + 1] = CALIBRATION.copy()
        arrays["poses"][k + 1] = np.vstack([truth.cam_from_world.matrix[k], [0, 0, 0, 1]])
    pairs = np.full(1, None, dtype=object)
    pairs[0] = ((1, 2), 0.4, np.zeros((3, 2)))
    np.savez(root / "scene_info" / "0015_0.1_0.3.npz", pair_infos=pairs, **arrays)


def resfm_arrays(truth: Truth) -> dict[str, np.ndarray]:
    """What a file of RESfM holds."""
    xy_px = truth.problem.keypoints.xy_px.reshape(NUM_IMAGES, NUM_POINTS, 2)
    return {
        "M": xy_px.transpose(0, 2, 1).reshape(2 * NUM_IMAGES, NUM_POINTS),
        "Ns": np.tile(np.linalg.inv(CALIBRATION), (NUM_IMAGES, 1, 1)),
        # A projection is known up to a factor.
        "Ps_gt": -2 * CALIBRATION @ truth.cam_from_world.matrix,
        "namesList": np.array(truth.problem.images.names, dtype=object),
    }


def write_resfm(root: Path, truth: Truth) -> None:
    np.savez(root / "0156 new.npz", **resfm_arrays(truth))


def write_onedsfm(root: Path, truth: Truth) -> None:
    """Images of the component are every other line of list.txt; the others have no keys, edges or cameras."""
    folder, names = root / "Alamo", truth.problem.images.names
    write_photos(folder / "images", names)
    line_of = [2 * k + 1 for k in range(NUM_IMAGES)]
    listed = [line for k, name in enumerate(names) for line in (f"images/other {k}.jpg", f"images/{name} 0 {FOCAL_PX}")]
    (folder / "list.txt").write_text("\n".join(listed) + "\n")
    (folder / "cc.txt").write_text("\n".join(map(str, line_of)) + "\n")
    write_coords(folder / "coords.txt", truth, line_of)
    tracks = [" ".join([str(NUM_IMAGES), *(f"{line} {k + 1}" for line in line_of)]) for k in range(NUM_POINTS)]
    (folder / "tracks.txt").write_text("\n".join([str(NUM_POINTS), *tracks]) + "\n")
    write_pairs(folder / "EGs.txt", truth, line_of)
    write_bundle(folder / "gt_bundle.out", truth)


def write_coords(path: Path, truth: Truth, line_of: list[int]) -> None:
    """Pixels of SIFT, whose first centre is (1, 1). Key 0 of every image is in no track."""
    lines = []
    for k, line in enumerate(line_of):
        header = f"name = images/{truth.problem.images.names[k]}, keys = {NUM_POINTS + 1}"
        lines.append(f"#index = {line}, {header}, px = {WIDTH_PX / 2}, py = {HEIGHT_PX / 2}, focal = {FOCAL_PX}")
        keys = np.vstack([[7.0, 7.0], truth.problem.keypoints.of(k) + 0.5])
        lines += [f"{number} {x!r} {y!r} 0 0 10 20 30" for number, (x, y) in enumerate(keys.tolist())]
    path.write_text("\n".join(lines) + "\n")


def write_pairs(path: Path, truth: Truth, line_of: list[int]) -> None:
    """R_i R_j^T and the place of camera j in camera i, in Bundler's frames; every other pair the other way round."""
    lines = []
    for edge, (i, j) in enumerate(truth.problem.view_graph.edge_index.T.tolist()):
        i, j = (j, i) if edge % 2 else (i, j)
        cam_i_from_cam_j = relative(truth.cam_from_world[j], truth.cam_from_world[i])
        direction = cam_i_from_cam_j.translation / np.linalg.norm(cam_i_from_cam_j.translation)
        values = text(np.concatenate([(FLIP @ cam_i_from_cam_j.rotation @ FLIP).ravel(), FLIP @ direction]))
        lines.append(f"{line_of[i]} {line_of[j]} {values}")
    path.write_text("\n".join(lines) + "\n")


def write_bundle(path: Path, truth: Truth) -> None:
    """Bundler's cameras look along -z with y up; images it has not placed are all zeros."""
    lines = ["# Bundle file v0.3", f"{2 * NUM_IMAGES} 1"]
    for rotation, translation in zip(truth.cam_from_world.rotation, truth.cam_from_world.translation, strict=True):
        lines += ["0 0 0"] * 5
        lines += [f"{FOCAL_PX} 0 0", text(FLIP @ rotation), text(FLIP @ translation)]
    lines += ["1 2 3", "255 255 255", "2 0 1 0 0 1 1 0 0"]
    path.write_text("\n".join(lines) + "\n")


def model_of(truth: Truth) -> Reconstruction:
    """The truth as a model with all its points."""
    num = NUM_IMAGES * NUM_POINTS
    order = np.arange(num)
    tracks = Tracks(NUM_IMAGES * np.arange(NUM_POINTS + 1), order % NUM_IMAGES, order // NUM_IMAGES)
    return Reconstruction(
        truth.problem.images,
        Poses.of_all(truth.cam_from_world),
        truth.xyz,
        tracks,
        np.zeros(NUM_POINTS),
        np.full((NUM_POINTS, 3), 128, dtype=np.uint8),
    )


def text(values: np.ndarray) -> str:
    """Numbers in full, a matrix in lines."""
    return "\n".join(" ".join(map(repr, row)) for row in np.atleast_2d(values).tolist())


LAYOUTS = {
    "strecha": Layout("strecha", "fountain-P6", write_strecha, has_photos=True),
    "blendedmvs": Layout("blendedmvs", "5a48ba95c7dab83a7924b44a", write_blendedmvs, has_photos=True),
    "folder": Layout("folder", "plaza", write_folder),
    "imc": Layout("imc", "heritage/cyprus", write_imc, has_intrinsics=False, has_photos=True),
    "megadepth": Layout("megadepth", "0019", write_megadepth, has_photos=True),
    "scene_info": Layout("megadepth", "0015_0.1_0.3", write_scene_info, has_photos=True),
    "onedsfm": Layout("onedsfm", "Alamo", write_onedsfm, has_photos=True, has_tracks=True),
    "resfm": Layout("resfm", "0156 new", write_resfm, has_tracks=True),
}
