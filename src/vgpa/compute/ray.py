"""Tasks on a Ray cluster. Needs the extra `ray`, and a disk that all workers share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from vgpa.compute.executor import Outcome, attempt
from vgpa.errors import InputError

MAX_RETRIES = 2
"""Times that Ray starts a task again whose worker died."""


class RayExecutor:
    """One Ray task per task, each on one core."""

    def __init__(self) -> None:
        try:
            import ray
        except ImportError as error:
            raise InputError("The Ray engine is not installed", "Install it with pip install 'vgpa[ray]'") from error
        self._ray = ray
        if not ray.is_initialized():
            ray.init(log_to_driver=False, include_dashboard=False, logging_level=logging.ERROR)
            # Standard output is for results, and no option keeps Ray from telling there that a worker has died.
            ray._private.worker._worker_logs_enabled = False

    @property
    def num_workers(self) -> int:
        """The cores of the cluster."""
        return int(self._ray.cluster_resources().get("CPU", 1))

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Outcome]:
        """Run the function on every task; a task whose worker keeps dying ends with an error."""
        remote = self._ray.remote(num_cpus=1, max_retries=MAX_RETRIES)(attempt)
        waiting = {remote.remote(function, task_idx, task): task_idx for task_idx, task in enumerate(tasks)}
        while waiting:
            (done,), _ = self._ray.wait(list(waiting), num_returns=1)
            task_idx = waiting.pop(done)
            try:
                yield self._ray.get(done)
            except self._ray.exceptions.RayError as error:
                yield Outcome(task_idx, error=f"the worker died ({type(error).__name__})")
