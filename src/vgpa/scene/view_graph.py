"""The view graph: images as nodes, verified two-view geometries as edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vgpa.geometry.components import label_components
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, rotation_angle_rad
from vgpa.scene.arrays import check_indices, checked

UNIT_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class ViewGraph:
    """Noisy relative poses between images. Immutable.

    Attributes:
        num_images: number of nodes; some may have no edge.
        edge_index: (2, num_edges) image indices (i, j) with i < j, each pair once.
        cam_j_from_cam_i: (num_edges) the measured motions R_ij and unit t_ij (zero where there is no direction).
        has_direction: (num_edges,) False where the baseline is too short to tell (panoramic pairs).
        num_inliers: (num_edges,) verified matches.
        num_matches: (num_edges,) matches before verification (num_inliers where the database forgot them).
    """

    num_images: int
    edge_index: NDArray[np.int64]
    cam_j_from_cam_i: Rigid
    has_direction: NDArray[np.bool_]
    num_inliers: NDArray[np.int64]
    num_matches: NDArray[np.int64]

    def __post_init__(self) -> None:
        edges = checked(self.edge_index, np.int64, (2, None), "edge_index")
        num = edges.shape[1]
        object.__setattr__(self, "edge_index", edges)
        for name, dtype in (
            ("has_direction", np.bool_),
            ("num_inliers", np.int64),
            ("num_matches", np.int64),
        ):
            object.__setattr__(self, name, checked(getattr(self, name), dtype, (num,), name))
        check_indices(edges, self.num_images, "edge_index")
        if (edges[0] >= edges[1]).any():
            raise ValueError("every edge must have i < j")
        if len(np.unique(edges[0] * self.num_images + edges[1])) != num:
            raise ValueError("every pair of images must have at most one edge")
        if self.cam_j_from_cam_i.translation.shape != (num, 3):
            raise ValueError(f"cam_j_from_cam_i must hold {num} motions")
        length = np.linalg.norm(self.cam_j_from_cam_i.translation, axis=-1)
        if (np.abs(length[self.has_direction] - 1) > UNIT_TOLERANCE).any():
            raise ValueError("directions must have unit length")

    @property
    def num_edges(self) -> int:
        """Number of undirected edges."""
        return self.edge_index.shape[1]

    @property
    def degree(self) -> NDArray[np.int64]:
        """(num_images,) number of edges at each image."""
        return np.bincount(self.edge_index.ravel(), minlength=self.num_images)

    def select_edges(self, keep: NDArray[np.bool_]) -> ViewGraph:
        """The same images with only the edges of the mask (num_edges,)."""
        return ViewGraph(
            self.num_images,
            self.edge_index[:, keep],
            self.cam_j_from_cam_i[keep],
            self.has_direction[keep],
            self.num_inliers[keep],
            self.num_matches[keep],
        )

    def component_labels(self) -> NDArray[np.int64]:
        """(num_images,) label of each image's connected component; the largest component has label 0.

        Components of the same size are ordered by their first image.
        """
        labels = label_components(self.edge_index, self.num_images)
        largest_first = np.argsort(-np.bincount(labels), kind="stable")
        rank = np.empty_like(largest_first)
        rank[largest_first] = np.arange(len(rank))
        return np.asarray(rank[labels])

    def rotation_residuals_deg(self, rotation: FloatArray) -> FloatArray:
        """(..., num_edges) angle between measured R_ij and R_j R_i^T of world-to-camera rotations (..., n, 3, 3)."""
        i, j = self.edge_index
        predicted = rotation[..., j, :, :] @ np.swapaxes(rotation[..., i, :, :], -1, -2)
        return np.degrees(rotation_angle_rad(predicted, self.cam_j_from_cam_i.rotation))

    def subgraph(self, image_idx: NDArray[np.int64]) -> tuple[ViewGraph, NDArray[np.bool_]]:
        """The graph on the given images, renumbered in their (rising) order, and the mask of edges it keeps."""
        new_idx = np.full(self.num_images, -1)
        new_idx[image_idx] = np.arange(len(image_idx))
        renumbered = new_idx[self.edge_index]
        keep = np.asarray((renumbered >= 0).all(axis=0))
        kept = self.select_edges(keep)
        graph = ViewGraph(
            len(image_idx),
            renumbered[:, keep],
            kept.cam_j_from_cam_i,
            kept.has_direction,
            kept.num_inliers,
            kept.num_matches,
        )
        return graph, keep
