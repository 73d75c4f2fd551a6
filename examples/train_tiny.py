"""Train a tiny network in seconds, and use it: `python examples/train_tiny.py OUT`.

It is far too small and too briefly trained to be good; the shipped ones are better. The same through the command line:
`vgpa train -o OUT --width 16 --layers 2 --steps 20`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from vgpa.network.posenet import PoseNetConfig
from vgpa.network.weights import load_network
from vgpa.train.loop import train
from vgpa.train.options import TrainOptions
from vgpa.train.schedule import Schedule
from vgpa.train.scores import score_pairs
from vgpa.train.worlds import WorldOptions, make_worlds


def main(out: Path) -> float:
    """Train, then predict the poses of worlds that the network has never seen; their pose AUC@30."""
    worlds = WorldOptions(num_cams=(8, 16), num_cams_small=(6, 8))
    options = TrainOptions(
        out,
        PoseNetConfig(width=16, num_layers=2),
        Schedule(num_steps=20),
        worlds,
        num_val_graphs=8,
        num_steps_between_validations=10,
        device="cpu",
    )
    for line in train(options):
        print(f"step {line.step}: loss {line.loss:.3f}, validation {line.val_loss:.3f}")

    # The best network of the run; `vgpa map DATABASE -o DIR --weights OUT/best.safetensors` would use it too.
    net = load_network(str(out / "best.safetensors")).eval()
    unseen = make_worlds(4, torch.Generator().manual_seed(1), worlds)
    with torch.no_grad():
        quaternion_wxyz, translation = net(unseen.graph)
    score = float(score_pairs(quaternion_wxyz, translation, unseen).pose_auc_30)
    print(f"pose AUC@30 on unseen worlds: {score:.3f}")
    return score


if __name__ == "__main__":
    main(Path(sys.argv[1]))
