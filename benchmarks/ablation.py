"""The paper's ablation table, on held-out worlds and on real view graphs, before any bundle adjustment.

    VGPA_DATA=... python benchmarks/ablation.py export REAL.npz
    python benchmarks/ablation.py run RESULTS.jsonl --weights DIR [--real REAL.npz] [--device cuda] [--processes 12]
    python benchmarks/ablation.py table RESULTS.jsonl [--out TABLE.md]

DIR holds {full,layers2,attention}_seed{20,21,22}.safetensors; what is not there is left out. `export` writes the
largest component of every real scene as plain arrays, so that `run` needs no pycolmap. `run` fine-tunes a copy of the
network on every graph by itself, in several processes side by side (a single small graph leaves a GPU idle most of
the time); it adds one line per network and graph to RESULTS and goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from graphs import Case, make_own_worlds, read_real_scenes
from torch import nn

from vgpa.averaging.finetune import finetune, graph_tensors, poses_from_tensors
from vgpa.config import paper
from vgpa.evaluate import auc, pair_errors_deg
from vgpa.geometry.rigid import Rigid
from vgpa.network.posenet import PoseNetConfig
from vgpa.network.weights import load_network, make_network
from vgpa.scene import ViewGraph

SEEDS = (20, 21, 22)
WORLD_SEED = 4_000_037
"""Neither training nor its validation draws worlds from this seed."""
THRESHOLD_DEG = 30
METRICS = ("rotation", "translation", "pose")
SETS = {"worlds": "Held-out worlds", "real": "Real view graphs"}


@dataclass(frozen=True)
class Variant:
    """One row of the table.

    Attributes:
        name: what the paper calls it.
        weights: first part of its weights files; None is a network as it is made.
        is_finetuned: 200 steps on each graph, or one forward pass.
        paper: the paper's rotation, translation and pose AUC@30.
    """

    name: str
    weights: str | None
    is_finetuned: bool
    paper: tuple[float, float, float]

    def file(self, folder: Path, seed: int) -> Path | None:
        """The weights of a training seed."""
        return folder / f"{self.weights}_seed{seed}.safetensors" if self.weights else None


VARIANTS = (
    Variant("2 GNN layers", "layers2", True, (0.755, 0.367, 0.346)),
    Variant("Graph attention (GATv2)", "attention", True, (0.788, 0.385, 0.364)),
    Variant("Pretrained model (without fine-tuning)", "full", False, (0.789, 0.375, 0.358)),
    Variant("Random init", None, False, (0.316, 0.024, 0.012)),
    Variant("Fine-tuning only (random init)", None, True, (0.728, 0.377, 0.352)),
    Variant("Full model (pretrain + fine-tune)", "full", True, (0.849, 0.402, 0.389)),
)


@dataclass(frozen=True)
class Task:
    """One network on one graph."""

    variant: Variant
    seed: int
    weights: Path | None
    where: str
    case: Case
    device: str

    @property
    def key(self) -> tuple[str, int, str, str]:
        """What tells its result from others."""
        return (self.variant.name, self.seed, self.where, self.case.name)


@dataclass(frozen=True)
class Result:
    """AUC@30 of one network on one graph."""

    variant: str
    seed: int
    where: str
    case: str
    rotation: float
    translation: float
    pose: float

    @property
    def key(self) -> tuple[str, int, str, str]:
        """What tells it from others."""
        return (self.variant, self.seed, self.where, self.case)


def run_task(task: Task) -> Result:
    """Fine-tune if the variant does, predict, and compare with the truth."""
    torch.set_num_threads(1)
    graph = graph_tensors(task.case.graph, torch.device(task.device))
    net = _network(task).to(task.device).eval()
    if task.variant.is_finetuned:
        net = finetune(net, graph, paper().averaging)
    with torch.no_grad():
        poses = poses_from_tensors(*net(graph))
    scored = task.case.has_truth
    rotation, translation = pair_errors_deg(poses[scored], task.case.truth[scored])
    errors = (rotation, translation, np.maximum(rotation, translation))
    return Result(*task.key, *(auc(error, THRESHOLD_DEG) for error in errors))


def _network(task: Task) -> nn.Module:
    if task.weights is not None:
        return load_network(task.weights)
    torch.manual_seed(task.seed)
    return make_network(PoseNetConfig())


def make_tasks(cases: dict[str, list[Case]], weights: Path, device: str) -> Iterator[Task]:
    """Every variant, seed and graph; a variant whose weights are not there is named and left out."""
    for variant in VARIANTS:
        for seed in SEEDS:
            file = variant.file(weights, seed)
            if file is not None and not file.is_file():
                print(f"{variant.name}: no {file.name}, left out", flush=True)
                continue
            for where, group in cases.items():
                yield from (Task(variant, seed, file, where, case, device) for case in group)


def run(given: argparse.Namespace) -> None:
    """Compute what is not in the results file yet."""
    cases = {"worlds": list(make_own_worlds(given.worlds_per_kind, WORLD_SEED))}
    if given.real:
        cases["real"] = list(read_cases(given.real))
    done = {result.key for result in read_results(given.results)}
    tasks = [task for task in make_tasks(cases, given.weights, given.device) if task.key not in done]
    given.results.parent.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.processes, context) as pool, given.results.open("a") as file:
        for number, future in enumerate(as_completed([pool.submit(run_task, task) for task in tasks]), start=1):
            file.write(json.dumps(asdict(future.result())) + "\n")
            file.flush()
            if number % 50 == 0 or number == len(tasks):
                print(f"{number} of {len(tasks)} done", flush=True)


def read_results(path: Path) -> list[Result]:
    """The lines of a results file; none if there is no file yet."""
    return [Result(**json.loads(line)) for line in path.read_text().splitlines()] if path.is_file() else []


def export(given: argparse.Namespace) -> None:
    """Write the real graphs as arrays named SCENE/ARRAY."""
    arrays = {}
    for case in read_real_scenes(Path(os.environ["VGPA_DATA"]) / "scenes"):
        graph = case.graph
        of_case = {
            "edge_index": graph.edge_index,
            "edge_quaternion_wxyz": graph.cam_j_from_cam_i.quaternion_wxyz,
            "edge_translation": graph.cam_j_from_cam_i.translation,
            "has_direction": graph.has_direction,
            "num_inliers": graph.num_inliers,
            "num_matches": graph.num_matches,
            "quaternion_wxyz": case.truth.quaternion_wxyz,
            "translation": case.truth.translation,
            "has_truth": case.has_truth,
        }
        arrays |= {f"{case.name}/{name}": value for name, value in of_case.items()}
    np.savez_compressed(given.file, **arrays)


def read_cases(path: Path) -> Iterator[Case]:
    """The real graphs that `export` wrote."""
    with np.load(path, allow_pickle=False) as file:
        for scene in sorted({name.split("/")[0] for name in file.files}):
            part = {name.split("/")[1]: file[name] for name in file.files if name.split("/")[0] == scene}
            motion = Rigid(part["edge_quaternion_wxyz"], part["edge_translation"])
            truth = Rigid(part["quaternion_wxyz"], part["translation"])
            counts = part["num_inliers"], part["num_matches"]
            graph = ViewGraph(len(truth), part["edge_index"], motion, part["has_direction"], *counts)
            yield Case(scene, "real", graph, truth, part["has_truth"])


def table(given: argparse.Namespace) -> None:
    """Print the results, set by set, with the paper's beside them."""
    results = read_results(given.results)
    parts = []
    for where, title in SETS.items():
        here = [result for result in results if result.where == where]
        if here:
            parts += [_describe_set(here, title), ""]
    text = "\n".join(parts)
    print(text)
    if given.out:
        given.out.write_text(text)


