"""Data flows one way: the import rules of pyproject.toml hold, and light commands stay light."""

from __future__ import annotations

import subprocess
import sys

from importlinter.cli import lint_imports


def test_rooms_import_in_one_direction() -> None:
    assert lint_imports(cache_dir=None, no_cache=True) == 0


def test_the_command_line_starts_without_torch_or_pycolmap() -> None:
    code = "import sys, vgpa.cli; print({'torch', 'pycolmap', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
