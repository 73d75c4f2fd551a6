"""Connected components of a graph given as arrays: of images, of keypoints, of cameras.

Own lines in place of scipy's, because importing scipy's graphs takes longer than averaging a small scene, and nothing
else needs them there. Touches arrays only.
"""

from __future__ import annotations

import numpy as np

from vgpa.geometry.rotation import IntArray


def label_components(edge_index: IntArray, num_nodes: int) -> IntArray:
    """(num_nodes,) the component of each node, counted from 0 in the order of their first nodes.

    Args:
        edge_index: (2, num_edges) pairs of nodes, in any order and any number of times.
        num_nodes: nodes without edges are components of their own.
    """
    leader = np.arange(num_nodes)
    i, j = edge_index
    while True:
        one, other = leader[i], leader[j]
        is_open = one != other
        if not is_open.any():
            break
        i, j = one[is_open], other[is_open]
        # Every leader follows the lowest one that it meets, so chains of leaders go down and close no circle.
        np.minimum.at(leader, np.maximum(i, j), np.minimum(i, j))
        while (leader != (above := leader[leader])).any():
            leader = above
    is_leader = leader == np.arange(num_nodes)
    return (np.cumsum(is_leader) - 1)[leader]
