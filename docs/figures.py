"""The pictures of the documentation: `python docs/figures.py DEMO`, where DEMO is the output folder of `vgpa demo`.

Cameras are drawn from above as wedges that open where they look, the true ones as grey circles. Failures are made on
purpose: pairs are deleted, a focal length is changed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from vgpa import config as presets
from vgpa.averaging.predict import predict_poses
from vgpa.colmap.database import read_problem
from vgpa.demo.run import NUM_VIEWS
from vgpa.demo.walk import loop_cameras
from vgpa.geometry.alignment import align_cameras
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import rotation_angle_rad
from vgpa.pipeline import reconstruct
from vgpa.scene import Poses, Problem
from vgpa.solution import Solution
from vgpa.solve import solve
from vgpa.stages import StageLog

FOLDER = Path(__file__).parent / "figures"
PANEL_PX, OVERSAMPLING = 360, 3
SPAN_M = 84.0
"""Metres of the demo's world that a panel shows."""
MAGNIFICATION = 15.0
"""Of the position errors in the picture of the stages."""
GREY, BLUE, ORANGE, GREEN, RED = (170, 170, 170), (45, 105, 190), (225, 120, 20), (40, 145, 80), (215, 50, 45)
Color = tuple[int, int, int]


@dataclass(frozen=True)
class Panel:
    """One picture of cameras from above: a caption, the cameras, and edges between their centres with a colour each."""

    caption: str
    cameras: Sequence[tuple[Rigid, Color]]
    edges: Sequence[tuple[NDArray[np.float64], NDArray[np.float64], Color]] = ()


def main(demo: Path) -> None:
    """Write every picture."""
    FOLDER.mkdir(exist_ok=True)
    true = loop_cameras(NUM_VIEWS, seed=0)
    truth = Rigid.from_matrix(true.rotation, true.translation)
    problem, config = read_problem(demo / "database.db"), presets.default()
    solution = solve(problem, config, StageLog())
    draw_panels(_stages(solution, truth), truth, FOLDER / "stages.png")
    draw_panels([_view_graph(solution, truth)], truth, FOLDER / "view-graph.png")
    draw_panels(_two_groups(problem, truth), truth, FOLDER / "two-groups.png")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(demo / "database.db", folder)
        params = f"{1.5 * true.focal_px},{true.width / 2},{true.height / 2}"
        features = replace(config.features, camera_model="SIMPLE_PINHOLE", camera_params=params, max_num_features=4096)
        bent = reconstruct(demo / "images", Path(folder), replace(config, features=features)).reconstruction
    panels = [
        _panel("the right focal length", solution.model.poses, truth, BLUE),
        _panel("1.5 times that, held fixed", bent.poses, truth, RED),
    ]
    draw_panels(panels, truth, FOLDER / "wrong-focal.png")


def draw_panels(panels: Sequence[Panel], truth: Rigid, path: Path) -> None:
    """Draw panels side by side, each with the true cameras."""
    size, caption_px = PANEL_PX * OVERSAMPLING, 24 * OVERSAMPLING
    image = Image.new("RGB", (size * len(panels), size + caption_px), "white")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(14 * OVERSAMPLING)
    for number, panel in enumerate(panels):

        def place(xyz: NDArray[np.float64], left: int = number * size) -> tuple[float, float]:
            return left + size * (0.5 + xyz[0] / SPAN_M), size * (0.5 - xyz[1] / SPAN_M)

        for start, end, color in panel.edges:
            pen.line([place(start), place(end)], fill=color, width=OVERSAMPLING)
        for centre in truth.centre:
            x, y = place(centre)
            radius = 4 * OVERSAMPLING
            pen.ellipse([x - radius, y - radius, x + radius, y + radius], outline=GREY, width=OVERSAMPLING)
        for cameras, color in panel.cameras:
            _draw_wedges(pen, cameras, place, color)
        pen.text((number * size + size / 2, size), panel.caption, fill="black", font=font, anchor="ma")
    image = image.resize((image.width // OVERSAMPLING, image.height // OVERSAMPLING), Image.Resampling.LANCZOS)
    image.quantize(96).save(path, optimize=True)


def _draw_wedges(
    pen: ImageDraw.ImageDraw, cameras: Rigid, place: Callable[[NDArray[np.float64]], tuple[float, float]], color: Color
) -> None:
    for rotation, centre in zip(cameras.rotation, cameras.centre, strict=True):
        right, _, forward = rotation
        corners = [centre, centre + 3.4 * forward - 1.7 * right, centre + 3.4 * forward + 1.7 * right]
        pen.polygon([place(corner) for corner in corners], outline=color, width=OVERSAMPLING)


def _aligned(poses: Poses, truth: Rigid) -> tuple[Rigid, Rigid]:
    """The known cameras in the true world, and the true ones. Photos are named in the order of the walk."""
    known, true = poses.cam_from_world[poses.is_known], truth[np.flatnonzero(poses.is_known)]
    return align_cameras(known, true).apply_to_cameras(known), true


def _panel(name: str, poses: Poses, truth: Rigid, color: Color, magnification: float = 1.0) -> Panel:
    cameras, true = _aligned(poses, truth)
    turn_deg = float(np.degrees(rotation_angle_rad(cameras.rotation, true.rotation)).mean())
    shift_m = float(np.linalg.norm(cameras.centre - true.centre, axis=1).mean())
    drawn = Rigid.from_centre(cameras.rotation, true.centre + magnification * (cameras.centre - true.centre))
    return Panel(f"{name}: {turn_deg:.2g} deg, {shift_m:.2g} m", [(drawn, color)])


def _stages(solution: Solution, truth: Rigid) -> list[Panel]:
    """The poses of the network, of averaging and of bundle adjustment."""
    part, config = solution.parts[0], presets.default()
    num = len(solution.problem.images)
    graph, _ = part.graph.subgraph(part.image_idx)
    predicted = Poses.of_all(predict_poses(graph, config.averaging, "cpu")).scatter(part.image_idx, num)
    averaged = part.averaged.poses.scatter(part.image_idx, num)
    named = (("network", predicted, ORANGE), ("averaged", averaged, GREEN), ("final", part.model.poses, BLUE))
    return [_panel(name, poses, truth, color, MAGNIFICATION) for name, poses, color in named]


def _view_graph(solution: Solution, truth: Rigid) -> Panel:
    """The edges that were trusted, and in red those that averaging then left out."""
    graph, is_kept = solution.solved_graph, solution.averaged.is_edge_kept
    pairs = zip(*graph.edge_index, is_kept, strict=True)
    edges = [(truth.centre[i], truth.centre[j], (150, 180, 215) if kept else RED) for i, j, kept in pairs]
    return Panel(f"{len(solution.problem.images)} images, {graph.num_edges} edges", [], edges)


def _two_groups(problem: Problem, truth: Rigid) -> list[Panel]:
    """The models of a walk whose halves share no pairs."""
    is_first_half = np.arange(len(problem.images)) < len(problem.images) // 2
    i, j = problem.view_graph.edge_index
    split = solve(problem.select_edges(is_first_half[i] == is_first_half[j]), presets.default(), StageLog())
    return [
        Panel(f"sparse/{k}: {part.model.num_registered} images", [(_aligned(part.model.poses, truth)[0], color)])
        for k, (part, color) in enumerate(zip(split.parts, (BLUE, ORANGE), strict=False))
    ]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
