"""The command line: one thin module per verb. Parse, call, print; no logic, and no traceback for the user's errors."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import FrameType

INTERRUPTED = 130
"""Exit code of a run that Ctrl-C has stopped."""


def _leave(number: int, frame: FrameType | None) -> None:
    os.write(2, b"vgpa: stopped before anything was done\n")
    os._exit(INTERRUPTED)


# As long as this is loaded there is nothing to save, and Ctrl-C ends the process at once; later it gets an answer.
_IS_MAIN_THREAD = threading.current_thread() is threading.main_thread()
_ANSWER = signal.getsignal(signal.SIGINT) if _IS_MAIN_THREAD else None
if callable(_ANSWER):
    signal.signal(signal.SIGINT, _leave)

# Read when numpy and torch are loaded, so before anything else. Matrices here are small: threads that share one, or
# that spin while they wait for work, cost more than they bring, and on a busy machine several times as much. Bundle
# adjustment has threads of its own.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from vgpa.cli.lines import print_event
from vgpa.cli.parse import list_commands, parse, suggest
from vgpa.cli.screen import STOPPED
from vgpa.errors import InputError, OutputError, VgpaError, faults_explained, require_memory

if callable(_ANSWER):
    signal.signal(signal.SIGINT, _ANSWER)

DESCRIPTION = "Photos in, camera poses and a sparse 3D model out."
VERBS = {
    "demo": "demo",
    "reconstruct": "reconstruct",
    "map": "map_",
    "register": "register",
    "import-hloc": "import_hloc",
    "evaluate": "evaluate",
    "export": "export",
    "view": "view",
    "baseline": "baseline",
    "benchmark": "benchmark",
    "train": "train",
}
"""Each verb and its function, in the module of the verb's name; only the one that is asked for is loaded."""


def main(args: list[str] | None = None) -> None:
    """Entry point of the `vgpa` command; with arguments, the same for a program that goes on afterwards."""
    codes: list[int] = []
    if args is None:
        atexit.register(_end_at_once, codes)  # the first that is registered is the last that is called
    try:
        code = run(args)
    except SystemExit as end:  # the parser has printed help
        if not isinstance(end.code, int):
            raise
        code = end.code
    code = _flushed(code)
    if code == INTERRUPTED:  # what libraries do at the end of a process can take seconds, and nobody wants to wait now
        os._exit(code)
    codes.append(code)
    sys.exit(code)


def run(args: list[str] | None = None) -> int:
    """Run one command and give back its exit code: 0, or the code of the error it ended with."""
    args = sys.argv[1:] if args is None else args
    try:
        if args == ["--version"]:
            from importlib.metadata import version

            print(f"vgpa {version('vgpa')}")
            return 0
        require_memory()
        if args[:1] == ["train"]:  # its options are read by the parser that also works without this room
            return int(_load("train")(*args[1:]))
        with faults_explained():
            code = _parse_and_call(args)
    except VgpaError as error:
        if "--json" in args:
            print_event("error", what=error.what, hint=error.hint, exit_code=error.exit_code)
        else:
            print(f"vgpa: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(STOPPED, file=sys.stderr, flush=True)
        return INTERRUPTED
    return int(code)


def _flushed(code: int) -> int:
    """The exit code after all output is out: not that of a run whose result cannot be written."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # so that nobody tries again
        if not isinstance(error, BrokenPipeError):  # a reader may have seen enough
            print(f"vgpa: The result cannot be printed ({error.strerror})", file=sys.stderr)
            return code or OutputError.exit_code
    return code


def _end_at_once(codes: list[int]) -> None:
    """The end of the process, after everybody else's last words, if it has a code.

    Python would go on to take its modules apart, object by object, before the system takes back all memory anyway.
    """
    if codes:
        code = _flushed(codes[0])
        with suppress(OSError, AttributeError):  # there may be no stderr
            sys.stderr.flush()
        os._exit(code)


def _parse_and_call(args: list[str]) -> int:
    if args and args[0] in VERBS:
        verb = _load(args[0])
        return verb(**parse(verb, f"vgpa {args[0]}", args[1:]))
    if not args or args[0] in ("-h", "--help"):
        text = list_commands("vgpa", DESCRIPTION, {verb: _load(verb) for verb in VERBS})
        print(text, file=sys.stdout if args else sys.stderr)
        sys.exit(0 if args else InputError.exit_code)
    raise InputError(f"There is no command {args[0]}", suggest(args[0], VERBS) + "`vgpa --help` lists all commands")


def _load(verb: str) -> Callable[..., int]:
    module = import_module(f"vgpa.cli.{verb.replace('-', '_')}")
    function: Callable[..., int] = getattr(module, VERBS[verb])
    return function