def _describe_set(results: list[Result], title: str) -> str:
    num_graphs = len({result.case for result in results})
    lines = [
        f"{title}: {num_graphs} graphs. AUC@{THRESHOLD_DEG}, mean over graphs; mean and standard deviation over",
        "training seeds; the paper's figure, on its own scenes, in brackets.",
        "",
        "| variant | seeds | " + " | ".join(METRICS) + " |",
        "|---|---|" + "---|" * len(METRICS),
    ]
    pose = {}
    for variant in VARIANTS:
        scores = _scores_by_seed(results, variant)
        if len(scores):
            mean, spread = scores.mean(0), scores.std(0, ddof=1) if len(scores) > 1 else np.zeros(len(METRICS))
            rows = zip(mean, spread, variant.paper, strict=True)
            cells = [f"{m:.3f} ± {s:.3f} ({theirs:.3f})" for m, s, theirs in rows]
            lines.append(f"| {variant.name} | {len(scores)} | " + " | ".join(cells) + " |")
            pose[variant] = mean[METRICS.index("pose")]
    lines += [
        "",
        "Best pose first: " + " > ".join(v.name for v in sorted(pose, key=lambda v: -pose[v])) + ".",
        "In the paper: " + " > ".join(v.name for v in sorted(pose, key=lambda v: -v.paper[-1])) + ".",
    ]
    return "\n".join(lines)


def _scores_by_seed(results: list[Result], variant: Variant) -> np.ndarray:
    """(num_seeds, 3) means over graphs."""
    of_variant = [result for result in results if result.variant == variant.name]
    seeds = sorted({result.seed for result in of_variant})
    rows = [[[getattr(r, metric) for metric in METRICS] for r in of_variant if r.seed == seed] for seed in seeds]
    return np.array([np.mean(row, axis=0) for row in rows])


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("export", help="write the real graphs as arrays")
    verb.add_argument("file", type=Path)
    verb.set_defaults(run=export)
    verb = verbs.add_parser("run", help="fine-tune and score")
    verb.add_argument("results", type=Path)
    verb.add_argument("--weights", type=Path, required=True, help="folder of weights files")
    verb.add_argument("--real", type=Path, help="file written by export")
    verb.add_argument("--worlds-per-kind", type=int, default=5)
    verb.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    verb.add_argument("--processes", type=int, default=2)
    verb.set_defaults(run=run)
    verb = verbs.add_parser("table", help="print the table of the results")
    verb.add_argument("results", type=Path)
    verb.add_argument("--out", type=Path, help="write it to this file as well")
    verb.set_defaults(run=table)
    return parser.parse_args()


def main() -> None:
    """Run one verb."""
    given = parse()
    given.run(given)


if __name__ == "__main__":
    main()
