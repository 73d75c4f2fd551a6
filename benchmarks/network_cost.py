"""What a network costs: time and peak memory of a forward pass against the number of edges.

    python benchmarks/network_cost.py [--network paper|default|FILE.safetensors] [--device cpu|cuda] [--threads 2]

Graphs are random and connected. Every size is measured in a process of its own, so that peaks are honest: on the CPU
the largest resident size of the whole process (and, beside it, how much of that came after the network and the graph
were there), on a GPU what torch allocated. A straight line through the points shows whether the cost is linear. On a
GPU one large graph is also taken through one fine-tuning step: forward, backward and Adam. Needs torch, numpy, scipy
and safetensors only.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from vgpa.geometry.torch_rotation import exp_map
from vgpa.network.graph import GraphTensors
from vgpa.network.losses import relative_pose_loss
from vgpa.network.weights import load_network

SEED = 0
MAX_NUM_PASSES = 5
MAX_SECONDS = 10.0
FINETUNE_LEARNING_RATE = 1e-3


@dataclass(frozen=True)
class Job:
    """One size to measure, once forward or for one fine-tuning step."""

    num_cams: int
    num_edges: int
    is_step: bool = False


@dataclass(frozen=True)
class Cost:
    """Seconds of the first and of the fastest pass, and memory in GB: peak, and what of it was there before."""

    job: Job
    first_s: float
    best_s: float
    peak_gb: float
    before_gb: float


LINE_JOBS = (Job(200, 10_000), Job(1_000, 100_000), Job(10_000, 1_000_000))
LARGE_JOBS = (Job(10_000, 300_000), Job(10_000, 300_000, is_step=True))


def random_graph(num_cams: int, num_edges: int) -> GraphTensors:
    """A ring of cameras and random chords between them; relative poses are noise, which costs the same as the truth."""
    rng = np.random.default_rng(SEED)
    ring = np.arange(num_cams)
    codes = np.unique(_pair_codes(num_cams, ring, (ring + 1) % num_cams))
    while len(codes) < num_edges:
        new = _pair_codes(num_cams, *rng.integers(0, num_cams, (2, num_edges)))
        new = np.setdiff1d(new, codes)
        codes = np.concatenate((codes, rng.permutation(new)[: num_edges - len(codes)]))
    codes.sort()
    generator = torch.Generator().manual_seed(SEED)
    direction = torch.randn(num_edges, 3, generator=generator)
    return GraphTensors(
        edge_index=torch.from_numpy(np.stack(np.divmod(codes, num_cams))),
        rotation=exp_map(torch.randn(num_edges, 3, generator=generator)),
        direction=direction / direction.norm(dim=1, keepdim=True),
        has_direction=torch.rand(num_edges, generator=generator) > 0.05,
        num_matches=torch.randint(30, 500, (num_edges,), generator=generator),
        graph_idx=torch.zeros(num_cams, dtype=torch.int64),
    )


def _pair_codes(num_cams: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """One number i * num_cams + j for each pair with i < j; pairs of a camera with itself are left out."""
    i, j = np.minimum(a, b), np.maximum(a, b)
    return np.unique((i * num_cams + j)[i < j])


def measure(job: Job, network: str, device: str, num_threads: int) -> Cost:
    """Build the graph and take it through the network; meant for a process of its own."""
    torch.set_num_threads(num_threads)
    net = load_network(network).to(device)
    graph = random_graph(job.num_cams, job.num_edges).to(device)
    run = _finetuning_step(net, graph) if job.is_step else _forward(net, graph)
    before_gb = _peak_gb(device)
    seconds: list[float] = []
    while len(seconds) < MAX_NUM_PASSES and sum(seconds) < MAX_SECONDS:
        start = time.perf_counter()
        run()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return Cost(job, seconds[0], min(seconds), _peak_gb(device), before_gb)


def _forward(net: torch.nn.Module, graph: GraphTensors) -> Callable[[], None]:
    def run() -> None:
        with torch.no_grad():
            net(graph)

    return run


def _finetuning_step(net: torch.nn.Module, graph: GraphTensors) -> Callable[[], None]:
    optimizer = torch.optim.Adam(net.parameters(), lr=FINETUNE_LEARNING_RATE)

    def run() -> None:
        optimizer.zero_grad()
        relative_pose_loss(*net(graph), graph).backward()
        optimizer.step()

    return run


def _peak_gb(device: str) -> float:
    """The most memory used so far, in GB (10^9 bytes)."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def row(cost: Cost) -> str:
    """One row of the table."""
    job = cost.job
    what = "fine-tuning step" if job.is_step else "forward"
    return (
        f"| {job.num_cams:,} | {job.num_edges:,} | {what} | {cost.first_s:.3f} | {cost.best_s:.3f} "
        f"| {cost.peak_gb:.2f} | {cost.before_gb:.2f} |"
    )


def describe_fit(name: str, unit: str, edges: list[int], values: list[float]) -> str:
    """The line value = a + b edges with the least relative squares, and by how much it misses each point."""
    x, y = np.array(edges, dtype=float), np.array(values)
    design = np.stack((np.ones_like(x), x), axis=1) / y[:, None]
    (offset, slope), *_ = np.linalg.lstsq(design, np.ones_like(y), rcond=None)
    miss = (offset + slope * x) / y - 1
    misses = ", ".join(f"{100 * m:+.0f}%" for m in miss)
    return f"{name} = {offset:.3f} {unit} + {1e6 * slope:.3f} {unit} per million edges; the line misses by {misses}"


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="paper", help="a shipped name or a .safetensors file")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads")
    parser.add_argument("--max-edges", type=int, default=LINE_JOBS[-1].num_edges, help="leave larger graphs out")
    parser.add_argument("--out", type=Path, help="write the table to this file as well")
    return parser.parse_args()


def main() -> None:
    """Measure every size in turn and print the table."""
    given = parse()
    # Threads that wait should sleep: spinning, they slow each other down as soon as anything else runs here.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    jobs = [*LINE_JOBS, *(LARGE_JOBS if given.device == "cuda" else ())]
    costs = []
    for job in jobs:
        if job.num_edges <= given.max_edges:
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                costs.append(pool.submit(measure, job, given.network, given.device, given.threads).result())
    where = torch.cuda.get_device_name() if given.device == "cuda" else f"CPU, {given.threads} threads"
    line = [cost for cost in costs if cost.job in LINE_JOBS]
    edges = [cost.job.num_edges for cost in line]
    text = "\n".join(
        [
            f"Network `{given.network}` on {where}, up to {MAX_NUM_PASSES} passes within {MAX_SECONDS:.0f} s:",
            "",
            "| cameras | edges | what | first pass s | best pass s | peak GB | GB before |",
            "|---|---|---|---|---|---|---|",
            *map(row, costs),
            "",
            "- " + describe_fit("time", "s", edges, [cost.best_s for cost in line]),
            "- " + describe_fit("peak memory", "GB", edges, [cost.peak_gb for cost in line]),
        ]
    )
    print(text)
    if given.out:
        given.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
