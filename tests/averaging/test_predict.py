"""The network on a view graph: a defined answer, better after fine-tuning, and the same on every call."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.synthetic import all_pairs, make_edges_wrong, make_graph, near_pairs, ring_cameras
from vgpa.averaging.finetune import graph_tensors, poses_from_tensors
from vgpa.averaging.predict import predict_poses
from vgpa.averaging.refine import refine_poses
from vgpa.config import AveragingConfig
from vgpa.evaluate.metrics import pair_errors_deg
from vgpa.geometry.rigid import Rigid
from vgpa.network.files import read_weights
from vgpa.network.losses import relative_pose_loss
from vgpa.network.weights import load_network

GRAPH = make_graph(ring_cameras(36)[:10], all_pairs(10), noise_deg=0.5)


def loss_of(config: AveragingConfig) -> float:
    poses = predict_poses(GRAPH, config, "cpu")
    quaternion = torch.tensor(poses.quaternion_wxyz, dtype=torch.float32)
    translation = torch.tensor(poses.translation, dtype=torch.float32)
    return float(relative_pose_loss(quaternion, translation, graph_tensors(GRAPH, torch.device("cpu"))))


@pytest.mark.parametrize("weights", ["default", "paper"])
def test_prediction_is_repeatable(weights: str) -> None:
    first, second = (predict_poses(GRAPH, AveragingConfig(weights), "cpu") for _ in range(2))
    np.testing.assert_array_equal(first.matrix, second.matrix)


def test_fine_tuning_lowers_the_loss_and_never_raises_it() -> None:
    before = loss_of(AveragingConfig("paper"))
    assert loss_of(AveragingConfig("paper", finetune_steps=1, finetune_learning_rate=10.0)) <= before + 1e-6
    assert loss_of(AveragingConfig("paper", finetune_steps=40)) < 0.9 * before


def test_robust_fine_tuning_ignores_wrong_edges() -> None:
    """With the paper's loss the same steps end 5 degrees off."""
    cams = ring_cameras(16)
    graph = make_edges_wrong(make_graph(cams, near_pairs(16, 4), noise_deg=0.5, seed=1), 0.3, seed=1)
    config = AveragingConfig("paper", finetune_steps=80, finetune_loss="robust")
    rotation, direction = pair_errors_deg(predict_poses(graph, config, "cpu"), cams)
    assert rotation.mean() < 1
    assert direction.mean() < 1.5


@given(seed=st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_the_default_network_says_the_same_in_numpy_and_in_torch(seed: int) -> None:
    # Noise but no gross mistakes: at half a turn a residual may point either way, and single precision decides.
    graph = make_graph(ring_cameras(30), near_pairs(30, 4), noise_deg=2.0, seed=seed)
    rng = np.random.default_rng(seed)
    # Different numbers of inliers, so that there is one best tree; some edges know no direction.
    num_inliers = rng.permutation(graph.num_edges) + 30
    has_direction = rng.random(graph.num_edges) > 0.1
    motion = graph.cam_j_from_cam_i
    graph = replace(
        graph,
        num_inliers=num_inliers,
        has_direction=has_direction,
        cam_j_from_cam_i=Rigid(motion.quaternion_wxyz, motion.translation * has_direction[:, None]),
    )
    file, net = read_weights("default"), load_network("default")
    ours = refine_poses(graph, file.arrays, file.config["num_steps"], file.config["num_iterations"])
    with torch.no_grad():
        theirs = poses_from_tensors(*net(graph_tensors(graph, torch.device("cpu"))))
    rotation, direction = pair_errors_deg(ours, theirs)
    assert rotation.max() < 1.0
    assert np.median(rotation) < 0.1
    assert np.quantile(direction, 0.95) < 0.5


def test_the_default_network_leaves_torch_alone() -> None:
    code = "import sys, vgpa.solve, vgpa.averaging.predict; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
