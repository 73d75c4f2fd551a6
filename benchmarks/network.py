"""How good the networks' starts are. Prints Markdown tables and writes them into docs/network-results.md.

    VGPA_DATA=... python benchmarks/network.py worlds [--own N]   fixed test worlds, or N generated ones of each kind
    VGPA_DATA=... python benchmarks/network.py real               real scenes, before bundle adjustment
    VGPA_DATA=... python benchmarks/network.py cameras            simulated edges between real cameras
    VGPA_DATA=... python benchmarks/network.py ellis              rotation averaging alone, against pycolmap's

--weights NAME_OR_FILE (again for more) chooses the networks, --device cuda runs them on a GPU, --processes N takes so
many graphs at a time. All scores are areas under the recall curve up to 30 degrees (rotation, or the larger of rotation
and direction error of a pair).
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from graphs import Case, make_own_worlds, read_real_scenes, read_test_worlds
from starts import CHAINED, INLIER_TREE, TREE, TRUTH, Score, load_networks, score_finetuned, score_forward, score_starts
from torch import nn

from vgpa.config import AveragingConfig, FinetuneLoss
from vgpa.network.posenet import PoseNet

RESULTS = Path(__file__).parents[1] / "docs" / "network-results.md"
OWN_SEED = 9001
"""Of generated worlds: not a training seed."""
FINETUNE_LOSSES: dict[FinetuneLoss, str] = {"paper": "the paper's loss", "robust": "robust loss"}
PAPER_METHODS = ("VGPA", "RESfM", "Theia", "GLOMAP")


def measure_worlds(cases: Iterable[Case], networks: Mapping[str, nn.Module], args: argparse.Namespace) -> str:
    """Scores by kind of world: forward passes, fine-tuning, and averaging from every start."""
    scores: dict[str, dict[str, list[Score]]] = defaultdict(lambda: defaultdict(list))
    for case, row in score_all(score_world, cases, networks, args):
        for name, value in row.items():
            scores[name][case.kind].append(value)
    means = {name: {kind: Score.mean(values) for kind, values in row.items()} for name, row in scores.items()}
    kinds = list(next(iter(means.values())))
    best = means[f"{TRUTH} → averaging"]
    rows, ratios = [], []
    for name, row in means.items():
        overall = Score.mean([score for values in scores[name].values() for score in values])
        cells = [f"{value.rotation:.3f} / {value.pose:.3f}" for value in (*(row[kind] for kind in kinds), overall)]
        rows.append([name, *cells])
        if name.endswith("averaging"):
            top = Score.mean([score for values in scores[f"{TRUTH} → averaging"].values() for score in values])
            parts = [*(row[kind].pose / best[kind].pose for kind in kinds), overall.pose / top.pose]
            ratios.append([name, *(f"{part:.1%}" for part in parts)])
    count = sum(len(values) for values in next(iter(scores.values())).values())
    return (
        f"{count} worlds; rotation / pose AUC@30.\n\n"
        + table(["", *kinds, "mean"], rows)
        + "\n\nPose AUC@30 over that of the same averaging started from the truth:\n\n"
        + table(["", *kinds, "mean"], ratios)
    )


def score_world(case: Case, networks: Mapping[str, nn.Module], args: argparse.Namespace) -> dict[str, Score]:
    """All rows of the table of worlds for one of them."""
    row = {}
    for name, net in networks.items():
        row[f"`{name}`, forward pass"] = score_forward(case, net, args.device)
        if isinstance(net, PoseNet) and args.finetune_steps:
            for loss, words in FINETUNE_LOSSES.items():
                config = AveragingConfig(finetune_steps=args.finetune_steps, finetune_loss=loss)
                title = f"`{name}`, forward pass + {args.finetune_steps} steps, {words}"
                row[title] = score_finetuned(case, net, args.device, config)
    for name, value in score_starts_of(case, networks, args).items():
        row[f"{f'`{name}`' if name in networks else name} → averaging"] = value
    return row


def score_starts_of(case: Case, networks: Mapping[str, nn.Module], args: argparse.Namespace) -> dict[str, Score]:
    """Averaging from every start."""
    return score_starts(case, networks, args.device)


def score_all(
    score_one: Callable[[Case, Mapping[str, nn.Module], argparse.Namespace], dict[str, Score]],
    cases: Iterable[Case],
    networks: Mapping[str, nn.Module],
    args: argparse.Namespace,
) -> list[tuple[Case, dict[str, Score]]]:
    """Every case with its scores, several cases at a time."""
    with ProcessPoolExecutor(args.processes, get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        scored = [(case, pool.submit(score_one, case, networks, args)) for case in cases]
        return [(case, future.result()) for case, future in scored]


def measure_real(cases: Iterable[Case], networks: Mapping[str, nn.Module], args: argparse.Namespace) -> str:
    """Pose AUC of every scene from every start, and how far each network is above random centres."""
    scores = {case.name: (case, row) for case, row in score_all(score_starts_of, cases, networks, args)}
    return (
        "Pose AUC@30 after averaging, before bundle adjustment, against the reference.\n\n"
        + compare_starts(scores, networks)
        + "\n\n"
        + summarise(scores, networks)
    )


def measure_cameras(cases: Iterable[Case], networks: Mapping[str, nn.Module], args: argparse.Namespace) -> str:
    """The same on simulated edges between real cameras, with the paper's figures beside."""
    scores = {case.name: (case, row) for case, row in score_all(score_starts_of, cases, networks, args)}
    with (Path(os.environ["VGPA_DATA"]) / "paper" / "megadepth_auc.csv").open() as file:
        printed = {row["scene"]: row for row in csv.DictReader(file)}
    rows = []
    for scene in dict.fromkeys(case.kind for case, _ in scores.values()):
        row = printed[scene]
        rows.append([scene, row["num_images"], *(f"{float(row[f'{name}_auc30']):.3f}" for name in PAPER_METHODS)])
    return (
        "Pose AUC@30 after averaging, before bundle adjustment. Cameras are real, edges are simulated.\n\n"
        + compare_starts(scores, networks)
        + "\n\n"
        + summarise(scores, networks)
        + "\n\nThe paper's AUC@30 on the same scenes, after bundle adjustment, over registered images, with other "
        "images and **not the same edges**:\n\n" + table(["scene", "images", *PAPER_METHODS], rows)
    )


