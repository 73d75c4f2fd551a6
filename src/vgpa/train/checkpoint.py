"""Early stopping: of all networks seen during training, the one with the lowest validation loss is kept.

Touches the disk through `vgpa.network.weights`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from vgpa.network.posenet import PoseNet
from vgpa.network.weights import save_weights


@dataclass
class BestCheckpoint:
    """Writes a network to `path` whenever its loss is the lowest so far."""

    path: Path
    lowest_loss: float = math.inf

    def offer(self, net: PoseNet, loss: float) -> bool:
        """Keep `net` if its validation loss is the lowest so far; says whether it was."""
        if not loss < self.lowest_loss:
            return False
        self.lowest_loss = loss
        save_weights(net, self.path)
        return True
