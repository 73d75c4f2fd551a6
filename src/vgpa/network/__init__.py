"""The networks: the paper's, its attention variant and the default one; their loss and the shipped weights."""

from vgpa.network.graph import GraphTensors
from vgpa.network.losses import relative_pose_loss
from vgpa.network.posenet import PoseNet, PoseNetConfig
from vgpa.network.weights import load_network, make_network, save_weights

__all__ = [
    "GraphTensors",
    "PoseNet",
    "PoseNetConfig",
    "load_network",
    "make_network",
    "relative_pose_loss",
    "save_weights",
]
