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

from vgpa.geometry.rotation import BoolArray, FloatArray, IntArray
from vgpa.geometry.triplets import MAX_NUM_CANDIDATES, find_triplets
from vgpa.scene import Problem
from vgpa.scene.arrays import run_indices

MIN_NUM_ABLE = 60
"""Matches of third images that could have borne a pair out, before their silence counts."""
MAX_NUM_STRAY, CHANCE_FACTOR = 2, 2.0
"""A pair needs more matches with a witness than so many, and so many times what chance gives."""
MAX_NUM_ASKED = 100
"""About so many matches of a pair are looked at."""
ASK_EARLY = 5
"""One of so many is asked first."""
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


@dataclass(frozen=True, eq=False)
class Partners:
    """Which keypoints match which, counted over all images.

    Attributes:
        offsets: (num_keypoints + 1,) where the partners of each keypoint begin.
        keypoint: (num_partners,) keypoints, each once for every keypoint that it matches.
    """

    offsets: IntArray
    keypoint: IntArray

    @classmethod
    def of_matches(cls, match: IntArray, num_keypoints: int) -> Partners:
        """Those of matches (2, num_matches)."""
        pair = np.sort((match * num_keypoints + match[::-1]).ravel(), kind="stable")  # fast: long runs are in order
        pair = pair[np.concatenate([[True], pair[1:] != pair[:-1]])] if len(pair) else pair
        keypoint, partner = np.divmod(pair, num_keypoints)
        num = np.bincount(keypoint, minlength=num_keypoints)
        return cls(np.concatenate([[0], np.cumsum(num)]), partner)

    @property
    def num_keypoints(self) -> int:
        """Number of keypoints of all images."""
        return len(self.offsets) - 1

    def of(self, keypoint: IntArray) -> tuple[IntArray, IntArray]:
        """(m,) which of the given keypoints (n,) has a partner, and that partner, for all partners of all of them."""
        num = self.offsets[keypoint + 1] - self.offsets[keypoint]
        return np.repeat(np.arange(len(keypoint)), num), self.keypoint[run_indices(self.offsets, keypoint)]


def hear_witnesses(problem: Problem) -> Hearing:
    """What the matches of third images say of every edge."""
    graph, matches, offsets = problem.view_graph, problem.matches, problem.keypoints.offsets
    num_edges = graph.num_edges
    triplets = find_triplets(graph.edge_index, graph.num_images, MAX_NUM_CANDIDATES)
    num_able = _sum_by_edge(triplets, np.minimum(*_other_sides(triplets, np.diff(matches.offsets))), num_edges)
    keypoint = offsets[graph.edge_index[:, matches.edge_idx]] + matches.keypoint_idx.T
    asked = np.flatnonzero(matches.spread(MAX_NUM_ASKED))
    nothing = np.zeros(num_edges, dtype=np.bool_)
    num_partners = np.bincount(keypoint.ravel(), minlength=offsets[-1])
    if num_partners[keypoint[:, asked]].sum() > MAX_NUM_PARTNERS:
        return Hearing(nothing, nothing)
    partners = Partners.of_matches(keypoint, int(offsets[-1]))
    num_asked = np.bincount(matches.edge_idx[asked], minlength=num_edges)
    by_chance = num_asked * _chance_of_witness(problem, keypoint, triplets)
    num_needed = MAX_NUM_STRAY + CHANCE_FACTOR * by_chance
    has_witnesses = _count_witnessed(keypoint, matches.edge_idx, asked, partners, num_needed) > num_needed
    could_have = num_able >= MIN_NUM_ABLE
    if has_witnesses[could_have].sum() < MIN_BORNE_OUT_PART * could_have.sum():
        return Hearing(nothing, nothing)
    is_silent = could_have & ~has_witnesses
    asked = asked[is_silent[matches.edge_idx[asked]]]
    edge_idx = matches.edge_idx[asked]
    ends = graph.edge_index[:, edge_idx]
    contradicted = are_contradicted(keypoint[:, asked], partners, offsets[ends], offsets[ends + 1])
    return Hearing(is_silent, is_silent & (np.bincount(edge_idx, contradicted, num_edges) > 0))


def are_witnessed(match: IntArray, partners: Partners) -> BoolArray:
    """(num_matches,) whether both keypoints of a match (2, num_matches) also match the same third one."""
    met = np.concatenate([row * partners.num_keypoints + third for row, third in map(partners.of, match)])
    met.sort(kind="stable")  # two halves that are in order, which are merged
    num_witnesses = np.bincount(met[1:][met[1:] == met[:-1]] // partners.num_keypoints, minlength=match.shape[1])
    return np.asarray(num_witnesses > 0)


def are_contradicted(match: IntArray, partners: Partners, first: IntArray, end: IntArray) -> BoolArray:
    """(num_matches,) whether a third keypoint joins one end of a match to another keypoint in the other end's image.

    Args:
        match: (2, num_matches) keypoints.
        first, end: (2, num_matches) where the keypoints of the image of each end begin and end.
    """
    found = np.zeros(match.shape[1], dtype=np.bool_)
    for this, other in ((0, 1), (1, 0)):
        of_third, third = partners.of(match[this])
        via, reached = partners.of(third)
        row = of_third[via]
        inside = (first[other, row] <= reached) & (reached < end[other, row]) & (reached != match[other, row])
        found[row[inside]] = True
    return found


def _count_witnessed(
    keypoint: IntArray, edge_idx: IntArray, asked: IntArray, partners: Partners, num_needed: FloatArray
) -> IntArray:
    """(num_edges,) matches with a witness, counted until an edge has more than it needs.

    Args:
        keypoint, edge_idx: (2, num_matches), (num_matches,) both ends of every match, and its edge.
        asked: the matches that may be asked; most edges have enough in the first few.
        num_needed: (num_edges,).
    """
    is_early = np.arange(len(asked)) % ASK_EARLY == 0
    num = np.zeros(len(num_needed), dtype=np.int64)
    for some in (asked[is_early], asked[~is_early]):
        needed = some[(num <= num_needed)[edge_idx[some]]]
        is_witnessed = are_witnessed(keypoint[:, needed], partners)
        num += np.bincount(edge_idx[needed[is_witnessed]], minlength=len(num))
    return num


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
