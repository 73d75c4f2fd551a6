"""Pairs whose matches no third image bears out.

Where keypoint a matches b, and b matches c in a third image, a often matches c too. A pair of photos of the same thing
has such witnesses wherever both match a third photo: in ten real scenes every pair of 30 matches does, but one or two.
A pair that could have witnesses, and has no more than chance gives, joins what does not belong together, however well
its matches agree with its relative pose.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from vgpa.geometry.rotation import BoolArray, FloatArray, IntArray
from vgpa.geometry.triplets import find_triplets
from vgpa.scene import Problem

MIN_NUM_ABLE = 60
"""Matches of third images that could have borne a pair out, before their silence convicts it."""
MAX_NUM_STRAY, CHANCE_FACTOR = 2, 2.0
"""A pair needs more matches with a witness than so many, and so many times what chance gives."""
MAX_NUM_ASKED = 200
"""Matches of a pair that are looked at, at most."""
MIN_BORNE_OUT_PART = 0.25
"""Where fewer pairs have witnesses, keypoints do not repeat from pair to pair (dense matchers), and nothing follows."""


def has_witnesses(problem: Problem) -> BoolArray:
    """(num_edges,) False for edges that many matches of third images could bear out, and do not."""
    graph, matches, offsets = problem.view_graph, problem.matches, problem.keypoints.offsets
    triplets = find_triplets(graph.edge_index, graph.num_images)
    num_able = np.minimum(*_other_sides(triplets, np.diff(matches.offsets)))
    could_have = _sum_by_edge(triplets, num_able, graph.num_edges) >= MIN_NUM_ABLE
    keypoint = offsets[graph.edge_index[:, matches.edge_idx]] + matches.keypoint_idx.T
    # Evenly spread over the matches of an edge, whose order may mean something.
    rank = np.arange(keypoint.shape[1]) - matches.offsets[matches.edge_idx]
    stride = np.maximum(np.diff(matches.offsets) // MAX_NUM_ASKED, 1)
    asked = rank % stride[matches.edge_idx] == 0
    edge_idx = matches.edge_idx[asked]
    num_asked = np.bincount(edge_idx, minlength=graph.num_edges)
    num_witnessed = np.bincount(edge_idx, are_witnessed(keypoint, asked, int(offsets[-1])), graph.num_edges)
    by_chance = num_asked * _chance_of_witness(problem, keypoint, triplets)
    has = num_witnessed > MAX_NUM_STRAY + CHANCE_FACTOR * by_chance
    if has[could_have].sum() < MIN_BORNE_OUT_PART * could_have.sum():
        return np.ones(graph.num_edges, dtype=np.bool_)
    return np.asarray(has | ~could_have)


def are_witnessed(keypoint: IntArray, asked: BoolArray, num_keypoints: int) -> BoolArray:
    """(num_asked,) whether both keypoints of a match also match the same third one.

    Args:
        keypoint: (2, num_matches) both ends of every match, counted over all images.
        asked: (num_matches,) the matches in question.
    """
    ends = keypoint.ravel(), keypoint[::-1].ravel()
    partners = csr_array((np.ones(keypoint.size, dtype=np.int8), ends), shape=(num_keypoints, num_keypoints))
    common = partners[keypoint[0, asked]].multiply(partners[keypoint[1, asked]]).tocsr()
    return np.asarray(np.diff(common.indptr) > 0)


def _chance_of_witness(problem: Problem, keypoint: IntArray, triplets: IntArray) -> FloatArray:
    """(num_edges,) expected witnesses of two unrelated keypoints: the sum of n_ik n_jk / (K_i K_j K_k) over images k.

    Here n is the number of matches of a pair, and K that of an image's keypoints that match at all.
    """
    graph, offsets = problem.view_graph, problem.keypoints.offsets
    is_matched = np.bincount(keypoint.ravel(), minlength=offsets[-1]) > 0
    num_matched = np.maximum(np.diff(np.concatenate([[0], np.cumsum(is_matched)])[offsets]), 1)
    i, j, k = *graph.edge_index[:, triplets[0]], graph.edge_index[1, triplets[2]]
    volume = num_matched[i] * num_matched[j] * num_matched[k].astype(float)
    one, other = _other_sides(triplets, np.diff(problem.matches.offsets))
    return _sum_by_edge(triplets, one * other / volume, graph.num_edges)


def _other_sides(triplets: IntArray, value: IntArray) -> tuple[IntArray, IntArray]:
    """For each side of each triplet (3, num_triplets), the values of the other two sides."""
    of_side = value[triplets]
    return of_side[[1, 2, 0]], of_side[[2, 0, 1]]


def _sum_by_edge(triplets: IntArray, value: FloatArray | IntArray, num_edges: int) -> FloatArray:
    """(num_edges,) sums of values (3, num_triplets) over the triplets that each edge is a side of."""
    return np.bincount(triplets.ravel(), value.ravel().astype(float), num_edges).astype(float)
