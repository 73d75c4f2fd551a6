"""The safety net: cameras of a finished model that look wrong are marked, and clearly wrong ones are taken out.

Four questions are asked of every camera, none of which needs to know the truth: does it see enough points, do they
lie where it sees them, is it turned as the view graph says, and is it anywhere near the scene? Each has two limits.
Beyond the first a camera is doubtful and named in a warning; beyond the second it is unregistered, because a missing
camera harms whoever uses the model less than one in the wrong place. The limits are wide, and relative to the model
where scenes differ: a camera is judged beside the others of its scene.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vgpa.geometry.rotation import FloatArray
from vgpa.mapping.agreement import disagreement_deg
from vgpa.mapping.extend import without_images
from vgpa.mapping.triangulate import observation_errors_px
from vgpa.scene import Problem, Reconstruction


@dataclass(frozen=True)
class Limit:
    """Where a figure of a camera becomes doubtful, and where it is clearly wrong."""

    doubtful: float
    wrong: float


MIN_NUM_POINTS = Limit(30, 6)
"""Points that a camera sees: fewer than six fix no pose that could be checked."""
MAX_ERROR_PX = Limit(2.0, 8.0)
"""Median reprojection error, if it is also `MAX_ERROR_RATIO` times what is usual in the model."""
MAX_ERROR_RATIO = Limit(3.0, 6.0)
MAX_ROTATION_DEG = Limit(10.0, 30.0)
"""Disagreement with the relative rotations to neighbours, if it is also `MAX_ROTATION_RATIO` times what is usual in
the model: where focal lengths were unknown, all relative rotations are off by degrees."""
MAX_ROTATION_RATIO = Limit(3.0, 5.0)
ROTATION_QUANTILE = 0.25
"""Part of a camera's verified matches that agree better. The median would convict good cameras that have mostly wrong
edges, and whose points come from the others."""
MAX_DISTANCE = Limit(10.0, 100.0)
"""Distance from the middle of all cameras, in sizes of the scene. Photos from far away are rare but honest."""
MIN_NUM_NEIGHBOURS = 2
"""Neighbours whose relative rotations must have been measured before they can convict a camera."""


@dataclass(frozen=True, eq=False)
class CameraFigures:
    """What is known of each registered camera: (num_images,) each, NaN where there is nothing to tell.

    Attributes:
        num_points: points it sees.
        error_px: median reprojection error of these.
        rotation_deg: rotation residual to registered neighbours, of which `ROTATION_QUANTILE` are better.
        distance: distance of its centre from the middle of all, in sizes of the scene.
    """

    num_points: FloatArray
    error_px: FloatArray
    rotation_deg: FloatArray
    distance: FloatArray


@dataclass(frozen=True, eq=False)
class Checked:
    """A model without cameras that are clearly wrong, and the figures of those it has."""

    model: Reconstruction
    figures: CameraFigures


def measure_cameras(problem: Problem, model: Reconstruction) -> CameraFigures:
    """The figures that cameras are judged by."""
    tracks, num = model.tracks, len(model.images)
    error_px = observation_errors_px(model.images, model.poses, problem.keypoints, tracks, model.xyz)
    num_points = np.bincount(tracks.image_idx, minlength=num).astype(np.float64)
    return CameraFigures(
        np.where(model.poses.is_known, num_points, np.nan),
        _quantile_by_group(tracks.image_idx, error_px, np.ones(len(error_px)), num, 0.5),
        rotation_disagreement_deg(problem, model),
        _relative_distance(model),
    )


def _measure_new(
    problem: Problem, model: Reconstruction, is_new: NDArray[np.bool_], before: CameraFigures
) -> CameraFigures:
    """The figures of a model whose other cameras stayed where they were: only what new ones touch is measured."""
    # Who had too few neighbours to be judged by may have enough now.
    is_open = is_new | np.isnan(before.rotation_deg)
    own = problem.select_edges(np.asarray(is_open[problem.view_graph.edge_index].any(axis=0)))
    seen = replace(model, tracks=model.tracks.select_observations(is_open[model.tracks.image_idx]))
    new = measure_cameras(own, seen)
    num_points = np.bincount(model.tracks.image_idx, minlength=len(is_new)).astype(np.float64)
    return CameraFigures(
        np.where(model.poses.is_known, num_points, np.nan),
        np.where(is_open, new.error_px, before.error_px),
        np.where(is_open, new.rotation_deg, before.rotation_deg),
        new.distance,
    )


def find_concerns(figures: CameraFigures, kind: str) -> dict[str, NDArray[np.bool_]]:
    """Masks (num_images,) of the cameras that fail each question, by the question's name.

    Args:
        kind: "doubtful" or "wrong", which limits to apply.
    """

    def limit(pair: Limit) -> float:
        return float(getattr(pair, kind))

    error_floor = limit(MAX_ERROR_RATIO) * _typical(figures.error_px)
    rotation_floor = limit(MAX_ROTATION_RATIO) * _typical(figures.rotation_deg)
    return {
        "few points": figures.num_points < limit(MIN_NUM_POINTS),
        "high error": figures.error_px > max(limit(MAX_ERROR_PX), error_floor),
        "turned against its neighbours": figures.rotation_deg > max(limit(MAX_ROTATION_DEG), rotation_floor),
        "far away": figures.distance > limit(MAX_DISTANCE),
    }


def check_cameras(
    problem: Problem, model: Reconstruction, is_judged: NDArray[np.bool_] | None = None, before: Checked | None = None
) -> Checked:
    """The model without the cameras that are clearly wrong, and without the points that then have one view.

    The camera that disagrees most with the view graph goes first and alone, for it spoils the figures of its
    neighbours; whatever else is wrong goes at once.

    Args:
        is_judged: (num_images,) the cameras that may go; all, if not given.
        before: what was found before cameras were added, if no camera has moved since.
    """
    is_judged = np.ones(len(model.images), dtype=np.bool_) if is_judged is None else is_judged
    if before is None:
        figures = measure_cameras(problem, model)
    else:
        figures = _measure_new(problem, model, ~before.model.poses.is_known, before.figures)
    while (is_wrong := _find_wrong(figures, is_judged)).any():
        model = without_images(model, is_wrong)
        figures = measure_cameras(problem, model)
    return Checked(model, figures)


def _find_wrong(figures: CameraFigures, is_judged: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(num_images,) the cameras that must go now."""
    concerns = find_concerns(figures, "wrong")
    is_turned = is_judged & concerns.pop("turned against its neighbours")
    is_wrong = is_judged & np.any(list(concerns.values()), axis=0)
    if is_turned.any():
        is_wrong[np.argmax(np.where(is_turned, figures.rotation_deg, -1.0))] = True
    return np.asarray(is_wrong)