def compare_starts(scores: Mapping[str, tuple[Case, Mapping[str, Score]]], networks: Mapping[str, nn.Module]) -> str:
    """One row per case, one column per start."""
    columns = [*networks, INLIER_TREE, TREE, CHAINED, TRUTH]
    rows = []
    for name, (case, row) in scores.items():
        wrong = "" if case.is_wrong is None else f"{case.is_wrong.mean():.0%}"
        size = [str(case.graph.num_images), str(case.graph.num_edges), wrong]
        rows.append([name, *size, *(f"{row[column].pose:.3f}" for column in columns)])
    means = [np.mean([row[column].pose for _, row in scores.values()]) for column in columns]
    rows.append(["mean", "", "", "", *(f"{mean:.3f}" for mean in means)])
    return table(["", "images", "edges", "wrong", *(f"`{c}`" if c in networks else c for c in columns)], rows)


def summarise(scores: Mapping[str, tuple[Case, Mapping[str, Score]]], networks: Mapping[str, nn.Module]) -> str:
    """How far each network is above random centres: on average, and where it is worst."""
    lines = []
    for name in networks:
        for baseline in (INLIER_TREE, TREE):
            gain = {case: row[name].pose - row[baseline].pose for case, (_, row) in scores.items()}
            worst = min(gain, key=lambda case: gain[case])
            mean = np.mean(list(gain.values()))
            lines.append(f"- `{name}` against {baseline}: mean {mean:+.3f}, worst {gain[worst]:+.3f} ({worst}).")
    return "\n".join(lines)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_section(path: Path, name: str, text: str) -> None:
    """Replace what stands between the markers of a section of the results page."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    page = path.read_text()
    before, rest = page.split(begin)
    path.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}")


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("worlds", "real", "cameras", "ellis"))
    parser.add_argument("--weights", action="append", help="shipped name or file; default: paper and default")
    parser.add_argument("--own", type=int, default=0, help="generated worlds of each kind instead of the fixed ones")
    parser.add_argument("--finetune-steps", type=int, default=200, help="0 leaves fine-tuning out")
    parser.add_argument("--device", default="cpu", help="where networks run: cpu or cuda")
    parser.add_argument("--processes", type=int, default=1, help="graphs taken at a time")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the page to write into")
    args = parser.parse_args()
    data = Path(os.environ["VGPA_DATA"]) if not args.own else Path()
    section = args.part + ("-own" if args.own else "")
    if args.part == "ellis":
        # Needs pycolmap, which a machine that only runs networks does not have.
        from rotation_averaging import compare_rotation_averaging

        text = compare_rotation_averaging(data / "data" / "ellis_island_rotations.npz", table)
    else:
        networks = load_networks(args.weights or ["default", "paper"])
        if args.part == "worlds":
            fixed = data / "data" / "worlds_test.npz"
            cases = make_own_worlds(args.own, OWN_SEED) if args.own else read_test_worlds(fixed)
            text = measure_worlds(cases, networks, args)
        elif args.part == "real":
            text = measure_real(read_real_scenes(data / "scenes"), networks, args)
        else:
            from cameras import simulate_cameras

            text = measure_cameras(simulate_cameras(data / "data" / "cameras"), networks, args)
    # Names only: folders are nobody's business.
    typed = " ".join(Path(word).name for word in sys.argv[1:])
    text = (
        f"`python benchmarks/network.py {typed}`, {os.cpu_count()} cores, Python {platform.python_version()}.\n\n{text}"
    )
    print(text)
    write_section(args.out, section, text)


if __name__ == "__main__":
    main()
