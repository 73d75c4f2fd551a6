"""The true poses score 1 in every world frame, and known errors score what the formula says."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, radians

import pytest
import torch

from vgpa.geometry.torch_rotation import exp_map, matrix_to_quaternion_wxyz
from vgpa.network.graph import GraphTensors
from vgpa.train.scores import score_pairs
from vgpa.train.worlds import WorldBatch, WorldOptions, make_worlds

WORLDS = make_worlds(
    5,
    torch.Generator().manual_seed(0),
    WorldOptions(num_cams=(10, 20), num_cams_small=(6, 10), num_points=300),
)


def poses(worlds: WorldBatch, rotation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The given rotations with the true centres, as cam_from_world."""
    translation = -(rotation @ worlds.centre[:, :, None]).squeeze(-1)
    return matrix_to_quaternion_wxyz(rotation), translation


def test_truth_scores_one_in_any_frame() -> None:
    quaternion_wxyz, translation = poses(WORLDS, WORLDS.cam_from_world)
    scores = score_pairs(quaternion_wxyz, translation, WORLDS)
    assert scores.rotation_auc_30 == pytest.approx(1, abs=1e-3)
    assert scores.pose_auc_30 == pytest.approx(1, abs=1e-3)

    turn, shift = exp_map(torch.tensor([0.3, -1.0, 2.0])), torch.tensor([1.0, 2.0, 3.0])
    quaternion_wxyz = matrix_to_quaternion_wxyz(WORLDS.cam_from_world @ turn)
    moved = score_pairs(quaternion_wxyz, 3 * translation + WORLDS.cam_from_world @ shift, WORLDS)
    assert moved.rotation_auc_30 == pytest.approx(1, abs=1e-3)
    assert moved.pose_auc_30 == pytest.approx(1, abs=1e-3)


def test_mirrored_centres_score_no_pose() -> None:
    quaternion_wxyz, translation = poses(WORLDS, WORLDS.cam_from_world)
    scores = score_pairs(quaternion_wxyz, -translation, WORLDS)
    assert scores.rotation_auc_30 == pytest.approx(1, abs=1e-3)
    assert scores.pose_auc_30 == 0


def test_fifteen_degrees_score_one_half() -> None:
    num_cams = 2
    graph = GraphTensors(
        edge_index=torch.tensor([[0], [1]]),
        rotation=torch.eye(3)[None],
        direction=torch.tensor([[1.0, 0.0, 0.0]]),
        has_direction=torch.tensor([True]),
        num_matches=torch.tensor([100]),
        graph_idx=torch.zeros(num_cams, dtype=torch.int64),
    )
    pair = WorldBatch(
        graph=graph,
        is_wrong=torch.tensor([False]),
        cam_from_world=torch.eye(3).expand(num_cams, 3, 3),
        centre=torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
        kind_idx=torch.tensor([0]),
    )
    turned = torch.stack((torch.eye(3), exp_map(torch.tensor([0.0, 0.0, radians(15)]))))
    quaternion_wxyz, translation = poses(pair, turned)
    scores = score_pairs(quaternion_wxyz, translation, pair)
    assert scores.rotation_auc_30 == pytest.approx(0.5, abs=1e-4)
    assert scores.pose_auc_30 == pytest.approx(0.5, abs=1e-4)


def test_graphs_without_truth_do_not_count() -> None:
    quaternion_wxyz, translation = poses(WORLDS, WORLDS.cam_from_world)
    unknown = torch.where((WORLDS.graph.graph_idx == 0)[:, None], torch.nan, WORLDS.centre)
    scores = score_pairs(quaternion_wxyz, translation, replace(WORLDS, centre=unknown))
    assert scores.pose_auc_30 == pytest.approx(1, abs=1e-3)
    nothing = score_pairs(quaternion_wxyz, translation, replace(WORLDS, centre=torch.full_like(unknown, torch.nan)))
    assert isnan(nothing.rotation_auc_30)
    assert isnan(nothing.pose_auc_30)
