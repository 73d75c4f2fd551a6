"""From a COLMAP database to a model, with a say in which pairs to trust: `python examples/from_database.py DB OUT`.

Any two-view judge can be plugged in here, for example a network that tells look-alikes from true matches.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import vgpa
from vgpa.evaluate import evaluate

MIN_NUM_INLIERS = 40


def has_many_inliers(graph: vgpa.ViewGraph) -> NDArray[np.bool_]:
    """(num_edges,) mask of the edges to keep."""
    return graph.num_inliers >= MIN_NUM_INLIERS


def main(database: Path, out: Path) -> vgpa.Result:
    """Map with a preset that is changed in two places, and a filter of edges."""
    config = vgpa.default()
    config = replace(config, seed=1, mapping=replace(config.mapping, min_num_points=15))
    result = vgpa.map_database(database, out, config, edge_filter=has_many_inliers)
    print(f"{result.reconstruction.num_registered} of {result.summary['num_images']} images")
    print(f"view graph: {result.summary['view_graph']['num_edges']} edges were used")

    # What is in the output folder can be read back at any time.
    model, _ = vgpa.read_model(out / "sparse" / "0")
    print(f"a model against itself: AUC@5 {evaluate(model, model).auc[5]:.3f}")
    return result


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
