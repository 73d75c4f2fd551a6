"""Connected components, and what hangs on a single node: against taking nodes out one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vgpa.geometry.components import find_hanging, label_components
from vgpa.geometry.rotation import IntArray


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, IntArray]:
    """A number of nodes and edges between them, each once."""
    num = draw(st.integers(2, 9))
    pairs = np.stack(np.triu_indices(num, k=1))
    kept = draw(st.lists(st.booleans(), min_size=pairs.shape[1], max_size=pairs.shape[1]))
    return num, pairs[:, np.array(kept, dtype=np.bool_)]


@given(graphs(), st.integers(0, 8))
def test_a_group_hangs_on_a_node_if_and_only_if_it_falls_off_without_it(graph: tuple[int, IntArray], root: int) -> None:
    num, edges = graph
    root %= num
    whole = label_components(edges, num) == label_components(edges, num)[root]
    members = set(np.flatnonzero(whole).tolist())
    hinges, behind = set(), set()
    for node in members:
        label = label_components(edges[:, (edges != node).all(axis=0)], num)
        parts = {frozenset(k for k in members - {node} if label[k] == one) for one in label[list(members - {node})]}
        if len(parts) > 1:
            hinges.add(node)
            behind |= {(node, part) for part in parts if root not in part and 2 * len(part) < len(members) - 1}
    found = {(hinge, frozenset(group.tolist())) for hinge, group in find_hanging(edges, num, root)}
    assert {hinge for hinge, _ in found} == hinges
    assert behind <= found
    for hinge, group in found:
        rest = members - {hinge} - group
        assert len(group) <= len(rest)
        assert not any((i in group and j in rest) or (j in group and i in rest) for i, j in edges.T.tolist())


def test_smaller_groups_come_first() -> None:
    chain = np.array([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6]])
    assert [len(group) for _, group in find_hanging(chain, 7, 3)] == [1, 1, 2, 2, 3, 3]
