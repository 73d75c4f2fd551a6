"""Pose averaging alone, on a sparse view graph of your own: `python examples/sparse_graph.py`.

No photos and no database: 40 cameras on a circle, each with relative poses to the next four only, all of them noisy
and every twelfth one plainly wrong. The network answers in one forward pass, and robust averaging starts from there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import vgpa
from vgpa.averaging.average import average_from
from vgpa.averaging.predict import predict_poses
from vgpa.evaluate.scores import Scores, score_poses
from vgpa.geometry.rigid import Rigid, relative
from vgpa.geometry.rotation import exp_quaternion, quaternion_wxyz_to_matrix

NUM_CAMERAS, NUM_NEIGHBOURS = 40, 4
NOISE_DEG = 0.5


def main() -> dict[str, Scores]:
    """Scores of the network's poses and of the averaged ones against the truth."""
    rng = np.random.default_rng(0)
    truth = circle(NUM_CAMERAS)
    graph = measure(truth, rng)
    config = vgpa.default().averaging
    predicted = predict_poses(graph, config, "cpu")
    averaged = average_from(graph, None, config, "network", predicted).poses
    known = averaged.is_known
    scores = {
        "network": score_poses(predicted, truth, NUM_CAMERAS),
        "averaged": score_poses(averaged.cam_from_world[known], truth[np.flatnonzero(known)], NUM_CAMERAS),
    }
    for name, score in scores.items():
        print(f"{name:<9} {score.num_registered} cameras, AUC@5 {score.auc[5]:.3f}, AUC@30 {score.auc[30]:.3f}")
    return scores


def circle(num: int) -> Rigid:
    """Cameras on a circle of radius 1, at slightly different heights, that look at its middle."""
    angle = 2 * np.pi * np.arange(num) / num
    centre = np.stack([np.cos(angle), np.sin(angle), 0.1 * np.sin(3 * angle)], axis=1)
    forward = -centre / np.linalg.norm(centre, axis=1, keepdims=True)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    return Rigid.from_centre(np.stack([right, np.cross(forward, right), forward], axis=1), centre)


def measure(truth: Rigid, rng: np.random.Generator) -> vgpa.ViewGraph:
    """What two-view geometry would tell of each camera and the next few: rotations and unit directions, with noise."""
    first = np.repeat(np.arange(len(truth)), NUM_NEIGHBOURS)
    second = (first + np.tile(np.arange(1, NUM_NEIGHBOURS + 1), len(truth))) % len(truth)
    i, j = np.minimum(first, second), np.maximum(first, second)
    motion = relative(truth[i], truth[j])
    rotation = noise(len(i), NOISE_DEG, rng) @ motion.rotation
    direction = np.einsum("nij,nj->ni", noise(len(i), NOISE_DEG, rng), motion.translation)
    is_wrong = np.arange(len(i)) % 12 == 5
    rotation[is_wrong] = noise(is_wrong.sum(), 60.0, rng) @ rotation[is_wrong]
    direction[is_wrong] = rng.normal(size=(is_wrong.sum(), 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    num_inliers = rng.integers(30, 300, len(i))
    return vgpa.ViewGraph(
        len(truth),
        np.stack([i, j]),
        Rigid.from_matrix(rotation, direction),
        has_direction=np.ones(len(i), dtype=bool),
        num_inliers=num_inliers,
        num_matches=2 * num_inliers,
    )


def noise(num: int, size_deg: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """(num, 3, 3) random rotations about random axes, of this size on average."""
    return quaternion_wxyz_to_matrix(exp_quaternion(rng.normal(scale=np.radians(size_deg) / np.sqrt(3), size=(num, 3))))


if __name__ == "__main__":
    main()
