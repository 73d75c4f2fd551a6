"""View graphs that hold poses badly or not at all: a defined answer, finite numbers, and no silence about failure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.synthetic import Truth, all_pairs, make_edges_wrong, make_problem
from vgpa import config as presets
from vgpa.averaging.average import Averaged, average_from
from vgpa.averaging.predict import predict_poses
from vgpa.errors import NoModelError
from vgpa.geometry.rotation import rotation_angle_rad
from vgpa.scene import Problem, ViewGraph
from vgpa.solve import solve
from vgpa.stages import StageLog

NUM = 10
CONFIG = presets.fast()


def star() -> np.ndarray:
    return np.stack([np.zeros(NUM - 1, dtype=np.int64), np.arange(1, NUM)])


def line() -> np.ndarray:
    return np.stack([np.arange(NUM - 1), np.arange(1, NUM)])


def tree() -> np.ndarray:
    child = np.arange(1, NUM)
    return np.stack([(child - 1) // 2, child])


def two_cliques() -> np.ndarray:
    """All pairs within the first and within the second half, and one pair between them."""
    i, j = all_pairs(NUM)
    return np.stack([i, j])[:, (i // 5 == j // 5) | ((i == 4) & (j == 5))]


def single_pair() -> np.ndarray:
    return np.array([[0], [1]])


SHAPES: dict[str, Callable[[], np.ndarray]] = {
    "star": star,
    "line": line,
    "tree": tree,
    "two cliques with one bridge": two_cliques,
    "single pair": single_pair,
}


def problem_on(edges: np.ndarray) -> Truth:
    """A problem with only the given edges of all."""
    truth = make_problem(NUM, 80, noise_px=0.3)
    wanted = set(map(tuple, edges.T.tolist()))
    keep = np.array([pair in wanted for pair in map(tuple, truth.problem.view_graph.edge_index.T.tolist())])
    assert keep.sum() == edges.shape[1]
    return Truth(truth.problem.select_edges(keep), truth.cam_from_world, truth.xyz)


def averaged(graph: ViewGraph) -> Averaged:
    return average_from(graph, None, CONFIG.averaging, "network", predict_poses(graph, CONFIG.averaging, "cpu"))


def assert_finite(answer: Averaged) -> None:
    for values in (
        answer.poses.cam_from_world.rotation,
        answer.poses.cam_from_world.translation,
        answer.rotation_residual_deg,
        answer.direction_residual_deg,
    ):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_rotations_of_exact_sparse_graphs_are_exact(shape: str) -> None:
    truth = problem_on(SHAPES[shape]())
    used = np.unique(truth.problem.view_graph.edge_index)
    graph, _ = truth.problem.view_graph.subgraph(used)
    answer = averaged(graph)
    assert_finite(answer)
    assert answer.poses.is_known.all()
    assert answer.rotation_residual_deg.max() < 0.01
    true, found = truth.cam_from_world.rotation[used], answer.poses.cam_from_world.rotation
    world = np.swapaxes(found[0], -1, -2) @ true[0]
    assert np.degrees(rotation_angle_rad(found @ world, true)).max() < 0.05


@pytest.mark.parametrize("fraction", [0.5, 1.0])
def test_wrong_edges_never_become_numbers_that_are_none(fraction: float) -> None:
    graph = make_edges_wrong(make_problem(NUM, 5).problem.view_graph, fraction)
    assert_finite(averaged(graph))


def test_a_graph_of_wrong_edges_says_that_it_is_inconsistent() -> None:
    answer = averaged(make_edges_wrong(make_problem(NUM, 5).problem.view_graph, 1.0))
    assert answer.is_edge_kept.mean() < 0.5
    assert np.median(answer.rotation_residual_deg) > 10


@pytest.mark.parametrize("shape", SHAPES)
def test_a_whole_solution_has_an_end(shape: str) -> None:
    truth = problem_on(SHAPES[shape]())
    assert_defined(truth.problem)


def test_a_whole_solution_of_wrong_edges_is_none_or_tiny() -> None:
    truth = make_problem(NUM, 80)
    wrong = make_edges_wrong(truth.problem.view_graph, 1.0)
    problem = Problem(truth.problem.images, truth.problem.keypoints, wrong, truth.problem.matches)
    assert_defined(problem)


def assert_defined(problem: Problem) -> None:
    """A model of finite numbers in which every image has its state, or the sentence that there is none."""
    try:
        solution = solve(problem, CONFIG, StageLog())
    except NoModelError:
        return
    assert set(solution.states) == set(problem.images.names)
    for part in solution.parts:
        assert np.isfinite(part.model.xyz).all()
        assert np.isfinite(part.model.poses.cam_from_world.translation).all()
