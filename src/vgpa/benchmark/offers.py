"""A scene as it is offered to a method: a database, and what is said about the intrinsics of its cameras.

What the dataset brings is never changed; a database that has to be made lies in the sweep's folder and is kept.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from vgpa.benchmark.tables import Setup
from vgpa.colmap.cameras import guess_camera
from vgpa.colmap.database import read_problem
from vgpa.colmap.extraction import verify_matches
from vgpa.colmap.store import StoreImage, sync_store
from vgpa.colmap.tables import keep_only_pairs, names_without_features, write_keypoints, write_matches
from vgpa.config import default
from vgpa.datasets import DatasetScene
from vgpa.datasets.database import make_database
from vgpa.evaluate.points import outlier_fraction
from vgpa.frontend.pairs import Pair, choose_pairs
from vgpa.frontend.tracks import build_tracks
from vgpa.scene import FocalSource, ImageSet, Poses, Reconstruction

GUESSED_MODEL = "SIMPLE_RADIAL"
KNOWN = (FocalSource.USER, FocalSource.PRIOR)


@dataclass(frozen=True, eq=False)
class Offer:
    """What a method is given.

    Attributes:
        scene: the scene's name.
        reference: what its answer is compared with.
        database: a COLMAP database with verified pairs.
        fix_intrinsics: whether its cameras are known.
        reintegrate: False leaves lost images out, True places them again, None is the method's own habit.
    """

    scene: str
    reference: Reconstruction
    database: Path
    fix_intrinsics: bool
    reintegrate: bool | None


def make_offer(scene: DatasetScene, setup: Setup, folder: Path, num_neighbours: int) -> Offer:
    """The scene in the given setup; databases that it takes are made in the folder, unless they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    images = scene.reference.images
    are_known = all(camera.focal_source in KNOWN for camera in images.cameras)
    if setup.intrinsics == "estimated" and scene.database is None:
        database = make_database(scene, folder / setup.name, default(), forget_intrinsics=True)
    else:
        database = make_database(scene, folder, default())
        if setup.intrinsics == "estimated" or (setup.intrinsics == "known" and not are_known):
            given = images if setup.intrinsics == "known" else None
            database = _kept(folder / f"{setup.name}.db", partial(_write_with_cameras, database, given))
    if setup.pairs == "nearest":
        write = partial(_write_with_nearest, database, scene.image_dir, num_neighbours)
        database = _kept(folder / f"nearest{num_neighbours}.db", write)
    is_fixed = {"dataset": are_known, "known": True, "estimated": False}[setup.intrinsics]
    return Offer(scene.name, scene.reference, database, is_fixed, setup.reintegrate)


def outlier_percent(offer: Offer) -> float | None:
    """Observations of the database's tracks that are wrong under the reference, in percent; None where none is judged.

    Each image that the reference knows has its pose and its camera from there.
    """
    problem, reference = read_problem(offer.database), offer.reference
    number = {name: k for k, name in enumerate(reference.images.names) if reference.poses.is_known[k]}
    place = np.array([number.get(name, -1) for name in problem.images.names], dtype=np.int64)
    is_known = place >= 0
    cameras = (*reference.images.cameras, *problem.images.cameras)
    own_idx = problem.images.camera_idx + len(reference.images.cameras)
    camera_idx = np.where(is_known, reference.images.camera_idx[place], own_idx)
    images = replace(problem.images, cameras=cameras, camera_idx=camera_idx)
    poses = Poses(reference.poses.cam_from_world[place], is_known).keep(is_known)
    fraction = outlier_fraction(images, poses, problem.keypoints, build_tracks(problem, default().graph))
    return None if fraction is None else 100 * fraction


def nearest_pairs(database: Path, images: Path | None, num_neighbours: int) -> list[Pair]:
    """The verified pairs of every image with its nearest neighbours.

    Near is what looks alike where the database has descriptors, and what shares most verified matches elsewhere.
    """
    problem = read_problem(database)
    names, graph = problem.images.names, problem.view_graph
    if images is not None and not names_without_features(database):
        config = default()
        wanted = replace(config, pairs=replace(config.pairs, method="retrieval", top_k=num_neighbours))
        return choose_pairs(database, images, names, wanted)
    ends = np.concatenate([graph.edge_index, graph.edge_index[::-1]], axis=1)
    order = np.lexsort((ends[1], -np.tile(graph.num_inliers, 2), ends[0]))
    first = np.searchsorted(ends[0][order], ends[0][order])
    nearest = order[np.arange(len(order)) - first < num_neighbours]
    return sorted({(names[min(i, j)], names[max(i, j)]) for i, j in ends[:, nearest].T.tolist()})


def _kept(path: Path, write: Callable[[Path], object]) -> Path:
    """The file of that path; written first where it is not there, in one step."""
    if not path.exists():
        unfinished = path.with_name(f"unfinished-{path.name}")
        unfinished.unlink(
            missing_ok=True
        )  # a sweep that was killed leaves half a database, and nothing of it is reused
        write(unfinished)
        unfinished.replace(path)
    return path


def _write_with_nearest(database: Path, images: Path | None, num_neighbours: int, path: Path) -> None:
    """A copy of the database with only the pairs of near neighbours."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    for suffix in ("", "-wal"):
        if (part := database.with_name(database.name + suffix)).exists():
            shutil.copyfile(part, path.with_name(path.name + suffix))
    keep_only_pairs(path, nearest_pairs(path, images, num_neighbours))


def _write_with_cameras(database: Path, known: ImageSet | None, path: Path) -> None:
    """The database's verified matches under the given intrinsics, or guesses, each pair verified anew."""
    problem = read_problem(database)
    names, keypoints, matches = problem.images.names, problem.keypoints, problem.matches
    sync_store(path, [_with_camera(problem.images, k, known) for k in range(len(names))], settings={})
    write_keypoints(path, ((name, keypoints.of(k)) for k, name in enumerate(names)))
    edges = zip(problem.view_graph.edge_index.T.tolist(), pairwise(matches.offsets.tolist()), strict=True)
    write_matches(path, ((names[i], names[j], matches.keypoint_idx[a:b]) for (i, j), (a, b) in edges))
    config = default()
    verify_matches(path, config.matching, config.seed, config.num_threads)


def _with_camera(images: ImageSet, image_idx: int, known: ImageSet | None) -> StoreImage:
    """An image with its known camera, or with a guess where there is none; cameras are shared as they were."""
    name, own = images.names[image_idx], images.camera_of(image_idx)
    if known is not None and name in known.names:
        at = known.names.index(name)
        camera = replace(known.camera_of(at), focal_source=FocalSource.PRIOR)
        return StoreImage(name, "", f"known {known.camera_idx[at]}", camera)
    camera = guess_camera((own.width_px, own.height_px), GUESSED_MODEL)
    return StoreImage(name, "", f"guess {images.camera_idx[image_idx]}", camera)
