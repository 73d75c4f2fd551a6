"""Tracks from matches: keypoints joined by verified matches show one scene point.

Exact semantics: nodes are (image, keypoint), every verified match of the view graph is a link, and a track is a
connected component. A track with two keypoints of one image further apart than a few pixels is inconsistent and
dropped whole; closer ones are the same corner found twice, and the first is kept. Tracks seen in fewer than
`min_track_length` images are dropped, unless they are asked for where an image has little else: nothing checks a track
of two images, but an image without any would be lost. Vectorised throughout (METHOD section 1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vgpa.config import GraphConfig
from vgpa.geometry.components import label_components
from vgpa.scene import Keypoints, Problem, Tracks


def build_tracks(problem: Problem, config: GraphConfig, num_at_ease: int = 0) -> Tracks:
    """Consistent tracks of a problem's matches, in the order of their first keypoint.

    Args:
        num_at_ease: images with fewer observations of tracks that are long enough keep those of two images too.
    """
    node, label = _label_keypoints(problem)
    if len(node) == 0:
        return Tracks.empty()
    image_idx = np.searchsorted(problem.keypoints.offsets, node, side="right") - 1
    # Sorted by track, then image, then keypoint: runs of one track and image are duplicates.
    order = np.lexsort((node, label))
    node, label, image_idx = node[order], label[order], image_idx[order]
    is_first = np.r_[True, (label[1:] != label[:-1]) | (image_idx[1:] != image_idx[:-1])]
    spread = _spread_px(problem.keypoints, node, is_first)
    num_labels = label[-1] + 1
    widest = np.zeros(num_labels)
    np.maximum.at(widest, label, spread)
    num_images = np.bincount(label[is_first], minlength=num_labels)
    good = (widest <= config.max_spread_px) & (num_images >= 2)
    keep = is_first & good[label]
    tracks = Tracks(
        np.concatenate([[0], np.cumsum(num_images[good])]),
        image_idx[keep],
        node[keep] - problem.keypoints.offsets[image_idx[keep]],
    )
    is_long = tracks.lengths >= config.min_track_length
    num_long = np.bincount(tracks.image_idx[is_long[tracks.track_idx]], minlength=len(problem.images))
    in_need = (num_long < num_at_ease)[tracks.image_idx]
    return tracks.select(is_long | (np.bincount(tracks.track_idx[in_need], minlength=len(tracks)) > 0))


def _label_keypoints(problem: Problem) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Matched keypoints (indices into all keypoints, rising) and the component each belongs to."""
    matches, graph = problem.matches, problem.view_graph
    links = problem.keypoints.offsets[graph.edge_index[:, matches.edge_idx]] + matches.keypoint_idx.T
    is_matched = np.zeros(problem.keypoints.offsets[-1], dtype=np.bool_)
    is_matched[links] = True
    node, place = np.flatnonzero(is_matched), np.cumsum(is_matched) - 1
    return node, label_components(place[links], len(node))


def _spread_px(keypoints: Keypoints, node: NDArray[np.int64], is_first: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(num_nodes,) distance of each keypoint from the first of its track in the same image."""
    first = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    return np.asarray(np.linalg.norm(keypoints.xy_px[node] - keypoints.xy_px[node[first]], axis=-1))
