"""What a network is trained for: one function from a network and a batch of worlds to a loss.

The paper's networks see only what a user would have, the measured edges, and are asked for poses that agree with
them (equations 1 and 2).

Touches nothing but torch and `vgpa.network`.
"""

from __future__ import annotations

from torch import Tensor, nn

from vgpa.network.losses import relative_pose_loss
from vgpa.train.worlds import WorldBatch


def training_loss(net: nn.Module, worlds: WorldBatch) -> Tensor:
    """The loss of a batch, a scalar: the mean over its graphs."""
    quaternion_wxyz, translation = net(worlds.graph)
    return relative_pose_loss(quaternion_wxyz, translation, worlds.graph)
