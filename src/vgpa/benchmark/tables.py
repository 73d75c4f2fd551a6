"""What each table of the paper shows: its metrics, the methods run for it by default, and how scenes are offered.

Nothing is computed here; the command line reads this to know which tables there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TableName = Literal[
    "megadepth",
    "onedsfm",
    "strecha_blendedmvs",
    "graph_density",
    "uncalibrated",
    "runtime",
    "reintegration",
    "ablation",
    "auc",
    "ra_auc",
]


@dataclass(frozen=True)
class Metric:
    """One column.

    Attributes:
        key: its name in records and in the paper's CSV files.
        title: its heading.
        num_digits: digits after the point.
        is_higher_better: whether the largest figure is the best.
    """

    key: str
    title: str
    num_digits: int
    is_higher_better: bool


@dataclass(frozen=True)
class Setup:
    """How every scene is offered to a method.

    Attributes:
        name: tells its records from others.
        label: what the table adds to the method's name.
        pairs: all verified pairs, or the nearest neighbours of each image.
        intrinsics: as the dataset has them (fixed where it knows them), the reference's and fixed, or unknown.
        reintegrate: False leaves lost images out, True places them again, None is the method's own habit.
    """

    name: str = "plain"
    label: str = ""
    pairs: Literal["all", "nearest"] = "all"
    intrinsics: Literal["dataset", "known", "estimated"] = "dataset"
    reintegrate: bool | None = None


@dataclass(frozen=True)
class Table:
    """One table of the paper.

    Attributes:
        name: what it is asked for by.
        title: what it shows.
        metrics: its columns.
        methods: what is run unless the user says otherwise.
        setups: every method is run once for each.
        notes: what differs from the paper, in protocol or in data.
        is_by_scene: every scene has rows of its own; otherwise only the mean of all scenes is shown.
    """

    name: TableName
    title: str
    metrics: tuple[Metric, ...]
    methods: tuple[str, ...]
    notes: tuple[str, ...]
    setups: tuple[Setup, ...] = (Setup(),)
    is_by_scene: bool = True


REGISTERED = Metric("registered", "registered", 0, True)
ERRORS = (
    REGISTERED,
    Metric("rotation_deg", "rotation (deg)", 3, False),
    Metric("translation", "translation", 4, False),
)
PROCESSOR = Metric("cpu_seconds", "CPU seconds", 1, False)
MAPPERS = ("default", "paper", "colmap", "glomap", "theia")
OURS = ("default", "paper")
NETWORKS = ("layers2", "attention", "pretrained", "random", "finetuned", "full", "averaged")


def _areas(kind: str, title: str) -> tuple[Metric, ...]:
    return tuple(Metric(f"{kind}{threshold}", f"{title}@{threshold}", 3, True) for threshold in (1, 5, 30))


_ERRORS = (
    "Rotation and translation are means over the registered images after a similarity alignment per scene; translation "
    "is in the units of each scene's own reference, so it compares with the paper's only where the reference is the "
    "same."
)
_LAST_ADJUSTMENT = (
    "The paper ends every method with its own robust bundle adjustment; here every mapper ends with its own."
)
_TIME = (
    "Seconds are wall time of a process of its own, its start included, from the database to the model on disk; the "
    "paper counts what follows its tracks: network, fine-tuning, triangulation and bundle adjustment. CPU seconds are "
    "processor time over all cores, which other work on the machine changes less."
)
_PAIRWISE = (
    "AUC is the exact area under the recall of max(rotation, direction) errors of all pairs, directions signed; the "
    "paper does not say whether it uses the exact area or a histogram."
)

_ALL = (
    Table("megadepth", "MegaDepth", ERRORS, MAPPERS, (_ERRORS, _LAST_ADJUSTMENT)),
    Table(
        "onedsfm",
        "1DSfM",
        ERRORS,
        MAPPERS,
        (
            _ERRORS,
            _LAST_ADJUSTMENT,
            "The paper's references are COLMAP models made by its authors; the dataset's own are Bundler models of "
            "another scale and of slightly different images, and its tracks are dirtier.",
        ),
    ),
    Table(
        "strecha_blendedmvs",
        "Strecha and BlendedMVS",
        (*ERRORS, Metric("seconds", "seconds", 1, False), PROCESSOR),
        MAPPERS,
        (_ERRORS, _LAST_ADJUSTMENT, _TIME),
    ),
    Table(
        "graph_density",
        "All pairs or the nearest neighbours of each image",
        ERRORS,
        OURS,
        (
            _ERRORS,
            "The paper retrieves 30 neighbours with MegaLoc; here they are retrieved by the images' own features where "
            "the database has descriptors, and are those with the most verified matches where it has none.",
        ),
        (Setup(label="all pairs"), Setup("nearest", "nearest neighbours", pairs="nearest")),
    ),
    Table(
        "uncalibrated",
        "Known or estimated intrinsics",
        ERRORS,
        OURS,
        (
            _ERRORS,
            "Known: the reference's intrinsics, held fixed. Estimated: a focal length of 1.2 times the longer side to "
            "start with, every pair verified anew without knowing it, and intrinsics refined.",
        ),
        (
            Setup("known", "known intrinsics", intrinsics="known"),
            Setup("estimated", "estimated intrinsics", intrinsics="estimated"),
        ),
    ),
    Table(
        "runtime",
        "Runtime",
        (
            Metric("minutes", "minutes", 2, False),
            REGISTERED,
            Metric("registered_per_minute", "registered / minute", 1, True),
            PROCESSOR,
        ),
        MAPPERS,
        (_TIME,),
    ),
    Table(
        "reintegration",
        "Without and with re-integration of lost images",
        ERRORS,
        OURS,
        (
            _ERRORS,
            "Unlike the paper's, our re-integration takes an image back only if its pose agrees with the view graph. "
            "The preset `paper` has none of its own: `vgpa register` adds images to its model.",
        ),
        (
            Setup("lost", "without re-integration", reintegrate=False),
            Setup("reintegrated", "with re-integration", reintegrate=True),
        ),
    ),
    Table(
        "ablation",
        "Ablation: AUC@30 before bundle adjustment",
        tuple(Metric(f"{kind}_auc30", f"{kind} AUC@30", 3, True) for kind in ("rotation", "translation", "pose")),
        NETWORKS,
        (
            "The paper's figures are on its validation scenes, ours are means over the scenes of this folder. Our "
            "networks are trained on generated view graphs.",
        ),
        is_by_scene=False,
    ),
    Table("auc", "AUC over registered images", (REGISTERED, *_areas("auc", "AUC")), MAPPERS, (_PAIRWISE,)),
    Table(
        "ra_auc",
        "Registration-aware AUC, over all images",
        (REGISTERED, *_areas("ra_auc", "RA-AUC")),
        MAPPERS,
        (_PAIRWISE,),
    ),
)
TABLES: dict[str, Table] = {table.name: table for table in _ALL}
