"""Networks at work on one view graph in torch: a forward pass, and the paper's fine-tuning on that graph.

Here float64 numpy crosses into float32 torch (`graph_tensors`) and back (`poses_from_tensors`); nowhere else in
the solver.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from vgpa.config import AveragingConfig, Device
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import normalize
from vgpa.network.device import torch_device
from vgpa.network.graph import GraphTensors
from vgpa.network.losses import relative_pose_loss
from vgpa.network.weights import load_network
from vgpa.scene import ViewGraph

SMALL_GRAPH = 2000
"""Edges below which the network runs on one thread."""
ADAM_BETAS = (0.9, 0.99)
"""A shorter memory of squared gradients than is usual: they shrink fast at first, and so a higher rate stays stable."""
NUM_WARMUP_STEPS = 20


def predict_with_torch(graph: ViewGraph, config: AveragingConfig, device: Device) -> Rigid:
    """cam_from_world of every image by the network, fine-tuned on the graph if the config asks for it."""
    where = torch_device(device)
    net = load_network(config.weights).to(where)
    tensors = graph_tensors(graph, where)
    with _few_threads(graph):
        if config.finetune_steps > 0:
            net = finetune(net, tensors, config)
        with torch.no_grad():
            return poses_from_tensors(*net(tensors))


def finetune(net: nn.Module, graph: GraphTensors, config: AveragingConfig) -> nn.Module:
    """The network after some steps on this graph's own consistency loss (eq. 1); the best iterate is kept."""
    net = copy.deepcopy(net)
    optimizer = torch.optim.Adam(net.parameters(), betas=ADAM_BETAS)
    best_loss, best_state = math.inf, copy.deepcopy(net.state_dict())
    for step in range(config.finetune_steps + 1):
        quaternion_wxyz, translation = net(graph)
        loss = relative_pose_loss(quaternion_wxyz, translation, graph)
        if loss.item() < best_loss:
            best_loss, best_state = loss.item(), copy.deepcopy(net.state_dict())
        if step == config.finetune_steps:
            break
        warmup, decay = min(1.0, (step + 1) / NUM_WARMUP_STEPS), 1 - step / config.finetune_steps
        optimizer.param_groups[0]["lr"] = config.finetune_learning_rate * warmup * decay
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    net.load_state_dict(best_state)
    return net


@contextmanager
def _few_threads(graph: ViewGraph) -> Iterator[None]:
    """One thread for a small graph: threads would wait for each other longer than they work (thirty times as long on
    a machine that is busy)."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if graph.num_edges < SMALL_GRAPH else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def graph_tensors(graph: ViewGraph, device: torch.device) -> GraphTensors:
    """The graph as float32 tensors: what the network and its loss read."""
    motion = graph.cam_j_from_cam_i
    return GraphTensors(
        torch.tensor(graph.edge_index, device=device),
        torch.tensor(motion.rotation, dtype=torch.float32, device=device),
        torch.tensor(motion.translation, dtype=torch.float32, device=device),
        torch.tensor(graph.has_direction, device=device),
        torch.tensor(graph.num_inliers, device=device),
        torch.zeros(graph.num_images, dtype=torch.int64, device=device),
    )


def poses_from_tensors(quaternion_wxyz: Tensor, translation: Tensor) -> Rigid:
    """cam_from_world in float64 numpy from the network's output."""
    return Rigid(
        normalize(quaternion_wxyz.detach().cpu().numpy().astype(np.float64)),
        translation.detach().cpu().numpy().astype(np.float64),
    )
