"""Rotation averaging alone on a real internet collection: ours against pycolmap's on the same edges.

The file holds `edges` (E, 2), `R_rel` = R_j R_i^T (E, 3, 3) and `R_gt` (n, 3, 3), which is zero for cameras that the
reference does not have; those are averaged like the others but cannot be scored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pycolmap
from numpy.typing import NDArray

from vgpa.averaging.rotations import average_rotations
from vgpa.averaging.spanning_tree import spanning_tree_poses
from vgpa.colmap.silence import silenced
from vgpa.config import AveragingConfig
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, exp_map, log_map, nearest_rotation, rotation_angle_rad
from vgpa.geometry.spanning_tree import chain_motions, grow_forest
from vgpa.scene import ViewGraph

CONFIG = AveragingConfig()
NUM_ALIGNMENT_STEPS = 100
Mask = NDArray[np.bool_]


def compare_rotation_averaging(path: Path, table: Callable[[Sequence[str], Iterable[Sequence[str]]], str]) -> str:
    """Mean and median rotation error of both, over the cameras each one keeps and over those both keep."""
    with np.load(path, allow_pickle=False) as file:
        graph, reference = _as_view_graph(file), file["R_gt"].astype(float)
    has_reference = np.linalg.det(reference) > 0.5
    theirs, their_cameras, their_s = _run_pycolmap(graph)
    start = time.perf_counter()
    ours = average_rotations(graph, spanning_tree_poses(graph).rotation, CONFIG.rotation_sigma_deg)
    our_s = time.perf_counter() - start
    our_cameras = _largest_agreeing_part(graph, ours)
    everyone = np.ones(graph.num_images, dtype=np.bool_)
    both = our_cameras & their_cameras
    lines = [
        ("pycolmap, the cameras it keeps", theirs, their_cameras, their_s),
        ("ours, the cameras we keep", ours, our_cameras, our_s),
        ("ours, all cameras", ours, everyone, our_s),
        ("pycolmap, cameras both keep", theirs, both, their_s),
        ("ours, cameras both keep", ours, both, our_s),
        ("ours from the spanning tree of any edges", _average_from_plain_tree(graph), everyone, float("nan")),
    ]
    rows = []
    for name, rotation, kept, seconds in lines:
        scored = kept & has_reference
        errors = _errors_deg(rotation[scored], reference[scored])
        figures = [f"{f(error):.2f}" for error in errors for f in (np.mean, np.median)]
        rows.append([name, f"{kept.sum()} ({scored.sum()})", *figures, "" if np.isnan(seconds) else f"{seconds:.2f}"])
    header = ["", "cameras (scored)", "mean deg", "median deg", "mean, chordal", "median, chordal", "seconds"]
    return (
        f"{graph.num_images} cameras, {graph.num_edges} edges; the reference has {has_reference.sum()} of the cameras. "
        "The world is aligned by the rotation that minimises the sum of angles; in the columns called chordal, by the "
        "chordal mean. A camera is kept when edges that agree to "
        f"{CONFIG.max_rotation_error_deg:.0f} degrees tie it to the rest. Edges without inlier counts, so all edges "
        "weigh the same.\n\n" + table(header, rows)
    )


def _as_view_graph(file: np.lib.npyio.NpzFile) -> ViewGraph:
    num = len(file["edges"])
    ones = np.ones(num, dtype=np.int64)
    motion = Rigid.from_matrix(nearest_rotation(file["R_rel"].astype(float)), np.zeros((num, 3)))
    return ViewGraph(len(file["R_gt"]), file["edges"].T.astype(np.int64), motion, np.zeros(num, np.bool_), ones, ones)


def _average_from_plain_tree(graph: ViewGraph) -> FloatArray:
    forest = grow_forest(graph.edge_index, np.zeros(graph.num_edges), graph.num_images)
    start = chain_motions(forest, graph.edge_index, graph.cam_j_from_cam_i)
    return average_rotations(graph, start.rotation, CONFIG.rotation_sigma_deg)


def _largest_agreeing_part(graph: ViewGraph, rotation: FloatArray) -> Mask:
    """What the mapper does next: edges that disagree are dropped, and the largest component stays."""
    agrees = graph.rotation_residuals_deg(rotation) <= CONFIG.max_rotation_error_deg
    return graph.select_edges(agrees).component_labels() == 0


def _run_pycolmap(graph: ViewGraph) -> tuple[FloatArray, Mask, float]:
    """Rotations (n, 3, 3), the cameras that have one, and seconds of pycolmap's rotation averaging."""
    model, pose_graph = pycolmap.Reconstruction(), pycolmap.PoseGraph()
    camera = pycolmap.Camera(model="SIMPLE_PINHOLE", width=100, height=100, params=[100, 50, 50], camera_id=1)
    model.add_camera_with_trivial_rig(camera)
    for k in range(graph.num_images):
        model.add_image_with_trivial_frame(pycolmap.Image(name=str(k), camera_id=1, image_id=k + 1))
    for (i, j), rotation in zip(graph.edge_index.T.tolist(), graph.cam_j_from_cam_i.rotation, strict=True):
        edge = pycolmap.PoseGraphEdge(pycolmap.Rigid3d(pycolmap.Rotation3d(rotation), np.zeros(3)))
        pose_graph.add_edge(i + 1, j + 1, edge)
    options = pycolmap.RotationEstimatorOptions(random_seed=0)
    with silenced():
        start = time.perf_counter()
        pycolmap.run_rotation_averaging(options, pose_graph, model, [])
        seconds = time.perf_counter() - start
    images = [model.images[k + 1] for k in range(graph.num_images)]
    kept = np.array([image.has_pose for image in images])
    rotations = [image.cam_from_world().rotation.matrix() if image.has_pose else np.eye(3) for image in images]
    return np.stack(rotations), kept, seconds


def _errors_deg(rotation: FloatArray, reference: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(n,) errors after alignment by the geodesic median, and after alignment by the chordal mean."""
    world_from_reference = np.swapaxes(rotation, -1, -2) @ reference
    chordal = nearest_rotation(world_from_reference.mean(axis=0))
    median = chordal
    for _ in range(NUM_ALIGNMENT_STEPS):
        residual = log_map(median.T @ world_from_reference)
        weight = 1 / np.maximum(np.linalg.norm(residual, axis=-1, keepdims=True), 1e-6)
        median = median @ exp_map((weight * residual).sum(axis=0) / weight.sum())
    first, second = (np.degrees(rotation_angle_rad(rotation @ world, reference)) for world in (median, chordal))
    return first, second
