"""From photos to a folder that nerfstudio trains on.

python examples/into_nerfstudio.py photos out
ns-train splatfacto --data out/nerfstudio
"""

from __future__ import annotations

import sys
from pathlib import Path

import vgpa
from vgpa.report.export.options import ExportOptions
from vgpa.report.export.run import export_model


def main(photos: Path, out: Path) -> None:
    """Reconstruct the photos, and write transforms.json, sparse_pc.ply and images/ to out/nerfstudio."""
    result = vgpa.reconstruct(photos, out)
    print(f"{result.reconstruction.num_registered} of {len(result.states)} photos have a pose")
    exported = export_model(out, out / "nerfstudio", ExportOptions("nerfstudio", images=photos))
    for file in exported.files:
        print("written", file)
    print(f"next: ns-train splatfacto --data {out / 'nerfstudio'}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
