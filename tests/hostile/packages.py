"""The package as strangers get it: built as a wheel and as an sdist, and what must be inside."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Literal

from tests.hostile.runner import ROOT

Kind = Literal["wheel", "sdist"]


def build(kind: Kind, folder: Path, source: Path = ROOT) -> Path:
    """Build the package from a checkout, or an unpacked sdist, with what is installed: nothing is downloaded."""
    folder.mkdir(parents=True, exist_ok=True)
    code = f"import sys; from hatchling.build import build_{kind}; print(build_{kind}(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=True)
    return folder / done.stdout.strip().splitlines()[-1]


def unpack(sdist: Path, folder: Path) -> Path:
    """Unpack an sdist; the folder with its pyproject.toml comes back."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    return top


def files_of_package() -> dict[str, bytes]:
    """Every file of the package in the checkout (code, weights, pages, tables) by its path in a wheel."""
    source = ROOT / "src"
    paths = (path for path in (source / "vgpa").rglob("*") if path.is_file() and not path.match("*.pyc"))
    return {path.relative_to(source).as_posix(): path.read_bytes() for path in paths}


def files_in_wheel(wheel: Path) -> dict[str, bytes]:
    """Every file of a wheel, without the facts about itself."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        return {name: archive.read(name) for name in names}
