"""Flags that several verbs share, with the help text they show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from vgpa.cli.parse import Arg
from vgpa.config import PRESETS, Config, Device, Preset

Output = Annotated[Path, Arg("folder for the result", "DIR", alias="-o")]
PresetName = Annotated[Preset, Arg("default: most accurate; fast: a preview; paper: to the letter")]
Seed = Annotated[int, Arg("seed of everything random")]
DeviceName = Annotated[Device, Arg("where the network runs")]
Weights = Annotated[str | None, Arg("the network: default, paper, or a file of `vgpa train`", "NAME_OR_FILE")]
FixIntrinsics = Annotated[bool, Arg("keep every camera's intrinsics as they are")]
Reintegrate = Annotated[bool, Arg("try to place lost images among the finished points")]
Json = Annotated[bool, Arg("print JSON for programs instead of a table")]
Quiet = Annotated[bool, Arg("print errors and warnings only", alias="-q")]


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
