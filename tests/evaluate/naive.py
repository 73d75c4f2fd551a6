"""Scores once more, by plain loops over cameras and pairs, sharing nothing with the package but its input and output.

Alignment is by general-purpose minimisers, angles by arccos, areas by counting.
"""

from __future__ import annotations

from itertools import combinations
from statistics import mean, median

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

Pose = tuple[np.ndarray, np.ndarray]
"""World-to-camera rotation and translation."""


def centre_of(pose: Pose) -> np.ndarray:
    return np.linalg.solve(pose[0], -pose[1])


def angle_deg(a: np.ndarray, b: np.ndarray) -> float:
    """Between two unit vectors."""
    return float(np.degrees(np.arccos(np.clip(a @ b, -1, 1))))


def rotation_error_deg(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.degrees(np.arccos(np.clip((np.trace(a @ b.T) - 1) / 2, -1, 1))))


def relative_pose(first: Pose, second: Pose) -> Pose:
    rotation = second[0] @ first[0].T
    return rotation, second[1] - rotation @ first[1]


def pair_errors(estimated: list[Pose], true: list[Pose]) -> list[tuple[float, float]]:
    errors = []
    for i, j in combinations(range(len(true)), 2):
        (rotation, translation), (true_rotation, true_translation) = (
            relative_pose(poses[i], poses[j]) for poses in (estimated, true)
        )
        direction = translation / np.linalg.norm(translation)
        true_direction = true_translation / np.linalg.norm(true_translation)
        errors.append((rotation_error_deg(rotation, true_rotation), angle_deg(direction, true_direction)))
    return errors


def area_under_recall(errors: list[float], threshold: float, num_all: int) -> float:
    """Integrate recall over `num_all` pairs on a fine grid of angles."""
    grid = (np.arange(20000) + 0.5) * threshold / 20000
    ordered = np.sort(errors)
    return float(np.mean([np.searchsorted(ordered, at, side="right") / num_all for at in grid]))


def area_by_degrees(errors: list[float], threshold: int) -> float:
    """Recall at 1, 2, ... degrees, averaged."""
    recalls = [sum(1 for error in errors if error < degree) / len(errors) for degree in range(1, threshold + 1)]
    return mean(recalls)


def errors_after_alignment(estimated: list[Pose], true: list[Pose]) -> tuple[list[float], list[float]]:
    """The paper's alignment: chordal mean of rotations, then scale and shift by minimising the sum of distances."""
    rotation = Rotation.from_matrix([b[0].T @ a[0] for a, b in zip(estimated, true, strict=True)]).mean().as_matrix()
    source = [rotation @ centre_of(pose) for pose in estimated]
    target = [centre_of(pose) for pose in true]

    def cost(x: np.ndarray) -> float:
        return sum(float(np.linalg.norm(x[0] * a + x[1:] - b)) for a, b in zip(source, target, strict=True))

    start = np.concatenate([[1.0], np.mean(target, axis=0) - np.mean(source, axis=0)])
    options = {"maxiter": 40000, "maxfev": 40000, "xatol": 1e-10, "fatol": 1e-12, "adaptive": True}
    x = start
    for _ in range(4):  # the simplex is restarted where it stopped, since it may have collapsed
        x = minimize(cost, x, method="Nelder-Mead", options=options).x
    rotations = [rotation_error_deg(a[0] @ rotation.T, b[0]) for a, b in zip(estimated, true, strict=True)]
    positions = [float(np.linalg.norm(x[0] * a + x[1:] - b)) for a, b in zip(source, target, strict=True)]
    return rotations, positions


def size_of_scene(true: list[Pose]) -> float:
    centres = [centre_of(pose) for pose in true]
    middle = np.array([median(float(centre[axis]) for centre in centres) for axis in range(3)])
    return 2 * median(float(np.linalg.norm(centre - middle)) for centre in centres)
