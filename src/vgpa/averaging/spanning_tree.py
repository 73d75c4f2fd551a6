"""A start that needs no network: walk the best-supported spanning tree from the best-connected image.

An edge's support is its inliers times the chance that it is right, judged by the triplets it closes. One wrong edge
in the tree turns all that hangs below it, so a well-matched edge that closes nothing (repeated structure) must lose
against a weaker one that its neighbours confirm.
"""

from __future__ import annotations

from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray
from vgpa.geometry.spanning_tree import chain_motions, grow_forest
from vgpa.geometry.triplets import closing_part
from vgpa.scene import ViewGraph


def spanning_tree_poses(graph: ViewGraph) -> Rigid:
    """cam_from_world of a connected graph's images: motions chained along the tree, every step of length one."""
    forest = grow_forest(graph.edge_index, -edge_support(graph), graph.num_images)
    return chain_motions(forest, graph.edge_index, graph.cam_j_from_cam_i)


def edge_support(graph: ViewGraph) -> FloatArray:
    """(num_edges,) inliers times the part of its triplets that an edge closes."""
    return graph.num_inliers * closing_part(graph.edge_index, graph.cam_j_from_cam_i.quaternion_wxyz, graph.num_images)
