"""Starts for robust averaging, the averaging itself, and its score: what `benchmarks/network.py` compares.

A start is cam_from_world of every image. Where photos stand behind a graph the averaging is exactly that of
`vgpa map`; a bare graph has no matches to re-estimate directions from, so that one step is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from graphs import Case
from torch import nn

from vgpa.averaging.average import average_from
from vgpa.averaging.finetune import finetune, graph_tensors, poses_from_tensors
from vgpa.averaging.spanning_tree import spanning_tree_poses
from vgpa.config import AveragingConfig
from vgpa.errors import InputError
from vgpa.evaluate import auc, pair_errors_deg
from vgpa.geometry.alignment import align_cameras
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.spanning_tree import chain_motions, grow_forest
from vgpa.network.weights import load_network
from vgpa.scene import Poses

CONFIG = AveragingConfig()
NUM_DRAWS = 3
TRUTH, INLIER_TREE, TREE, CHAINED = (
    *("truth", "inlier tree + random centres"),
    *("our tree + random centres", "our tree, chained"),
)
"""The starts beside the networks. The inlier tree is the maximum spanning tree of inlier counts; ours also asks
whether triplets close."""


@dataclass(frozen=True)
class Score:
    """Areas under the recall curve up to 30 degrees over all pairs of images that have a reference."""

    rotation: float
    pose: float

    @staticmethod
    def mean(scores: Sequence[Score]) -> Score:
        """The mean of both."""
        return Score(*(float(np.mean([getattr(s, name) for s in scores])) for name in ("rotation", "pose")))


def load_networks(names: Sequence[str]) -> dict[str, nn.Module]:
    """The networks of shipped names or files; a shipped name that is not there is skipped with a word."""
    networks = {}
    for name in names:
        try:
            networks[name.rsplit("/", 1)[-1].removesuffix(".safetensors")] = load_network(name)
        except InputError as error:
            print(f"skipped: {error}")
    return networks


def score_forward(case: Case, net: nn.Module, device: str) -> Score:
    """The network's own poses, nothing else."""
    return score(case, Poses.of_all(_predict(case, net, device)))


def score_finetuned(case: Case, net: nn.Module, device: str, config: AveragingConfig) -> Score:
    """The network's own poses after fine-tuning on the graph, with the best iterate kept."""
    tensors = graph_tensors(case.graph, torch.device(device))
    tuned = finetune(net.to(device), tensors, config)
    return score(case, Poses.of_all(_predict(case, tuned, device)))


def score_starts(case: Case, networks: Mapping[str, nn.Module], device: str) -> dict[str, Score]:
    """Robust averaging from every start; random centres are drawn several times, and the mean is given."""
    chained = spanning_tree_poses(case.graph)
    inlier_tree = grow_forest(case.graph.edge_index, -case.graph.num_inliers.astype(float), case.graph.num_images)
    plain = chain_motions(inlier_tree, case.graph.edge_index, case.graph.cam_j_from_cam_i)
    starts = {name: [_predict(case, net, device)] for name, net in networks.items()}
    starts |= {INLIER_TREE: _with_random_centres(plain), TREE: _with_random_centres(chained)}
    starts |= {CHAINED: [chained], TRUTH: [_true_start(case, chained)]}
    return {
        name: Score.mean([score(case, average_case(case, start)) for start in several])
        for name, several in starts.items()
    }


def average_case(case: Case, start: Rigid) -> Poses:
    """Robust averaging of the graph from the given poses; images cut off by bad edges get none."""
    return average_from(case.graph, case.evidence, CONFIG, "benchmark", start).poses


def score(case: Case, poses: Poses) -> Score:
    """Pairs with an image that has no pose count as wrong."""
    scored = np.flatnonzero(case.has_truth)
    rotation, direction = pair_errors_deg(poses.cam_from_world[scored], case.truth[scored])
    first, second = np.triu_indices(len(scored), k=1)
    is_known = poses.is_known[scored]
    is_lost = ~(is_known[first] & is_known[second])
    rotation, pose = (np.where(is_lost, 180.0, error) for error in (rotation, np.maximum(rotation, direction)))
    return Score(auc(rotation, 30), auc(pose, 30))


def _predict(case: Case, net: nn.Module, device: str) -> Rigid:
    with torch.no_grad():
        return poses_from_tensors(*net.to(device)(graph_tensors(case.graph, torch.device(device))))


def _with_random_centres(poses: Rigid) -> list[Rigid]:
    draws = [np.random.default_rng(seed).normal(size=(len(poses), 3)) for seed in range(NUM_DRAWS)]
    return [Rigid.from_centre(poses.rotation, centre) for centre in draws]


def _true_start(case: Case, others: Rigid) -> Rigid:
    """The truth, and the aligned `others` for images that have none."""
    known = np.flatnonzero(case.has_truth)
    aligned = align_cameras(others[known], case.truth[known]).apply_to_cameras(others)
    has = case.has_truth[:, None]
    return Rigid(
        np.where(has, case.truth.quaternion_wxyz, aligned.quaternion_wxyz),
        np.where(has, case.truth.translation, aligned.translation),
    )
