"""Every setting of a run, as frozen dataclasses: one per stage, and presets that return a whole set.

A preset is a function, a variation is `dataclasses.replace`, and the settings of a run are written to
`config.json` beside its result. The field comments are what the command line shows as help.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Literal

Engine = Literal["local", "ray"]
Preset = Literal["default", "fast", "paper"]
Device = Literal["auto", "cpu", "cuda"]
FinetuneLoss = Literal["paper", "robust"]


@dataclass(frozen=True)
class FeatureConfig:
    """SIFT extraction and the cameras that images are read with."""

    max_image_size: int = 1600
    """Longer image side in pixels at which features are detected; larger photos are scaled down for it."""
    max_num_features: int = 8192
    """Features kept per image, largest scale first."""
    camera_model: str = "SIMPLE_RADIAL"
    """COLMAP camera model of the photos."""
    camera_params: str = ""
    """Known intrinsics in COLMAP's order, comma separated; held fixed in bundle adjustment."""
    camera_mode: Literal["auto", "single", "folder", "image"] = "auto"
    """Which photos share a camera: those that EXIF says, all, those of a folder, none."""
    masks: str = ""
    """Folder of masks in COLMAP's naming (photo a/b.jpg, mask a/b.jpg.png); features on black are left out."""


@dataclass(frozen=True)
class MatchConfig:
    """Matching and two-view verification."""

    max_ratio: float = 0.8
    """Lowe's ratio test: best distance over second best."""
    max_error_px: float = 4.0
    """Epipolar error at which a match is still an inlier."""
    min_num_inliers: int = 15
    """Verified matches without which a pair does not count as verified."""


@dataclass(frozen=True)
class PairConfig:
    """Which pairs of photos are matched."""

    method: str = "auto"
    """auto, exhaustive, retrieval, sequential, spatial, or the path of a file with two names a line."""
    top_k: int = 30
    """Neighbours of each photo in retrieval and spatial pairs."""
    overlap: int = 10
    """Following photos that each photo is matched with in sequential pairs; retrieval then closes loops."""
    max_num_exhaustive: int = 100
    """auto matches all pairs up to this many photos, and retrieves neighbours beyond."""
    megaloc: str = ""
    """Retrieve with MegaLoc: hub, or the folder of a local clone of its repository; empty uses the photos' features."""


@dataclass(frozen=True)
class GraphConfig:
    """Which verified pairs enter the view graph, and how tracks are built from their matches."""

    min_num_inliers: int = 30
    """Verified matches an edge needs."""
    min_inlier_ratio: float = 0.25
    """Verified matches over all matches of the pair that an edge needs."""
    max_triplet_error_deg: float = 10.0
    """An edge in several triplets must close one of them to this angle."""
    min_track_length: int = 3
    """Images a track must be seen in."""
    max_spread_px: float = 10.0
    """Two keypoints of one image in one track may be this far apart; a wider track is inconsistent and dropped."""
    max_num_matches: int | None = None
    """Matches of a pair that are used, about: those of keypoints that match most often. None uses all."""


@dataclass(frozen=True)
class AveragingConfig:
    """From view graph to poses."""

    weights: str = "default"
    """Name of shipped weights, or the path of a safetensors file."""
    finetune_steps: int = 0
    """Steps of fine-tuning the network on this graph (the paper: 200)."""
    finetune_learning_rate: float = 3e-3
    """Adam's highest step size in fine-tuning; it rises for a few steps, then falls to zero."""
    finetune_loss: FinetuneLoss = "paper"
    """What fine-tuning descends: the paper's loss, or one that ignores wrong edges and relaxes the whole graph."""
    robust: bool = True
    """Robust averaging of the raw poses, started from the network's answer or a spanning tree's."""
    rotation_sigma_deg: float = 5.0
    """Geman-McClure scale of rotation averaging."""
    max_rotation_error_deg: float = 10.0
    """Edges that disagree with the averaged rotations by more are dropped."""
    direction_sigma_deg: float = 5.0
    """Geman-McClure scale of direction residuals in position averaging."""


@dataclass(frozen=True)
class BundleRound:
    """One round: triangulate, filter, adjust."""

    max_error_px: float
    """Observations with a larger reprojection error are left out of the round."""
    loss: Literal["huber", "cauchy"]
    """Robust loss on the reprojection error."""
    loss_scale_px: float
    """Where the loss turns from quadratic to robust, in pixels; see also `is_scale_relative`."""
    tolerance: float
    """Relative decrease of the cost at which the round ends."""
    max_iterations: int
    """Iterations at which it ends in any case."""
    refine_intrinsics: bool
    """Focal length and distortion are free in this round (unless they are fixed for the run)."""
    only_unknown_focal: bool = False
    """Of these, only focal lengths that nobody knows are free."""
    is_scale_relative: bool = False
    """The scale of the loss is in median reprojection errors of the model before the round: how sharp photos are, and
    with them what an outlier is, differs from scene to scene by more than three times."""
    is_adaptive: bool = False
    """If poses are too coarse for this round's loss, as the first one, rounds with wider losses come before it."""
    may_climb: bool = True
    """Steps may raise the cost for a while: this follows the curved valley of focal length against distance in half
    the steps, but near the minimum it only strays."""
    trust_radius: float = 1e4
    """Ceres' trust region at the start of the round. Where lenses are long, a common factor on all focal lengths costs
    next to nothing, and a narrow region lets a round end, content with little, before its steps along it grow long."""
    max_runs: int = 1
    """How often the round is run while focal lengths have not settled."""
    min_num_covered: int | None = None
    """Use only the longest tracks, until every image has this many observations; None uses all tracks."""


