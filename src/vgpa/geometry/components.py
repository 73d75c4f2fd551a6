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


def find_hanging(edge_index: IntArray, num_nodes: int, root: int) -> list[tuple[int, IntArray]]:
    """Groups of nodes that a single node ties to all others: that node, and the group, smaller groups first.

    A walk in depth numbers the nodes; what it finds behind a node hangs on it unless some edge leads back beyond it.
    Of what a node divides in two, the smaller part hangs. Only what is connected with the root is looked at.

    Args:
        edge_index: (2, num_edges) pairs of nodes, each once.
    """
    ends = np.concatenate([edge_index, edge_index[::-1]], axis=1)
    by_node = np.argsort(ends[0], kind="stable")
    neighbours = np.split(ends[1][by_node], np.cumsum(np.bincount(ends[0], minlength=num_nodes))[:-1])
    number, lowest = [-1] * num_nodes, [0] * num_nodes
    order, found = [root], []
    number[root] = 0
    path = [(root, iter(neighbours[root].tolist()))]
    while path:
        node, others = path[-1]
        for other in others:
            if number[other] < 0:
                number[other] = lowest[other] = len(order)
                order.append(other)
                path.append((other, iter(neighbours[other].tolist())))
                break
            lowest[node] = min(lowest[node], number[other])
        else:
            path.pop()
            if path:
                above = path[-1][0]
                lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] >= number[above]:
                    found.append((above, number[node], len(order)))
    walk, answer = np.array(order, dtype=np.int64), []
    for hinge, first, end in found:
        behind, before = walk[first:end], np.delete(walk, np.r_[number[hinge], first:end])
        group = min(before, behind, key=len)
        if len(group):
            answer.append((hinge, group))
    return sorted(answer, key=lambda hanging: len(hanging[1]))
