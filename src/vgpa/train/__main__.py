"""`python -m vgpa.train`: parse the options and call `train`. Progress goes to standard error."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import torch

from vgpa.network.posenet import PoseNetConfig
from vgpa.train.loop import Schedule, TrainOptions, train
from vgpa.train.worlds import WorldOptions

_DEFAULT_STEPS = 10_000


def main(arguments: list[str] | None = None) -> None:
    """Train a network with the options of the command line."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    train(parse_options(arguments))


def parse_options(arguments: list[str] | None = None) -> TrainOptions:
    """Options of a command line (default: the one of this process)."""
    given = _make_parser().parse_args(arguments)
    # Minutes alone mean "until the time is up"; nothing at all means the default number of steps.
    num_steps = given.steps if given.steps or given.minutes else _DEFAULT_STEPS
    return TrainOptions(
        out=given.out,
        network=PoseNetConfig(width=given.width, num_layers=given.layers),
        schedule=Schedule(given.learning_rate, num_steps, given.minutes),
        worlds=WorldOptions(num_cams=tuple(given.cams), num_cams_small=tuple(given.small_cams)),
        batch_size=given.batch_size,
        num_steps_between_validations=given.validate_every,
        num_val_graphs=given.val_graphs,
        seed=given.seed,
        device=given.device or ("cuda" if torch.cuda.is_available() else "cpu"),
    )


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m vgpa.train", description="Train the pose network.")
    parser.add_argument("--out", type=Path, required=True, help="folder for best.safetensors and log.jsonl")
    parser.add_argument("--steps", type=int, help=f"stop after this many steps ({_DEFAULT_STEPS})")
    parser.add_argument("--minutes", type=float, help="stop after this time, with the schedule complete")
    parser.add_argument("--batch-size", type=int, default=8, help="view graphs per step")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--width", type=int, default=PoseNetConfig.width)
    parser.add_argument("--layers", type=int, default=PoseNetConfig.num_layers)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--device", help="cpu or cuda (default: cuda where there is one)")
    parser.add_argument("--cams", type=int, nargs=2, default=WorldOptions.num_cams, metavar=("MIN", "MAX"))
    parser.add_argument("--small-cams", type=int, nargs=2, default=WorldOptions.num_cams_small, metavar=("MIN", "MAX"))
    parser.add_argument("--validate-every", type=int, default=500, help="steps between validations")
    parser.add_argument("--val-graphs", type=int, default=40, help="view graphs set aside for validation")
    return parser


if __name__ == "__main__":
    main()
