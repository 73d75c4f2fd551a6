"""The network's answer for one view graph. The default network runs in numpy; torch is loaded only if it is needed."""

from __future__ import annotations

from vgpa.averaging.refine import refine_poses
from vgpa.config import AveragingConfig, Device
from vgpa.geometry.rigid import Rigid
from vgpa.network.files import not_weights, read_weights
from vgpa.scene import ViewGraph


def predict_poses(graph: ViewGraph, config: AveragingConfig, device: Device) -> Rigid:
    """cam_from_world of every image by the network, fine-tuned on the graph if the config asks for it."""
    file = read_weights(config.weights)
    if file.kind == "refine" and config.finetune_steps == 0 and device != "cuda":
        try:
            num_steps, num_iterations = int(file.config["num_steps"]), int(file.config["num_iterations"])
            return refine_poses(graph, file.arrays, num_steps, num_iterations)
        except KeyError as error:
            raise not_weights(file.path, error) from error
    from vgpa.averaging.finetune import predict_with_torch

    return predict_with_torch(graph, config, device)
