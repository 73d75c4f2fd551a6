"""A start that needs no network: walk the maximum spanning tree of inlier counts from the best-connected image."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from vgpa.geometry.rigid import Rigid
from vgpa.scene import ViewGraph


def spanning_tree_poses(graph: ViewGraph) -> Rigid:
    """cam_from_world of a connected graph's images: motions chained along the tree, every step of length one."""
    num = graph.num_images
    i, j = graph.edge_index
    # Costs are positive and fall with the evidence, so the minimum tree is the best-supported one.
    cost = 1.0 / (1.0 + graph.num_inliers)
    tree = minimum_spanning_tree(coo_array((cost, (i, j)), shape=(num, num)))
    root = int(np.argmax(graph.degree))
    order, parent = breadth_first_order(tree, root, directed=False)
    edge_of = {(a, b): e for e, (a, b) in enumerate(zip(i.tolist(), j.tolist(), strict=True))}
    motion, backward = graph.cam_j_from_cam_i, graph.cam_j_from_cam_i.inverse()
    rotation = np.tile(np.eye(3), (num, 1, 1))
    translation = np.zeros((num, 3))
    forward_rotation, backward_rotation = motion.rotation, backward.rotation
    for child in order[1:].tolist():
        above = int(parent[child])
        e = edge_of[min(above, child), max(above, child)]
        is_forward = above < child
        child_from_above = forward_rotation[e] if is_forward else backward_rotation[e]
        step = motion.translation[e] if is_forward else backward.translation[e]
        rotation[child] = child_from_above @ rotation[above]
        translation[child] = child_from_above @ translation[above] + step
    return Rigid.from_matrix(rotation, translation)
