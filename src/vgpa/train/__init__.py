"""Training the network on generated worlds. Needs torch, numpy and safetensors only: no mapper on a GPU box.

Run it with `python -m vgpa.train --minutes 8 --device cuda --out DIR`.
"""

from vgpa.train.loop import Schedule, TrainOptions, train
from vgpa.train.worlds import WorldBatch, WorldOptions, make_worlds

__all__ = ["Schedule", "TrainOptions", "WorldBatch", "WorldOptions", "make_worlds", "train"]
