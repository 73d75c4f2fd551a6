"""Flags that several verbs share, with the help text they show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import tyro

from vgpa.config import PRESETS, Config, Device, Preset

Output = Annotated[Path, tyro.conf.arg(aliases=("-o",), metavar="DIR", help="folder for the result")]
PresetName = Annotated[Preset, tyro.conf.arg(help="default: most accurate; fast: a preview; paper: to the letter")]
Seed = Annotated[int, tyro.conf.arg(help="seed of everything random")]
DeviceName = Annotated[Device, tyro.conf.arg(help="where the network runs")]
Weights = Annotated[
    str | None, tyro.conf.arg(metavar="NAME_OR_FILE", help="the network: default, paper, or a file of `vgpa train`")
]
FixIntrinsics = Annotated[
    bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(help="keep every camera's intrinsics as they are")
]
Reintegrate = Annotated[bool, tyro.conf.arg(help="try to place lost images among the finished points")]
Json = Annotated[bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(help="print JSON for programs instead of a table")]
Quiet = Annotated[
    bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(aliases=("-q",), help="print errors and warnings only")
]


def make_config(
    preset: Preset, seed: int, device: Device, fix_intrinsics: bool, reintegrate: bool, weights: str | None = None
) -> Config:
    """The preset with the shared flags applied."""
    config = PRESETS[preset]()
    if weights is not None:
        config = replace(config, averaging=replace(config.averaging, weights=weights))
    mapping = replace(config.mapping, fix_intrinsics=fix_intrinsics)
    if not reintegrate:
        mapping = replace(mapping, reintegrate=None)
    return replace(config, seed=seed, device=device, mapping=mapping)
