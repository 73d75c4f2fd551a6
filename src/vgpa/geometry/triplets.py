"""Triplets of a graph given as arrays: every three nodes that are connected pairwise, and whether they close.

Three cameras with R_ij, R_jk and R_ik must close: R_jk R_ij = R_ik. Candidates are laid out in one line (for each
edge ij, each edge jk with j < k) and looked up among the sorted edges in pieces, so that nothing loops over nodes
or edges and memory stays bounded. Touches arrays only.
"""

from __future__ import annotations

import numpy as np

from vgpa.geometry.rotation import FloatArray, IntArray, multiply

PIECE = 1_000_000
"""Candidates looked up at a time."""
MAX_NUM_CANDIDATES = 3_000_000
"""To judge edges, of more candidates an even part is looked at: half a second, and enough."""
MAX_CLOSING_ERROR_DEG = 5.0
PRIOR_NUM_CLOSED, PRIOR_NUM_TRIPLETS = 0.5, 2.0
"""What an edge is given before its triplets speak: in no triplet, it counts as right with a chance of a quarter."""


def closing_part(edge_index: IntArray, quaternion_wxyz: FloatArray, num_nodes: int) -> FloatArray:
    """(num_edges,) the part of its triplets that each edge closes, drawn towards a quarter where there are few.

    Args:
        edge_index: (2, num_edges) pairs (i, j) with i < j, each at most once.
        quaternion_wxyz: (num_edges, 4) R_ij of each edge.
    """
    num_edges = edge_index.shape[1]
    triplets = find_triplets(edge_index, num_nodes, MAX_NUM_CANDIDATES)
    ij, jk, ik = quaternion_wxyz[triplets]
    # The inner product of unit quaternions is the cosine of half the angle between them.
    closes = np.abs(np.sum(multiply(jk, ij) * ik, axis=-1)) > np.cos(np.radians(MAX_CLOSING_ERROR_DEG) / 2)
    num_closed = np.bincount(triplets[:, closes].ravel(), minlength=num_edges)
    num_triplets = np.bincount(triplets.ravel(), minlength=num_edges)
    return (num_closed + PRIOR_NUM_CLOSED) / (num_triplets + PRIOR_NUM_TRIPLETS)


def find_triplets(edge_index: IntArray, num_nodes: int, max_num_candidates: int | None = None) -> IntArray:
    """(3, num_triplets) edges ij, jk and ik of every three nodes i < j < k that are connected pairwise.

    Args:
        edge_index: (2, num_edges) pairs (i, j) with i < j, each at most once.
        max_num_candidates: look at no more than about this many pairs of edges ij, jk, evenly spread; None looks at
            all of them.
    """
    key = edge_index[0] * num_nodes + edge_index[1]
    by_key = np.argsort(key)
    key = key[by_key]
    first, second = edge_index[:, by_key]
    begin = np.searchsorted(first, np.arange(num_nodes + 1))
    # Edge e = ij meets the edges that start in j: candidates offset[e] to offset[e + 1] of the line.
    offset = np.concatenate([[0], np.cumsum(np.diff(begin)[second])])
    total = int(offset[-1])
    stride = 1 if max_num_candidates is None else max(1, -(-total // max_num_candidates))
    found = [np.zeros((3, 0), dtype=np.int64)]
    for start in range(0, total, stride * PIECE):
        candidate = np.arange(start, min(start + stride * PIECE, total), stride)
        ij = np.searchsorted(offset, candidate, side="right") - 1
        jk = begin[second[ij]] + candidate - offset[ij]
        wanted = first[ij] * num_nodes + second[jk]
        ik = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        exists = key[ik] == wanted
        found.append(by_key[np.stack([ij, jk, ik])[:, exists]])
    return np.concatenate(found, axis=1)