def doubtful_cameras(checked: Checked) -> dict[str, list[str]]:
    """Names of the registered images with a doubtful camera, and what is doubtful about each."""
    concerns = find_concerns(checked.figures, "doubtful")
    is_doubtful = np.any(list(concerns.values()), axis=0)
    names = checked.model.images.names
    return {names[k]: [name for name, mask in concerns.items() if mask[k]] for k in np.flatnonzero(is_doubtful)}


def rotation_disagreement_deg(problem: Problem, model: Reconstruction) -> FloatArray:
    """(num_images,) quantile over verified matches of what the edges between an image and its neighbours disagree by.

    NaN for images that are not registered or have fewer than `MIN_NUM_NEIGHBOURS` registered neighbours.
    """
    residual = disagreement_deg(problem, model)
    between, residual = problem.view_graph.select_edges(np.isfinite(residual)), residual[np.isfinite(residual)]
    weights = between.num_inliers.astype(np.float64)
    below = _quantile_by_group(
        between.edge_index.ravel(), np.tile(residual, 2), np.tile(weights, 2), between.num_images, ROTATION_QUANTILE
    )
    return np.where(between.degree >= MIN_NUM_NEIGHBOURS, below, np.nan)


def _relative_distance(model: Reconstruction) -> FloatArray:
    """(num_images,) distance from the median centre, where most cameras and half of the points are within 1."""
    is_known, centre = model.poses.is_known, model.poses.cam_from_world.centre
    middle = np.median(centre[is_known], axis=0)
    distance = np.linalg.norm(centre - middle, axis=-1)
    # Photos turned on the spot have no extent of their own, but what they see has.
    to_points = np.linalg.norm(model.xyz - middle, axis=-1)
    size = max(np.percentile(distance[is_known], 75), np.median(to_points) if len(to_points) else 0.0, 1e-12)
    return np.where(is_known, distance / size, np.nan)


def _typical(values: FloatArray) -> float:
    """The median of what is known."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else 0.0


def _quantile_by_group(
    group: NDArray[np.int64], values: FloatArray, weights: FloatArray, num_groups: int, quantile: float
) -> FloatArray:
    """(num_groups,) smallest value of each group that this part of its weight stays below; NaN for empty groups."""
    order = np.argsort(values)
    order = order[np.argsort(group[order], kind="stable")]
    group, values, weights = group[order], values[order], weights[order]
    total = np.bincount(group, weights, num_groups)
    before = np.cumsum(total) - total
    reached = np.cumsum(weights) - before[group] >= quantile * total[group]
    answer = np.full(num_groups, np.nan)
    # Values rise within a group: written from the last to the first, the first one that reaches the weight stays.
    answer[group[reached][::-1]] = values[reached][::-1]
    return answer
