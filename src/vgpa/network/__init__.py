"""The paper's network: layers, PoseNet, its loss and its shipped weights."""

from vgpa.network.graph import GraphTensors
from vgpa.network.losses import relative_pose_loss
from vgpa.network.posenet import PoseNet, PoseNetConfig
from vgpa.network.weights import load_posenet, save_weights

__all__ = ["GraphTensors", "PoseNet", "PoseNetConfig", "load_posenet", "relative_pose_loss", "save_weights"]
