"""Points that only two registered images see, where a missing image has matches to them.

A finished model stands on points of three or more views. A missing image at its edge often matches what just two
registered images share: these points tell its place too, once they are triangulated.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vgpa.config import Config
from vgpa.frontend.tracks import build_tracks
from vgpa.geometry.rotation import FloatArray
from vgpa.mapping.agreement import disagreement_deg
from vgpa.mapping.extend import with_points
from vgpa.mapping.triangulate import PointFilter, triangulate
from vgpa.scene import Problem, Reconstruction

MIN_ANGLE_DEG = 2.0
"""Angle between the two rays of a point: nothing else checks its depth."""


def add_short_tracks(
    problem: Problem, model: Reconstruction, config: Config, residual_deg: FloatArray
) -> Reconstruction:
    """The model with points of two registered images that missing images are matched to.

    Args:
        residual_deg: (num_edges,) by how much edges disagree with the poses, NaN where nobody has asked yet; is brought
            up to date. Asking takes time, and an answer holds as long as poses stay.
    """
    edges, is_known = problem.view_graph.edge_index, model.poses.is_known
    is_beside = np.zeros(len(model.images), dtype=np.bool_)
    is_beside[edges[:, ~is_known[edges].all(axis=0)]] = True
    is_near = np.asarray(is_known[edges].all(axis=0) & is_beside[edges].any(axis=0))
    is_asked = is_near & np.isnan(residual_deg)
    residual_deg[is_asked] = disagreement_deg(problem.select_edges(is_asked), model)
    near = problem.select_edges(is_near & (residual_deg <= config.averaging.max_rotation_error_deg))
    tracks = build_tracks(near, replace(config.graph, min_track_length=2))
    keypoint = problem.keypoints.offsets[tracks.image_idx] + tracks.keypoint_idx
    has_point = model.point_of_keypoint(problem.keypoints)[keypoint] >= 0
    is_wanted = _is_matched_to_missing(problem, model)[keypoint]
    count = [np.bincount(tracks.track_idx[mask], minlength=len(tracks)) for mask in (has_point, is_wanted)]
    wanted = PointFilter(config.mapping.rounds[-1].max_error_px, MIN_ANGLE_DEG, min_num_views=2)
    fresh = tracks.select((count[0] == 0) & (count[1] > 0))
    return with_points(model, triangulate(model.images, model.poses, problem.keypoints, fresh, wanted))


def _is_matched_to_missing(problem: Problem, model: Reconstruction) -> NDArray[np.bool_]:
    """(num_keypoints,) whether a keypoint is matched to one of an image that the model lacks."""
    matches, is_known = problem.matches, model.poses.is_known
    ends = problem.view_graph.edge_index[:, matches.edge_idx]
    keypoint = problem.keypoints.offsets[ends] + matches.keypoint_idx.T
    answer = np.zeros(len(problem.keypoints.xy_px), dtype=np.bool_)
    for side in (0, 1):
        answer[keypoint[side][~is_known[ends[1 - side]]]] = True
    return answer
