"""The matches that carry a model: of each pair, those whose keypoints match in most other pairs too.

Long tracks hold many images together at once, and a few hundred of them say nearly what all matches say. Every pair
keeps its own best, so that images which hang on the rest by few matches lose none of these.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vgpa.geometry.rotation import IntArray
from vgpa.scene import Matches, Problem

NUM_SHADES, STRIDE = 1 << 10, 633
"""Keypoints with equally many matches are told apart by one of so many shades, which follow each other in such steps
that neighbours differ widely. Keypoints that match have the shade of the first of them: the choice mostly falls on
whole tracks, the same ones in every pair."""


def with_strongest_matches(problem: Problem, max_num: int) -> Problem:
    """The same edges with about `max_num` matches each at most."""
    matches = problem.matches
    strength = _strengths(problem)
    # In one sorted row of all edges, the strongest of each edge first, the last one that stays is where it must be.
    width = int(strength.max(initial=0)) + 1
    key = matches.edge_idx * width + (width - 1 - strength)
    has_any = np.diff(matches.offsets) > 0
    last = matches.offsets[:-1] + np.minimum(np.diff(matches.offsets), max_num) - 1
    limit = np.full(len(last), -1)
    limit[has_any] = np.sort(key)[last[has_any]]
    kept = key <= limit[matches.edge_idx]
    offsets = np.concatenate([[0], np.cumsum(kept)])[matches.offsets]
    return replace(problem, matches=Matches(offsets, matches.keypoint_idx[kept]))


def _strengths(problem: Problem) -> IntArray:
    """(num_matches,) how many matches the lesser keypoint of each match has, and after that its shade."""
    graph, matches, offsets = problem.view_graph, problem.matches, problem.keypoints.offsets
    keypoint = offsets[graph.edge_index[:, matches.edge_idx]] + matches.keypoint_idx.T
    num_matches = np.bincount(keypoint.ravel(), minlength=offsets[-1])
    first = np.arange(len(num_matches))
    np.minimum.at(first, keypoint[1], keypoint[0])
    strength = num_matches * NUM_SHADES + first * STRIDE % NUM_SHADES
    return np.asarray(np.minimum(*strength[keypoint]))
