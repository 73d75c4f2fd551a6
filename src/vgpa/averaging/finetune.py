"""Networks at work on one view graph in torch: a forward pass, and the paper's fine-tuning on that graph.

Here float64 numpy crosses into float32 torch (`graph_tensors`) and back (`poses_from_tensors`); nowhere else in
the solver.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from vgpa.config import AveragingConfig, Device, FinetuneLoss
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import normalize
from vgpa.network.device import torch_device
from vgpa.network.graph import GraphTensors
from vgpa.network.losses import relative_pose_loss
from vgpa.network.robust import RobustLoss
from vgpa.network.weights import load_network
from vgpa.scene import ViewGraph

SMALL_GRAPH = 2000
"""Edges below which the network runs on one thread."""
ADAM_BETAS = (0.9, 0.99)
"""A shorter memory of squared gradients than is usual: they shrink fast at first, and so a higher rate stays stable."""
NUM_WARMUP_STEPS = 20
SCALES_DEG = (120.0, 10.0)
"""Of the robust loss: the first and the last."""
NARROWING_PART = 0.6
"""The part of the steps after which its scale is the last one."""


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
    """The network after some steps on this graph's own consistency, label-free; the best iterate is kept."""
    net = copy.deepcopy(net)
    judge = OBJECTIVES[config.finetune_loss](graph)
    optimizer = torch.optim.Adam(net.parameters(), betas=ADAM_BETAS)
    best_cost, best_state = math.inf, copy.deepcopy(net.state_dict())
    for step in range(config.finetune_steps + 1):
        part_done = step / max(config.finetune_steps, 1)
        quaternion_wxyz, translation = net(graph)
        loss, cost = judge(quaternion_wxyz, translation, part_done)
        if cost.item() < best_cost:
            best_cost, best_state = cost.item(), copy.deepcopy(net.state_dict())
        if step == config.finetune_steps:
            break
        warmup = min(1.0, (step + 1) / NUM_WARMUP_STEPS)
        optimizer.param_groups[0]["lr"] = config.finetune_learning_rate * warmup * (1 - part_done)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    net.load_state_dict(best_state)
    return net


Judge = Callable[[Tensor, Tensor, float], tuple[Tensor, Tensor]]
"""From quaternions, translations and the part of the steps that is done to the loss that a step descends and the cost
of which the best iterate has least."""


def _judge_by_paper(graph: GraphTensors) -> Judge:
    """The paper's loss (eq. 1 and 2) for both."""

    def judge(quaternion_wxyz: Tensor, translation: Tensor, part_done: float) -> tuple[Tensor, Tensor]:
        loss = relative_pose_loss(quaternion_wxyz, translation, graph)
        return loss, loss.detach()

    return judge


def _judge_robustly(graph: GraphTensors) -> Judge:
    """A bounded loss whose scale narrows, and the pull of the relaxed graph; iterates compare at the last scale."""
    robust = RobustLoss(graph)
    first, last = (math.radians(scale_deg) for scale_deg in SCALES_DEG)

    def judge(quaternion_wxyz: Tensor, translation: Tensor, part_done: float) -> tuple[Tensor, Tensor]:
        poses = quaternion_wxyz, translation
        scale = first * (last / first) ** min(1.0, part_done / NARROWING_PART)
        with torch.no_grad():
            cost = robust.bounded(*poses, last)
        return robust.bounded(*poses, scale) + robust.pull(*poses, scale), cost

    return judge


OBJECTIVES: dict[FinetuneLoss, Callable[[GraphTensors], Judge]] = {
    "paper": _judge_by_paper,
    "robust": _judge_robustly,
}


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
