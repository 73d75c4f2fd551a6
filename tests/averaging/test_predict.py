"""The network on a view graph: a defined answer, better after fine-tuning, and the same on every call."""

from __future__ import annotations

import numpy as np
import torch

from tests.synthetic import all_pairs, make_graph, ring_cameras
from vgpa.averaging.predict import graph_tensors, predict_poses
from vgpa.config import AveragingConfig
from vgpa.network.losses import relative_pose_loss

GRAPH = make_graph(ring_cameras(36)[:10], all_pairs(10), noise_deg=0.5)


def loss_of(config: AveragingConfig) -> float:
    poses = predict_poses(GRAPH, config, "cpu")
    quaternion = torch.tensor(poses.quaternion_wxyz, dtype=torch.float32)
    translation = torch.tensor(poses.translation, dtype=torch.float32)
    return float(relative_pose_loss(quaternion, translation, graph_tensors(GRAPH, torch.device("cpu"))))


def test_prediction_is_repeatable() -> None:
    first, second = (predict_poses(GRAPH, AveragingConfig(), "cpu") for _ in range(2))
    np.testing.assert_array_equal(first.matrix, second.matrix)


def test_fine_tuning_lowers_the_loss_and_never_raises_it() -> None:
    before = loss_of(AveragingConfig())
    assert loss_of(AveragingConfig(finetune_steps=1, finetune_learning_rate=10.0)) <= before + 1e-6
    assert loss_of(AveragingConfig(finetune_steps=40)) < 0.9 * before
