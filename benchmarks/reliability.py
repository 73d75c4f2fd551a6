"""What the program does with bad input, faults and load: docs/reliability.md, section by section.

    python benchmarks/reliability.py corpus      every hostile file of tests/hostile, by the command line
    python benchmarks/reliability.py faults      kills, Ctrl-C, full disks, little memory, dead workers; then the rerun
    python benchmarks/reliability.py fuzz [N]    N inputs (a million unless told) for every parser and constructor
    python benchmarks/reliability.py peers       the same hostile photos through pycolmap's own pipeline
    python benchmarks/reliability.py graph       a view graph of 20,000 cameras and 600,000 edges
    python benchmarks/reliability.py load [N]    databases of 250 to N images (2,000 unless told); GLOMAP beside
    python benchmarks/reliability.py supply      wheel and sdist; the wheel installed elsewhere, and the demo there
    python benchmarks/reliability.py all         all of these, one after the other

Each part replaces its own section of the page and leaves the others. All of it together takes hours on two cores; the
short forms of corpus, faults, fuzz and supply are in the test suite.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the corpus and the targets are shared with the tests

import reliability_corpus  # noqa: E402
import reliability_faults  # noqa: E402
import reliability_fuzz  # noqa: E402
import reliability_load  # noqa: E402
import reliability_peers  # noqa: E402
import reliability_supply  # noqa: E402

PAGE = ROOT / "docs" / "reliability.md"
INTRODUCTION = """# Reliability

What VGPA does with bad input, faults, load and strangers. Every figure on this page was written by
`python benchmarks/reliability.py PART` (`all` for the whole page); the fast forms of these trials run in `make test`.
A trial fails when the program hangs, crashes without a word, shows a traceback, loses something that was finished, or
ends with a result that an undisturbed run would not have had.
"""
TITLES = {
    "corpus": "Hostile inputs",
    "faults": "Faults",
    "fuzz": "Fuzzing",
    "peers": "The same photos through pycolmap",
    "graph": "Load: a large graph",
    "load": "Load: large databases",
    "supply": "Supply",
}


def main() -> None:
    """Run the parts that are asked for, and write their sections."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=[*TITLES, "all"])
    parser.add_argument("number", nargs="?", type=int, help="inputs of the fuzzer, or images of the largest load")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page to write")
    args = parser.parse_args()
    parts: dict[str, Callable[[], str]] = {
        "corpus": reliability_corpus.measure,
        "faults": reliability_faults.measure,
        "fuzz": lambda: reliability_fuzz.measure(args.number or 1_000_000),
        "peers": reliability_peers.measure,
        "graph": reliability_load.measure_graph,
        "load": lambda: reliability_load.measure(args.number or 2000),
        "supply": reliability_supply.measure,
    }
    for part in parts if args.part == "all" else [args.part]:
        start = time.monotonic()
        text = parts[part]()
        minutes = (time.monotonic() - start) / 60
        write_section(args.out, part, f"{text.strip()}\n\n{_machine()} This part took {minutes:.0f} minutes.")


def write_section(path: Path, part: str, text: str) -> None:
    """Put the text in the place of the part's section of the page."""
    page = path.read_text(encoding="utf-8") if path.is_file() else ""
    found = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL))
    found[TITLES[part]] = text
    sections = [f"## {title}\n\n{found[title].strip()}\n" for title in TITLES.values() if title in found]
    path.write_text("\n".join([INTRODUCTION, *sections]), encoding="utf-8")


def _machine() -> str:
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    libraries = ", ".join(f"{name} {version(name)}" for name in ("vgpa", "pycolmap", "numpy", "pillow", "h5py"))
    return (
        f"Measured on {os.cpu_count()} cores with {memory_gb:.0f} GB, Python {platform.python_version()}, {libraries}."
    )


if __name__ == "__main__":
    main()
