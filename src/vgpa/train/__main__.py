"""`python -m vgpa.train`, which is also `vgpa train`: options of the command line to `TrainOptions`.

Works with torch, numpy, scipy, safetensors and lightning-fabric alone, so a GPU machine needs nothing else.

Touches the command line and standard error.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn, cast

from vgpa.errors import InputError, VgpaError
from vgpa.network.weights import KINDS, NetworkConfig, load_network
from vgpa.train.kinds import KINDS as PLACES
from vgpa.train.loop import train
from vgpa.train.options import TrainOptions
from vgpa.train.schedule import Schedule
from vgpa.train.worlds import WorldOptions

_DEFAULT_STEPS = 10_000
# What an option about the size of the network is called in the configs of the different kinds.
_SIZES = {"width": ("width",), "layers": ("num_layers", "num_steps"), "dropout": ("dropout",)}


def parse_options(arguments: list[str] | None = None) -> TrainOptions:
    """Options of a command line (default: the one of this process)."""
    given = _make_parser().parse_args(arguments)
    # Minutes alone mean "until the time is up"; nothing at all means the default number of steps.
    num_steps = given.steps if given.steps or given.minutes else _DEFAULT_STEPS
    return TrainOptions(
        out=given.output,
        network=_make_config(given) if given.init is None else cast(NetworkConfig, load_network(given.init).config),
        schedule=Schedule(given.learning_rate, num_steps, given.minutes, given.warmup_steps),
        worlds=WorldOptions(
            num_cams=tuple(given.cams),
            num_cams_small=tuple(given.small_cams),
            max_wrong_part=given.max_wrong,
            kinds=tuple(given.kinds),
            cameras=tuple(given.cameras),
        ),
        target=given.target,
        num_uses=given.uses,
        init=given.init,
        data=given.data,
        val_data=given.val_data,
        batch_size=given.batch_size,
        share_size=given.share_size,
        num_val_graphs=given.val_graphs,
        num_steps_between_validations=given.validate_every,
        patience=given.patience,
        seed=given.seed,
        device=given.device,
        num_processes=given.processes,
        bf16=given.bf16,
        resume=given.resume,
    )


def _make_config(given: argparse.Namespace) -> NetworkConfig:
    """The config of the chosen kind of network, with its own defaults for what is not given."""
    config_type, _ = KINDS[given.network]
    known = {field.name for field in fields(config_type)}
    chosen: dict[str, Any] = {}
    for option, names in _SIZES.items():
        value = getattr(given, option)
        if value is None:
            continue
        name = next((name for name in names if name in known), None)
        if name is None:
            raise InputError(f"the network {given.network} has no {option} to choose", f"leave --{option} out")
        chosen[name] = value
    return config_type(**chosen)


def _make_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="vgpa train", description="Train a pose network on generated worlds or on your view graphs.")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="OUT", help="folder for all that is written"
    )
    parser.add_argument("--resume", action="store_true", help="go on where the run in OUT stopped, if there is one")
    _add_network_options(parser.add_argument_group("network"))
    _add_schedule_options(parser.add_argument_group("schedule"))
    _add_data_options(parser.add_argument_group("view graphs"))
    _add_machine_options(parser.add_argument_group("machine"))
    return parser


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        raise InputError(message, "`vgpa train --help` lists all options")


def _add_network_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--network", choices=tuple(KINDS), default="paper", help="kind of network (paper)")
    group.add_argument("--width", type=_count, help="features per camera and edge (the kind's own)")
    group.add_argument("--layers", type=_count, help="message layers, or refinement steps (the kind's own)")
    group.add_argument("--dropout", type=float, help="part of the features dropped in training (the kind's own)")
    group.add_argument("--init", type=Path, metavar="FILE", help="weights to start from, which say kind and size too")
    group.add_argument("--seed", type=int, default=20, help="of the first weights, the batches and the dropout (20)")


def _add_schedule_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--learning-rate", type=float, default=Schedule.learning_rate, help="highest one (1e-3)")
    group.add_argument("--steps", type=_count, help=f"stop after this many steps ({_DEFAULT_STEPS})")
    group.add_argument("--minutes", type=float, help="stop after this time, with the schedule complete")
    group.add_argument(
        "--warmup-steps", type=_count, default=Schedule.num_warmup_steps, help="steps to get there (200)"
    )
    group.add_argument("--validate-every", type=_count, default=500, metavar="STEPS", help="between validations (500)")
    group.add_argument("--patience", type=_count, help="stop after this many validations without gain (never)")


def _add_data_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--target",
        choices=("measured", "true"),
        default="measured",
        help="edges poses shall agree with (measured)",
    )
    group.add_argument(
        "--cameras", type=Path, nargs="+", default=(), metavar="NPZ", help="cameras of real photos to make worlds of"
    )
    group.add_argument(
        "--kinds",
        nargs="+",
        choices=tuple(PLACES),
        default=tuple(PLACES),
        metavar="KIND",
        help="places that worlds show; one named twice comes twice as often (all)",
    )
    group.add_argument(
        "--max-wrong",
        type=float,
        default=WorldOptions.max_wrong_part,
        metavar="PART",
        help="wrong edges of the worst generated worlds (0.4)",
    )
    group.add_argument("--uses", type=_count, default=1, help="how often a generated world is used (1)")
    group.add_argument("--data", type=Path, metavar="DIR", help="view graphs to train on (generated worlds)")
    group.add_argument("--val-data", type=Path, metavar="DIR", help="view graphs to validate on (generated worlds)")
    group.add_argument("--batch-size", type=_count, default=8, help="view graphs per step and process (8)")
    group.add_argument("--share-size", type=_count, default=8, help="view graphs that are drawn together (8)")
    group.add_argument("--val-graphs", type=_count, default=40, help="generated worlds set aside for validation (40)")
    for option, default, kind in (
        ("--cams", WorldOptions.num_cams, "large"),
        ("--small-cams", WorldOptions.num_cams_small, "small"),
    ):
        group.add_argument(
            option, type=_count, nargs=2, default=default, metavar=("MIN", "MAX"), help=f"cameras of {kind} worlds"
        )


def _add_machine_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="auto is a GPU if there is one"
    )
    group.add_argument("--processes", type=_count, default=1, help="processes on this machine, a device each (1)")
    group.add_argument("--bf16", action="store_true", help="wide matrix products of the network in bfloat16")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _main() -> int:
    try:
        train(parse_options())
    except VgpaError as error:
        sys.stderr.write(f"vgpa: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(_main())
