"""The command line: one thin module per verb. Parse, call, print; no logic, and no traceback for the user's errors."""

from __future__ import annotations

import sys
from typing import Any

import tyro

from vgpa.cli.demo import demo
from vgpa.cli.evaluate import evaluate
from vgpa.cli.import_hloc import import_hloc
from vgpa.cli.map import map_
from vgpa.cli.reconstruct import reconstruct
from vgpa.errors import VgpaError

VERBS: dict[str, Any] = {
    "demo": demo,
    "reconstruct": reconstruct,
    "map": map_,
    "import-hloc": import_hloc,
    "evaluate": evaluate,
}


def main(args: list[str] | None = None) -> None:
    """Entry point of the `vgpa` command."""
    sys.exit(run(args))


def run(args: list[str] | None = None) -> int:
    """Run one command and give back its exit code: 0, or the code of the error it ended with."""
    try:
        code = tyro.extras.subcommand_cli_from_dict(
            VERBS,
            prog="vgpa",
            description="Photos in, camera poses and a sparse 3D model out.",
            args=args,
        )
    except VgpaError as error:
        print(f"vgpa: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("vgpa: stopped; run the same command again to go on from here", file=sys.stderr)
        return 130
    return int(code)
