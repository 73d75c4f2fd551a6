"""What solving gives: models, what each was made from, and what became of every image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vgpa.averaging.average import Averaged
from vgpa.mapping.safety import Checked, doubtful_cameras
from vgpa.scene import ImageState, Poses, Problem, Reconstruction, Tracks, ViewGraph
from vgpa.stages import StageLog


@dataclass(frozen=True, eq=False)
class Part:
    """A model and what it was made from: one connected group of images. Indices count all images of the problem.

    Attributes:
        checked: the reconstruction, and the figures by which its cameras were judged.
        image_idx: the group's images. The model may have lost some, and have won others in re-integration.
        graph: the view graph with the group's edges, with `averaged`'s residuals on them.
        averaged: the averaged poses of the group's images, in their order.
        tracks: the tracks that were triangulated.
        is_suspicious: (num_images,) images that were taken out because their cameras were clearly wrong.
        predicted: the network's poses of the group's images, in their order; None where a model was given.
    """

    checked: Checked
    image_idx: NDArray[np.int64]
    graph: ViewGraph
    averaged: Averaged
    tracks: Tracks
    is_suspicious: NDArray[np.bool_]
    predicted: Poses | None = None

    @property
    def model(self) -> Reconstruction:
        """The reconstruction."""
        return self.checked.model


@dataclass(frozen=True, eq=False)
class Solution:
    """All models of a problem.

    Attributes:
        problem: what was given.
        parts: one per model, the one with the most images first; no image is in two.
        states: what became of every image, by name.
        doubts: registered images whose cameras look doubtful, by name, and why.
        reliable_graph: the view graph of all images, with the edges that were trusted.
    """

    problem: Problem
    parts: tuple[Part, ...]
    states: dict[str, ImageState]
    doubts: dict[str, list[str]]
    reliable_graph: ViewGraph

    @property
    def model(self) -> Reconstruction:
        """The largest model."""
        return self.parts[0].model

    @property
    def solved_graph(self) -> ViewGraph:
        """The edges of the group that the largest model was made from."""
        return self.parts[0].graph

    @property
    def averaged(self) -> Averaged:
        """The averaged poses that the largest model was made from."""
        return self.parts[0].averaged

    @property
    def tracks(self) -> Tracks:
        """The tracks that the largest model was made from."""
        return self.parts[0].tracks


def conclude(problem: Problem, parts: tuple[Part, ...], reliable: ViewGraph, log: StageLog) -> Solution:
    """The solution of these parts, with a warning if cameras are doubtful."""
    doubts: dict[str, list[str]] = {}
    for part in parts:
        doubts |= doubtful_cameras(part.checked)
    if doubts:
        examples = [f"{name!r} ({', '.join(why)})" for name, why in sorted(doubts.items())[:3]]
        more = f" and {len(doubts) - 3} more" if len(doubts) > 3 else ""
        log.warn(f"Doubtful cameras, look at them before you trust them: {', '.join(examples)}{more}")
    return Solution(problem, parts, _explain(problem, parts), doubts, reliable)


def _explain(everything: Problem, parts: tuple[Part, ...]) -> dict[str, ImageState]:
    """What became of every image of the database: registered, or the first stage that lost it for good."""
    num = len(everything.images)
    is_registered, is_suspicious, in_group, is_placed = np.zeros((4, num), dtype=np.bool_)
    for part in parts:
        is_registered |= part.model.poses.is_known
        is_suspicious |= part.is_suspicious
        in_group[part.image_idx] = True
        is_placed |= part.averaged.poses.scatter(part.image_idx, num).is_known
    fates = (
        (is_registered, ImageState.REGISTERED),
        (everything.keypoints.num_of() == 0, ImageState.NO_FEATURES),
        (everything.view_graph.degree == 0, ImageState.NO_MATCHES),
        (is_suspicious, ImageState.SUSPICIOUS),
        (~in_group, ImageState.NOT_IN_COMPONENT),
        (~is_placed, ImageState.FAILED_AVERAGING),
    )
    return {
        name: next((state for mask, state in fates if mask[k]), ImageState.DROPPED_IN_BA)
        for k, name in enumerate(everything.images.names)
    }
