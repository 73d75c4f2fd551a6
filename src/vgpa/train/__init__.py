"""Training networks, on generated worlds or on real view graphs. No mapper is needed: a GPU machine may be bare.

Run it with `vgpa train -o OUT`, or `python -m vgpa.train -o OUT` where only this room's needs are installed.
"""

from vgpa.train.loop import train
from vgpa.train.options import TrainOptions
from vgpa.train.schedule import Schedule
from vgpa.train.worlds import WorldBatch, WorldOptions, make_worlds

__all__ = ["Schedule", "TrainOptions", "WorldBatch", "WorldOptions", "make_worlds", "train"]
