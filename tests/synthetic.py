"""Problems with a known answer: cameras around a cloud of points, exact or noisy measurements, wrong edges."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from vgpa.geometry.rigid import Rigid, relative
from vgpa.geometry.rotation import normalize
from vgpa.scene import Camera, FocalSource, ImageSet, Keypoints, Matches, Problem, ViewGraph

FOCAL_PX, WIDTH_PX, HEIGHT_PX = 800.0, 1000, 800


@dataclass(frozen=True, eq=False)
class Truth:
    """A problem and its answer: cam_from_world of every image, and the points in the order of their keypoints."""

    problem: Problem
    cam_from_world: Rigid
    xyz: np.ndarray


def look_at(centre: np.ndarray, target: np.ndarray) -> np.ndarray:
    """World-to-camera rotations (n, 3, 3) of cameras that look at a target, with z up in the world."""
    forward = normalize(target - centre)
    right = normalize(np.cross(forward, [0.0, 0, 1]))
    return np.stack([right, np.cross(forward, right), forward], axis=-2)


def ring_cameras(num: int, seed: int = 0) -> Rigid:
    """Cameras on a wobbly ring around the origin, looking inwards."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0, 2 * np.pi, num, endpoint=False)
    centre = np.stack([6 * np.cos(angle), 6 * np.sin(angle), np.zeros(num)], axis=-1)
    centre += rng.normal(size=(num, 3)) * 0.4
    return Rigid.from_centre(look_at(centre, rng.normal(size=(num, 3)) * 0.2), centre)


def make_graph(cams: Rigid, edges: np.ndarray, noise_deg: float = 0.0, seed: int = 0) -> ViewGraph:
    """A view graph of true cameras with noise on its relative poses."""
    rng = np.random.default_rng(seed)
    motion = relative(cams[edges[0]], cams[edges[1]])
    noise = Rotation.from_rotvec(rng.normal(size=(edges.shape[1], 3)) * np.radians(noise_deg)).as_matrix()
    turn = Rotation.from_rotvec(rng.normal(size=(edges.shape[1], 3)) * np.radians(noise_deg)).as_matrix()
    direction = np.einsum("eij,ej->ei", turn, normalize(motion.translation))
    count = np.full(edges.shape[1], 100)
    return ViewGraph(
        len(cams),
        edges,
        Rigid.from_matrix(noise @ motion.rotation, direction),
        np.ones(edges.shape[1], dtype=bool),
        count,
        count,
    )


def make_edges_wrong(graph: ViewGraph, fraction: float, seed: int = 0) -> ViewGraph:
    """The same graph with a fraction of its edges replaced by arbitrary relative poses."""
    rng = np.random.default_rng(seed)
    wrong = rng.permutation(graph.num_edges)[: int(fraction * graph.num_edges)]
    rotation, direction = graph.cam_j_from_cam_i.rotation.copy(), graph.cam_j_from_cam_i.translation.copy()
    rotation[wrong] = Rotation.random(len(wrong), random_state=seed).as_matrix()
    direction[wrong] = normalize(rng.normal(size=(len(wrong), 3)))
    return replace(graph, cam_j_from_cam_i=Rigid.from_matrix(rotation, direction))


def all_pairs(num: int) -> np.ndarray:
    """(2, num (num - 1) / 2) every pair i < j."""
    return np.stack(np.triu_indices(num, k=1))


def near_pairs(num: int, reach: int) -> np.ndarray:
    """Pairs of images at most `reach` steps apart on a closed ring."""
    i, j = all_pairs(num)
    step = np.minimum(j - i, num - (j - i))
    return np.stack([i, j])[:, step <= reach]


def make_problem(num_images: int = 8, num_points: int = 200, noise_px: float = 0.0, seed: int = 0) -> Truth:
    """Every image sees every point; keypoint k of every image shows point k."""
    rng = np.random.default_rng(seed)
    cams = ring_cameras(num_images, seed)
    xyz = rng.uniform(-1.5, 1.5, size=(num_points, 3))
    camera = Camera(
        "PINHOLE",
        WIDTH_PX,
        HEIGHT_PX,
        np.array([FOCAL_PX, FOCAL_PX, WIDTH_PX / 2, HEIGHT_PX / 2]),
        FocalSource.PRIOR,
    )
    in_cam = np.einsum("nij,pj->npi", cams.rotation, xyz) + cams.translation[:, None]
    xy_px = FOCAL_PX * in_cam[..., :2] / in_cam[..., 2:] + (WIDTH_PX / 2, HEIGHT_PX / 2)
    xy_px = xy_px + rng.normal(size=xy_px.shape) * noise_px
    edges = all_pairs(num_images)
    graph = make_graph(cams, edges)
    images = ImageSet(
        tuple(f"photo_{k:02d}.jpg" for k in range(num_images)),
        np.zeros(num_images, dtype=np.int64),
        (camera,),
        np.arange(1, num_images + 1),
    )
    keypoints = Keypoints(num_points * np.arange(num_images + 1), xy_px.reshape(-1, 2))
    matches = Matches(
        num_points * np.arange(edges.shape[1] + 1),
        np.tile(np.arange(num_points)[:, None], (edges.shape[1], 2)),
    )
    return Truth(Problem(images, keypoints, graph, matches), cams, xyz)


def make_matches_wrong(problem: Problem, is_wrong: NDArray[np.bool_]) -> Problem:
    """The matches of some edges tie each keypoint to another one."""
    of_wrong = is_wrong[problem.matches.edge_idx]
    keypoint_idx = problem.matches.keypoint_idx.copy()
    keypoint_idx[of_wrong, 0] = np.random.default_rng(5).permutation(keypoint_idx[of_wrong, 0])
    return replace(problem, matches=replace(problem.matches, keypoint_idx=keypoint_idx))
