"""Which photos look alike, by MegaLoc: a learned descriptor of whole photos (Berton and Masone 2025).

The model is not part of this package. torch.hub loads it, either from its public repository or from a local clone
of that: a folder with `hubconf.py`, whose `get_trained_model` returns the network with its weights. The network
takes photos (b, 3, h, w), normalised by the statistics of ImageNet, with sides that are multiples of 14, and
returns one vector per photo (b, d). Everything else that the pairs need is in `vgpa.frontend.retrieval`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor, nn

from vgpa.config import Device
from vgpa.errors import InputError
from vgpa.geometry.rotation import FloatArray, normalize
from vgpa.network.device import torch_device

HUB = "hub"
REPOSITORY = "gmberton/MegaLoc"
ENTRY_POINT = "get_trained_model"
SIDE_PX = 322
PHOTOS_PER_BATCH = 8
IMAGENET_MEAN = np.array([0.485, 0.456, 0.406])
IMAGENET_DEVIATION = np.array([0.229, 0.224, 0.225])


def describe_with_megaloc(folder: Path, names: Sequence[str], source: str, device: Device) -> FloatArray:
    """One unit vector per named photo of the folder, (num_photos, d).

    Args:
        source: "hub", or the path of a local clone of the hub repository.
        device: "auto", or where torch runs the network.
    """
    where = torch_device(device)
    network = _load_network(source, where)
    starts = range(0, len(names), PHOTOS_PER_BATCH)
    batches = ([_read_photo(folder / name) for name in names[k : k + PHOTOS_PER_BATCH]] for k in starts)
    return np.concatenate([_describe(network, torch.stack(batch).to(where), source) for batch in batches])


def _load_network(source: str, device: torch.device) -> nn.Module:
    place, kind = (REPOSITORY, "github") if source == HUB else (source, "local")
    if kind == "local" and not Path(source, "hubconf.py").is_file():
        raise InputError(
            f"There is no hubconf.py in the MegaLoc folder {source!r}",
            f"Give the folder of a clone of {REPOSITORY}, or {HUB!r} to download it",
        )
    try:
        # Downloads report on standard output, which belongs to the results of our own commands.
        with redirect_stdout(sys.stderr):
            network = torch.hub.load(place, ENTRY_POINT, source=kind, trust_repo=True, verbose=False)  # type: ignore[no-untyped-call]
        return network.to(device).eval()
    except Exception as error:  # The repository is foreign code: it can fail in any way.
        raise InputError(f"MegaLoc cannot be loaded from {place!r}: {_reason(error)}", _loading_hint(error)) from error


def _loading_hint(error: Exception) -> str:
    if isinstance(error, ImportError) or "Missing dependencies" in str(error):
        return "Install the packages that it needs beside this one, or leave --megaloc out to retrieve without it"
    return (
        "Go online once, so that code and weights reach the cache of torch.hub, or leave --megaloc out to retrieve "
        "without it"
    )


def _read_photo(path: Path) -> Tensor:
    """A photo as the network wants it, (3, SIDE_PX, SIDE_PX) float32."""
    with Image.open(path) as image:
        # JPEG decodes several times smaller at once, and never below the size that is asked for.
        image.draft("RGB", (SIDE_PX, SIDE_PX))
        # The network learnt from upright photos.
        upright = ImageOps.exif_transpose(image).convert("RGB")
    pixels = np.asarray(upright.resize((SIDE_PX, SIDE_PX), Image.Resampling.BILINEAR)) / 255
    normalized = (pixels - IMAGENET_MEAN) / IMAGENET_DEVIATION
    return torch.from_numpy(normalized.transpose(2, 0, 1).astype(np.float32))


def _describe(network: nn.Module, photos: Tensor, source: str) -> FloatArray:
    """Unit vectors (b, d) of photos (b, 3, h, w)."""
    hint = f"Use a clone of {REPOSITORY}, whose {ENTRY_POINT}() returns a network with one vector per photo"
    try:
        with torch.no_grad():
            answer = network(photos)
    except (RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"The network from {source!r} cannot describe photos: {_reason(error)}", hint) from error
    if not isinstance(answer, Tensor) or answer.ndim != 2 or len(answer) != len(photos):
        found = f"shape {tuple(answer.shape)}" if isinstance(answer, Tensor) else type(answer).__name__
        raise InputError(f"The network from {source!r} answers {len(photos)} photos with {found}", hint)
    return normalize(answer.double().cpu().numpy())


def _reason(error: Exception) -> str:
    """The first line of an error, without a final stop."""
    lines = str(error).splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
