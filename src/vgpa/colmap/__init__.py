"""The one room that knows pycolmap and COLMAP's files: databases, models, features, bundle adjustment.

pycolmap's interface changes with every release; everything else in the package sees only the types of `scene`.
"""

from __future__ import annotations

import signal
import threading

import pycolmap  # noqa: F401

# pycolmap answers SIGTERM, by which batch systems end a job, with a page of stack trace. Not so here, unless the
# program that uses this package has an answer of its own.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
