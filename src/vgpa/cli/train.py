"""`vgpa train -o OUT`: train a network. Its options are those of `python -m vgpa.train`, read by the same parser."""

from __future__ import annotations

import sys


def train(*options: str) -> int:
    """Train a network on generated worlds or on your own view graphs; `vgpa train --help` lists its options."""
    from vgpa.train.__main__ import parse_options
    from vgpa.train.loop import train as train_network

    chosen = parse_options(list(options))
    try:
        log = train_network(chosen)
    except KeyboardInterrupt:
        print("vgpa: stopped; add --resume to go on from the last validation", file=sys.stderr)
        return 130
    if log:
        best = min(log, key=lambda line: line.val_loss)
        scores = f"rotation AUC@30 {best.val_rotation_auc_30:.4f}, pose AUC@30 {best.val_pose_auc_30:.4f}"
        print(f"best validation at step {best.step}: loss {best.val_loss:.4f}, {scores}")
        print(f"weights  {chosen.out / 'best.safetensors'}")
    return 0
