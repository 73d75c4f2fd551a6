"""`vgpa demo`: renders a small textured world, reconstructs it from the photos and scores the result."""

from __future__ import annotations

from pathlib import Path

from vgpa.cli.loading import loading
from vgpa.cli.options import Json, Output, Quiet, Seed
from vgpa.cli.show import finish, watched


def demo(output: Output = Path("demo"), seed: Seed = 0, json: Json = False, quiet: Quiet = False) -> int:
    """Render photos of a small world, reconstruct it from them, and score it against the known cameras."""
    with watched(output, json, quiet) as log:
        with loading():
            from vgpa.demo.run import run_demo

        result, scores = run_demo(output, seed, log)
    return finish(result, json, quiet, scores)
