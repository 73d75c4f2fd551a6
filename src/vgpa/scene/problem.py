"""What the solver reads: a database in memory. Images, keypoints, view graph, and the matches on its edges."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vgpa.scene.arrays import check_indices, check_offsets, checked, run_indices
from vgpa.scene.images import ImageSet, Keypoints
from vgpa.scene.view_graph import ViewGraph


@dataclass(frozen=True, eq=False)
class Matches:
    """Verified keypoint matches of a view graph's edges (CSR by edge).

    Attributes:
        offsets: (num_edges + 1,) matches of edge e are offsets[e]:offsets[e + 1].
        keypoint_idx: (num_matches, 2) keypoint of image i and keypoint of image j, numbered within the image.
    """

    offsets: NDArray[np.int64]
    keypoint_idx: NDArray[np.int64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", checked(self.offsets, np.int64, (None,), "match offsets"))
        object.__setattr__(self, "keypoint_idx", checked(self.keypoint_idx, np.int64, (None, 2), "matches"))
        check_offsets(self.offsets, len(self.keypoint_idx), "match offsets")

    @property
    def edge_idx(self) -> NDArray[np.int64]:
        """(num_matches,) edge of each match."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def select_edges(self, keep: NDArray[np.bool_]) -> Matches:
        """Matches of the edges in the mask (num_edges,)."""
        runs = np.flatnonzero(keep)
        lengths = np.diff(self.offsets)[runs]
        return Matches(np.concatenate([[0], np.cumsum(lengths)]), self.keypoint_idx[run_indices(self.offsets, runs)])

    def spread(self, max_num: int) -> NDArray[np.bool_]:
        """(num_matches,) some of the matches of every edge, fewer than twice `max_num`, evenly spread over them."""
        lengths = np.diff(self.offsets)
        rank = np.arange(len(self.keypoint_idx)) - np.repeat(self.offsets[:-1], lengths)
        return np.asarray(rank % np.repeat(np.maximum(lengths // max_num, 1), lengths) == 0)


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything between the front end and the solver.

    Attributes:
        images: the images and their cameras.
        keypoints: keypoints of every image.
        view_graph: verified relative poses between the images.
        matches: verified matches, one run per edge of the view graph.
    """

    images: ImageSet
    keypoints: Keypoints
    view_graph: ViewGraph
    matches: Matches

    def __post_init__(self) -> None:
        num_images, num_edges = len(self.images), self.view_graph.num_edges
        if self.view_graph.num_images != num_images or len(self.keypoints.offsets) != num_images + 1:
            raise ValueError("images, keypoints and view graph must count the same images")
        if len(self.matches.offsets) != num_edges + 1:
            raise ValueError("there must be one run of matches per edge")
        check_indices(self.matches.keypoint_idx, np.iinfo(np.int64).max, "matched keypoint")
        has_any = np.diff(self.matches.offsets) > 0
        limits = self.keypoints.num_of()[self.view_graph.edge_index[:, has_any]].T
        highest = np.maximum.reduceat(self.matches.keypoint_idx, self.matches.offsets[:-1][has_any], axis=0)
        if (highest >= limits).any():
            raise ValueError("a match names a keypoint that its image does not have")

    def select_edges(self, keep: NDArray[np.bool_]) -> Problem:
        """The same images with only the edges of the mask, and their matches."""
        return replace(self, view_graph=self.view_graph.select_edges(keep), matches=self.matches.select_edges(keep))

    def thin_matches(self, max_num: int) -> Problem:
        """The same edges with fewer than twice `max_num` matches each: enough to ask what most of them say."""
        kept = self.matches.spread(max_num)
        offsets = np.concatenate([[0], np.cumsum(kept)])[self.matches.offsets]
        return replace(self, matches=Matches(offsets, self.matches.keypoint_idx[kept]))
