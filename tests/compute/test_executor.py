"""The contract of every executor: each task ends once, errors are data, and the front end comes out the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frontend.test_build import assert_same_contents, build, small_config
from vgpa.compute import Executor, LocalExecutor
from vgpa.frontend.shards import compute_step


def square(number: int) -> int:
    if number == 3:
        raise ValueError("three is too many")
    return number**2


def die(_: int) -> None:
    os._exit(1)


@pytest.fixture(scope="module")
def ray_executor() -> Iterator[Executor]:
    ray = pytest.importorskip("ray", reason="the extra `ray` is not installed")
    from vgpa.compute.ray import RayExecutor

    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": "."}})
    yield RayExecutor()
    ray.shutdown()


@pytest.fixture(params=["local", "ray"])
def executor(request: pytest.FixtureRequest) -> Executor:
    return LocalExecutor() if request.param == "local" else request.getfixturevalue("ray_executor")


def test_every_task_ends_once_and_errors_are_data(executor: Executor) -> None:
    outcomes = sorted(executor.run(square, range(6)), key=lambda outcome: outcome.task_idx)
    assert [outcome.result for outcome in outcomes] == [0, 1, 4, None, 16, 25]
    assert outcomes[3].error == "ValueError: three is too many"


def test_no_tasks_give_no_outcomes(executor: Executor) -> None:
    assert list(executor.run(square, [])) == []


def test_a_worker_that_dies_is_an_outcome(ray_executor: Executor) -> None:
    (outcome,) = ray_executor.run(die, [0])
    assert "died" in str(outcome.error)


def test_two_ray_workers_build_the_same_database(ray_executor: Executor, demo_photos: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    for step in ("features", "pairs"):
        compute_step(step, demo_photos, shared, small_config(), ray_executor)
    assert_same_contents(build(demo_photos, shared), build(demo_photos, tmp_path / "alone"))
