"""Pairs whose matches third images speak against.

Where keypoint a matches b, and b matches c in a third image, a often matches c too: then c is a witness of a and b. A
pair of photos of the same thing has witnesses wherever both match a third photo; in ten real scenes every pair of 30
matches does, but one. And where c matches a in one image and b' in the other, c contradicts any match of a with
another b. A pair that could have witnesses, has no more than chance gives, and is contradicted, joins what does not
belong together, however well its matches agree with its relative pose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from vgpa.geometry.rotation import BoolArray, FloatArray, IntArray
from vgpa.geometry.triplets import MAX_NUM_CANDIDATES, find_triplets
from vgpa.scene import Problem

MIN_NUM_ABLE = 60
"""Matches of third images that could have borne a pair out, before their silence counts."""
MAX_NUM_STRAY, CHANCE_FACTOR = 2, 2.0
"""A pair needs more matches with a witness than so many, and so many times what chance gives."""
MAX_NUM_ASKED = 100
"""About so many matches of a pair are looked at."""
MAX_NUM_PARTNERS = 50_000_000
"""Partners of keypoints that are compared, at most. Graphs with more hold every camera by many pairs, right ones among
them, and nothing is refuted there."""
MIN_BORNE_OUT_PART = 0.25
"""Where fewer pairs have witnesses, keypoints do not repeat from pair to pair (dense matchers), and nothing follows."""


@dataclass(frozen=True, eq=False)
class Hearing:
    """What third images say of the edges.

    Attributes:
        is_silent: (num_edges,) edges that many matches of third images could bear out, and do not.
        is_refuted: (num_edges,) those of them that matches of third images contradict.
    """

    is_silent: BoolArray
    is_refuted: BoolArray


def hear_witnesses(problem: Problem) -> Hearing:
    """What the matches of third images say of every edge."""
    graph, matches, offsets = problem.view_graph, problem.matches, problem.keypoints.offsets
    num_edges = graph.num_edges
    triplets = find_triplets(graph.edge_index, graph.num_images, MAX_NUM_CANDIDATES)
    num_able = _sum_by_edge(triplets, np.minimum(*_other_sides(triplets, np.diff(matches.offsets))), num_edges)
    keypoint = offsets[graph.edge_index[:, matches.edge_idx]] + matches.keypoint_idx.T
    asked = matches.spread(MAX_NUM_ASKED)
    edge_idx = matches.edge_idx[asked]
    nothing = np.zeros(num_edges, dtype=np.bool_)
    num_partners = np.bincount(keypoint.ravel(), minlength=offsets[-1])
    if num_partners[keypoint[:, asked]].sum() > MAX_NUM_PARTNERS:
        return Hearing(nothing, nothing)
    partners = partners_of_keypoints(keypoint, int(offsets[-1]))
    num_witnessed = np.bincount(edge_idx, are_witnessed(keypoint[:, asked], partners), num_edges)
    by_chance = np.bincount(edge_idx, minlength=num_edges) * _chance_of_witness(problem, keypoint, triplets)
    has_witnesses = num_witnessed > MAX_NUM_STRAY + CHANCE_FACTOR * by_chance
    could_have = num_able >= MIN_NUM_ABLE
    if has_witnesses[could_have].sum() < MIN_BORNE_OUT_PART * could_have.sum():
        return Hearing(nothing, nothing)
    is_silent = could_have & ~has_witnesses
    asked = asked & is_silent[matches.edge_idx]
    edge_idx = matches.edge_idx[asked]
    ends = graph.edge_index[:, edge_idx]
    contradicted = are_contradicted(keypoint[:, asked], partners, offsets[ends], offsets[ends + 1])
    return Hearing(is_silent, is_silent & (np.bincount(edge_idx, contradicted, num_edges) > 0))


def partners_of_keypoints(keypoint: IntArray, num_keypoints: int) -> csr_array:
    """(num_keypoints, num_keypoints) one wherever two keypoints match.

    Args:
        keypoint: (2, num_matches) both ends of every match, counted over all images.
    """
    ends = keypoint.ravel(), keypoint[::-1].ravel()
    return csr_array((np.ones(keypoint.size, dtype=np.int32), ends), shape=(num_keypoints, num_keypoints))


def are_witnessed(match: IntArray, partners: csr_array) -> BoolArray:
    """(num_matches,) whether both keypoints of a match (2, num_matches) also match the same third one."""
    common = partners[match[0]].multiply(partners[match[1]]).tocsr()
    return np.asarray(np.diff(common.indptr) > 0)


def are_contradicted(match: IntArray, partners: csr_array, first: IntArray, end: IntArray) -> BoolArray:
    """(num_matches,) whether a third keypoint joins one end of a match to another keypoint in the other end's image.

    Args:
        match: (2, num_matches) keypoints.
        first, end: (2, num_matches) where the keypoints of the image of each end begin and end.
    """
    found = np.zeros(match.shape[1], dtype=np.bool_)
    for this, other in ((0, 1), (1, 0)):
        reached = (partners[match[this]] @ partners).tocoo()
        row, column = reached.coords
        inside = (first[other, row] <= column) & (column < end[other, row]) & (column != match[other, row])
        found[row[inside]] = True
    return found


def _chance_of_witness(problem: Problem, keypoint: IntArray, triplets: IntArray) -> FloatArray:
    """(num_edges,) expected witnesses of two unrelated keypoints: the sum of n_ik n_jk / (K_i K_j K_k) over triplets.

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
