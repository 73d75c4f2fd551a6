"""Running many tasks, here or on a cluster, or one beside another. Knows nothing of photos.

An executor maps a function over small picklable tasks and yields what became of each as it ends: a result or an
error, which is data like any other. Big arrays never travel; tasks name files on a shared disk.
"""

from vgpa.compute.executor import Executor, LocalExecutor, Outcome, make_executor

__all__ = ["Executor", "LocalExecutor", "Outcome", "make_executor"]
