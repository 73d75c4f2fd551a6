"""A folder laid out like that of VGPA_DATA, with one scene of six photos and a dozen cameras of everything else."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import numpy as np
import torch

from tests.synthetic import make_graph, near_pairs, ring_cameras
from tests.train.test_cameras import write_ring
from vgpa.train.cameras import TRAINING_SCENES
from vgpa.train.worlds import WorldOptions, make_worlds

SCENE = "demo"
TEST_SCENES = ("0019", "0024", "0063", "1589")
PAPER_METHODS = ("VGPA", "RESfM", "Theia", "GLOMAP")
NUM_CAMERAS = 12


def write_small_data(folder: Path, finished: Path) -> None:
    """Write all of it; the scene is that of a finished run."""
    scene = folder / "scenes" / SCENE
    shutil.copytree(finished / "reference", scene / "reference")
    shutil.copy(finished / "database.db", scene)
    shutil.copytree(finished / "photos", folder / "photos" / SCENE / "images")
    data = folder / "data"
    (data / "cameras").mkdir(parents=True)
    for number in (*TRAINING_SCENES, *TEST_SCENES):
        write_cameras(data / "cameras" / f"megadepth_{number}.npz")
    write_worlds(data / "worlds_test.npz")
    write_rotations(data / "ellis_island_rotations.npz")
    edges = near_pairs(NUM_CAMERAS, 3).T
    np.savez(data / "onedsfm_topology.npz", Alamo=edges, Alamo__num_cameras=NUM_CAMERAS)
    write_figures(folder / "paper" / "megadepth_auc.csv")


def write_cameras(path: Path) -> None:
    """Cameras in a circle, with the overlaps of neighbours."""
    with np.load(write_ring(path, NUM_CAMERAS)) as file:
        cameras = dict(file)
    pairs = near_pairs(NUM_CAMERAS, 2).T
    np.savez(path, **cameras, pairs=pairs, overlap=np.linspace(0.1, 0.9, len(pairs)))


def write_worlds(path: Path) -> None:
    """One world, as test worlds are stored."""
    options = WorldOptions(num_cams=(NUM_CAMERAS, NUM_CAMERAS), small_part=0.0, kinds=("around",))
    worlds = make_worlds(1, torch.Generator().manual_seed(1), options)
    graph = worlds.graph
    arrays = {
        "kind": np.array("around"),
        "edge_index": graph.edge_index,
        "rotation": graph.rotation,
        "direction": torch.where(graph.has_direction[:, None], graph.direction, 0.0),
        "num_shared": graph.num_matches,
        "is_wrong": worlds.is_wrong,
        "true_rotation": worlds.cam_from_world,
        "true_centre": worlds.centre,
    }
    np.savez(path, **{f"00_{name}": np.asarray(value) for name, value in arrays.items()})


def write_rotations(path: Path) -> None:
    """A ring of cameras with noisy rotations between neighbours."""
    cams, edges = ring_cameras(NUM_CAMERAS), near_pairs(NUM_CAMERAS, 3)
    graph = make_graph(cams, edges, noise_deg=1.0)
    np.savez(path, edges=edges.T, R_rel=graph.cam_j_from_cam_i.rotation, R_gt=cams.rotation)


def write_figures(path: Path) -> None:
    """The columns of the paper's table that are read."""
    path.parent.mkdir(parents=True)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["scene", "num_images", *(f"{name}_auc30" for name in PAPER_METHODS)])
        rows.writerows([scene, NUM_CAMERAS, *[0.5] * len(PAPER_METHODS)] for scene in TEST_SCENES)
