"""Which verified pairs are trusted as edges of the view graph."""

from __future__ import annotations

from vgpa.config import GraphConfig
from vgpa.scene import Problem


def select_reliable_edges(problem: Problem, config: GraphConfig) -> Problem:
    """The problem with only the edges that enough verified matches support."""
    graph = problem.view_graph
    enough = graph.num_inliers >= config.min_num_inliers
    clean = graph.num_inliers >= config.min_inlier_ratio * graph.num_matches
    return problem.select_edges(enough & clean)
