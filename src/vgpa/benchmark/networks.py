"""The variants of the ablation table: a network's poses for a scene's view graph, before any bundle adjustment.

The shipped weights `paper` stand for the pretrained network. Two variants need weights of their own, which `vgpa train`
makes: a network of two layers, and one with attention.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from vgpa import config as presets
from vgpa.averaging.average import average
from vgpa.averaging.predict import predict_poses
from vgpa.benchmark.offers import Offer
from vgpa.benchmark.records import Result
from vgpa.colmap.database import read_problem
from vgpa.config import AveragingConfig
from vgpa.errors import InputError, VgpaError
from vgpa.evaluate import auc, pair_errors_deg
from vgpa.frontend.graph import select_reliable_edges
from vgpa.scene import Poses, Problem
from vgpa.solve import evidence_of, largest_component

THRESHOLD_DEG = 30
SHIPPED = "paper"
TRAINED = {"layers2": "--network paper --layers 2", "attention": "--network attention"}
"""Variants whose weights are not shipped, and the options of `vgpa train` that make them."""
LABELS = {
    "layers2": "2 GNN layers",
    "attention": "Graph attention (GATv2)",
    "pretrained": "Pretrained model (without fine-tuning)",
    "random": "Random init",
    "finetuned": "Fine-tuning only (random init)",
    "full": "Full model (pretrain + fine-tune)",
    "averaged": "VGPA default (its network and robust averaging)",
}
NOTES = {"averaged": "Not a row of the paper: what our default preset hands to bundle adjustment."}
FINETUNED = {"layers2", "attention", "finetuned", "full"}


@dataclass(frozen=True)
class NetworkMethod:
    """One row of the ablation.

    Attributes:
        name: a key of `LABELS`.
        weights_dir: a folder with weights of the variants in `TRAINED`, named after them.
    """

    name: str
    weights_dir: Path | None = None
    is_measured = True

    @property
    def label(self) -> str:
        """What the paper calls it."""
        return LABELS[self.name]

    @property
    def note(self) -> str:
        """What the paper does not have."""
        return NOTES.get(self.name, "")

    def run(self, offer: Offer, seed: int) -> Result:
        """Poses of the largest component of the view graph, compared with the reference pair by pair."""
        try:
            problem = read_problem(offer.database, are_lenses_known=offer.fix_intrinsics)
            reliable = select_reliable_edges(problem, presets.default().graph)
            component, image_idx = largest_component(reliable)
            names = [component.images.names[k] for k in image_idx]
            return Result(_areas(names, self._poses(component, image_idx, seed), offer))
        except VgpaError as error:
            return Result(error=str(error), is_final=not isinstance(error, InputError))

    def _poses(self, component: Problem, image_idx: np.ndarray, seed: int) -> Poses:
        graph, _ = component.view_graph.subgraph(image_idx)
        if self.name == "averaged":
            config = presets.default().averaging
            evidence = evidence_of(component)
            return average(graph, evidence, config, lambda part: predict_poses(part, config, "cpu")).poses
        with self._weights(seed) as weights:
            steps = presets.paper().averaging.finetune_steps if self.name in FINETUNED else 0
            config = replace(AveragingConfig(), weights=weights, finetune_steps=steps)
            return Poses.of_all(predict_poses(graph, config, "cpu"))

    @contextmanager
    def _weights(self, seed: int) -> Iterator[str]:
        """The name or the file of the variant's weights, while the block runs."""
        if self.name in TRAINED:
            path = self.weights_dir / f"{self.name}.safetensors" if self.weights_dir else None
            if path is None or not path.is_file():
                raise InputError(
                    f"There are no weights {self.name}.safetensors",
                    f"Make them with vgpa train {TRAINED[self.name]}, and give --weights DIR",
                )
            yield str(path)
        elif self.name in ("random", "finetuned"):
            with TemporaryDirectory() as folder:
                yield str(_write_random(Path(folder) / "random.safetensors", seed))
        else:
            yield SHIPPED


def parse_network(name: str, weights_dir: Path | None) -> NetworkMethod:
    """A variant by its name on the command line."""
    if name not in LABELS:
        raise InputError(f"The ablation has no variant {name!r}", f"Use some of {', '.join(LABELS)}")
    return NetworkMethod(name, weights_dir)


def _write_random(path: Path, seed: int) -> Path:
    """Weights of a network as it is made."""
    import torch

    from vgpa.network.posenet import PoseNetConfig
    from vgpa.network.weights import make_network, save_weights

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        save_weights(make_network(PoseNetConfig()), path)
    return path


def _areas(names: list[str], poses: Poses, offer: Offer) -> dict[str, float]:
    """AUC over the pairs of images that have both a pose and a reference."""
    reference = offer.reference
    at = {name: k for k, name in enumerate(reference.images.names) if reference.poses.is_known[k]}
    own = [k for k, name in enumerate(names) if name in at and poses.is_known[k]]
    truth = reference.poses.cam_from_world[[at[names[k]] for k in own]]
    rotation, direction = pair_errors_deg(poses.cam_from_world[own], truth)
    errors = {"rotation": rotation, "translation": direction, "pose": np.maximum(rotation, direction)}
    return {f"{kind}_auc30": auc(error, THRESHOLD_DEG) for kind, error in errors.items()}