@dataclass(frozen=True)
class ReintegrateConfig:
    """When a lost image may come back."""

    max_error_px: float = 12.0
    """Reprojection error at which a match to a point still agrees with a pose."""
    min_agreeing: tuple[tuple[int, float], ...] = ((4, 0.8), (12, 0.6), (30, 0.25))
    """Matches to points that must agree, and part of all its matches to points: the fewer, the larger a part."""
    max_rotation_error_deg: float = 5.0
    """Disagreement with the best third of the verified matches between it and registered neighbours."""

    def are_enough(self, num: int, part: float) -> bool:
        """Whether so many matches, which are this part of all, may speak for a place."""
        return any(num >= min_num and part >= min_part for min_num, min_part in self.min_agreeing)

    def at_least(self, num: int) -> ReintegrateConfig:
        """The same, where no fewer matches than so many may speak for a place."""
        return replace(self, min_agreeing=tuple((max(num, min_num), part) for min_num, part in self.min_agreeing))


@dataclass(frozen=True)
class MappingConfig:
    """From poses to a finished model."""

    rounds: tuple[BundleRound, ...]
    """Rounds in order, two at least; the last one decides which points stay."""
    min_angle_deg: float = 1.0
    """Points whose rays meet at a smaller angle are not used."""
    min_num_points: int = 10
    """Images that see fewer points are dropped."""
    fix_intrinsics: bool = False
    """Keep every camera's intrinsics as they are."""
    held_cameras: tuple[int, ...] = ()
    """Cameras, counted from 0 in the order of their ids, whose intrinsics stay as they are."""
    reintegrate: ReintegrateConfig | None = ReintegrateConfig()
    """Try to place lost images among the finished points; None leaves them out."""
    scale_hanging_groups: bool = True
    """Groups of images that hang on the rest by a single image get the size that the few tracks beyond it tell."""
    tie_lenses: bool = True
    """Images that have a camera each but agree on one lens are adjusted with one."""
    min_images_for_principal_point: int | None = 8
    """Images of one camera from which on a last adjustment frees its principal point too; None never does."""
    few_images: int = 0
    """Up to so many images get one more last round, with tracks of two images: these are a large part of what so few
    images tell, and take no time there."""


@dataclass(frozen=True)
class Config:
    """All settings of a run."""

    features: FeatureConfig
    matching: MatchConfig
    pairs: PairConfig
    graph: GraphConfig
    averaging: AveragingConfig
    mapping: MappingConfig
    seed: int = 0
    device: Device = "auto"
    executor: Engine = "local"
    num_threads: int = field(default_factory=lambda: os.cpu_count() or 1)


def default() -> Config:
    """The best accuracy and coverage."""
    rounds = (
        BundleRound(180, "cauchy", 2.0, 1e-3, 50, refine_intrinsics=True, is_adaptive=True, min_num_covered=100),
        BundleRound(12, "huber", 1.0, 1e-3, 20, refine_intrinsics=True, min_num_covered=100),
        BundleRound(
            4, "huber", 1.0, 1e-4, 50, refine_intrinsics=True, trust_radius=1e6, max_runs=3, min_num_covered=200
        ),
        BundleRound(
            4,
            "cauchy",
            3.0,
            1e-4,
            100,
            refine_intrinsics=True,
            is_scale_relative=True,
            may_climb=False,
            trust_radius=1e6,
        ),
    )
    mapping = MappingConfig(rounds, few_images=20)
    return Config(FeatureConfig(), MatchConfig(), PairConfig(), GraphConfig(), AveragingConfig(), mapping)


def fast() -> Config:
    """The quickest model that is still good for a preview."""
    rounds = (
        BundleRound(180, "cauchy", 2.0, 1e-3, 50, refine_intrinsics=True, is_adaptive=True, min_num_covered=100),
        BundleRound(
            4,
            "cauchy",
            3.0,
            1e-4,
            30,
            refine_intrinsics=True,
            is_scale_relative=True,
            may_climb=False,
            trust_radius=1e6,
            min_num_covered=200,
        ),
    )
    features = FeatureConfig(max_image_size=1200, max_num_features=4096)
    graph = GraphConfig(max_num_matches=150)
    # Whether a principal point may be free is told only by a model that has converged.
    mapping = MappingConfig(rounds, min_images_for_principal_point=None)
    return Config(features, MatchConfig(), PairConfig(), graph, AveragingConfig(), mapping)


def paper() -> Config:
    """The paper to the letter: one forward pass, 200 steps of fine-tuning, DLT, two rounds of robust adjustment."""
    huber = BundleRound(1e9, "huber", 0.1, 1e-4, 300, refine_intrinsics=True)
    rounds = (huber, BundleRound(5.0, "huber", 0.1, 1e-4, 300, refine_intrinsics=True))
    averaging = AveragingConfig(weights="paper", finetune_steps=200, robust=False)
    return Config(
        FeatureConfig(),
        MatchConfig(),
        PairConfig(),
        GraphConfig(),
        averaging,
        MappingConfig(
            rounds,
            min_angle_deg=0.0,
            reintegrate=None,
            scale_hanging_groups=False,
            tie_lenses=False,
            min_images_for_principal_point=None,
        ),
    )


PRESETS = {"default": default, "fast": fast, "paper": paper}
