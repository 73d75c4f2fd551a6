"""Loading the libraries of a run, which takes longer than many a run itself, without what only holds it up."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import LazyLoader, find_spec, module_from_spec

SELDOM_USED = ("numpy.f2py", "numpy.testing")
"""Parts of numpy that scipy asks for by the way, with everything else there is, but that nothing here uses."""


@contextmanager
def loading() -> Iterator[None]:
    """For the first imports of a process that are large.

    What they make is made to stay, so nobody searches it for garbage, now or later. What is seldom used is loaded when
    it is. Nothing is different where numpy is in use already.
    """
    if "numpy" in sys.modules:
        yield
        return
    gc.disable()
    try:
        for name in SELDOM_USED:
            _load_when_used(name)
        yield
    finally:
        gc.freeze()
        gc.enable()


def _load_when_used(name: str) -> None:
    """Import a part of a package as far as anybody can tell: its code is run when something in it is asked for."""
    spec = find_spec(name)
    if name in sys.modules or spec is None or spec.loader is None:
        return
    spec.loader = LazyLoader(spec.loader)
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    package, _, part = name.rpartition(".")
    setattr(import_module(package), part, module)
