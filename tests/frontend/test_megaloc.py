"""Retrieval by MegaLoc: its interface with a small network of random weights, and what is said when it fails."""

from __future__ import annotations

import urllib.error
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from vgpa import config as presets
from vgpa.cli import run
from vgpa.config import PairConfig
from vgpa.errors import InputError
from vgpa.frontend.megaloc import IMAGENET_DEVIATION, IMAGENET_MEAN, SIDE_PX, describe_with_megaloc
from vgpa.frontend.pairs import choose_pairs
from vgpa.frontend.retrieval import nearest_pairs

NUM_PHOTOS = 10
"""More than one batch, and not a whole number of batches."""
NAMES = [f"photo{k}.jpg" for k in range(NUM_PHOTOS)]
COPY_OF = {"copy3.png": "photo3.jpg", "copy9.png": "photo9.jpg"}

HUBCONF = """
dependencies = ["torch"]
import torch

class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 14, stride=14), torch.nn.ReLU(), torch.nn.Dropout(), torch.nn.AdaptiveAvgPool2d(4),
            torch.nn.Flatten(), torch.nn.Linear(256, 48),
        )

    def forward(self, images):
        return ANSWER

def get_trained_model():
    return Network()
"""


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten photos of random blobs, and lossless copies of two of them under other names."""
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    for k, name in enumerate(NAMES):
        blobs = Image.fromarray(rng.integers(0, 255, (6, 8, 3)).astype(np.uint8))
        blobs.resize((320 + 40 * k, 240), Image.Resampling.BICUBIC).save(folder / name)
    for copy, name in COPY_OF.items():
        Image.open(folder / name).save(folder / copy)
    return folder


def write_hub(folder: Path, answer: str = "torch.nn.functional.normalize(self.layers(images))") -> str:
    """A clone of a hub repository with a network that gives this answer."""
    folder.mkdir(exist_ok=True)
    (folder / "hubconf.py").write_text(HUBCONF.replace("ANSWER", answer))
    return str(folder)


@pytest.fixture
def hub(tmp_path: Path) -> str:
    return write_hub(tmp_path / "hub")


@pytest.fixture
def offline_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty cache of a torch.hub that reaches no network."""

    def fail(*_: object, **__: object) -> None:
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(torch.hub, "urlopen", fail)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    (tmp_path / "hub").mkdir()
    return tmp_path / "hub"


def test_photos_become_unit_vectors_the_same_every_time(photos: Path, hub: str) -> None:
    first, second = (describe_with_megaloc(photos, NAMES, hub, "cpu") for _ in range(2))
    assert first.shape == (NUM_PHOTOS, 48)
    assert first.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1)
    np.testing.assert_array_equal(first, second)


def test_a_vector_depends_on_its_photo_alone(photos: Path, hub: str) -> None:
    together = describe_with_megaloc(photos, NAMES, hub, "auto")
    alone = describe_with_megaloc(photos, [NAMES[4]], hub, "auto")
    np.testing.assert_allclose(alone[0], together[4], atol=1e-5)


def test_copies_are_nearest_neighbours(photos: Path, hub: str) -> None:
    names = [*NAMES, *COPY_OF]
    pairs = nearest_pairs(describe_with_megaloc(photos, names, hub, "cpu"), top_k=1)
    assert {(names.index(name), names.index(copy)) for copy, name in COPY_OF.items()} <= set(pairs)


def test_the_network_sees_upright_normalised_photos(tmp_path: Path) -> None:
    """A network that answers with the means of the left and right halves of what it is shown."""
    hub = write_hub(tmp_path / "hub", f"torch.cat([h.mean((2, 3)) for h in images.split({SIDE_PX // 2}, 3)], dim=1)")
    pixels = np.zeros((200, 300, 3), dtype=np.uint8)
    pixels[:100] = (255, 0, 51)
    exif = Image.Exif()
    exif[0x0112] = 8  # The photo lies on its side: what is up in the file is left in the world.
    Image.fromarray(pixels).save(tmp_path / "a.png", exif=exif)
    shown = describe_with_megaloc(tmp_path, ["a.png"], hub, "cpu")[0]
    left, right = (np.array([1, 0, 0.2]) - IMAGENET_MEAN) / IMAGENET_DEVIATION, -IMAGENET_MEAN / IMAGENET_DEVIATION
    expected = np.concatenate([left, right])
    np.testing.assert_allclose(shown, expected / np.linalg.norm(expected), atol=0.01)


def test_pairs_are_chosen_by_it(photos: Path, hub: str) -> None:
    names = sorted([*NAMES, *COPY_OF])
    config = replace(presets.default(), pairs=PairConfig("retrieval", top_k=1, megaloc=hub))
    pairs = choose_pairs(photos / "no.db", photos, names, config)
    assert set(COPY_OF.items()) <= set(pairs)
    assert len(pairs) <= len(names)


def test_a_missing_folder_is_named(photos: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no hubconf.py in the MegaLoc folder '.*nowhere'.*Give the folder"):
        describe_with_megaloc(photos, NAMES, str(tmp_path / "nowhere"), "cpu")


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("images", r"8 photos with shape \(8, 3, 322, 322\)"),
        ("self.layers(images)[:1]", r"8 photos with shape \(1, 48\)"),
        ("(images, images)", "8 photos with tuple"),
        ("self.layers(images[:, :2])", "cannot describe photos: .*channels"),
    ],
)
def test_a_wrong_answer_is_shown(answer: str, found: str, photos: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{found}.*one vector per photo"):
        describe_with_megaloc(photos, NAMES, write_hub(tmp_path / "hub", answer), "cpu")


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import a_package_nobody_has", "'a_package_nobody_has'. Install the packages"),
        ("dependencies = ['a_package_nobody_has']", "Missing dependencies: a_package_nobody_has. Install"),
        ("x = 1", "Cannot find callable get_trained_model"),
        ("def get_trained_model():\n    return 3", "no attribute 'to'"),
    ],
)
def test_a_repository_that_does_not_load_says_why(code: str, found: str, photos: Path, tmp_path: Path) -> None:
    (tmp_path / "hubconf.py").write_text(code)
    with pytest.raises(InputError, match=found):
        describe_with_megaloc(photos, NAMES, str(tmp_path), "cpu")


def test_offline_the_hub_cannot_be_used(photos: Path, offline_cache: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be loaded from 'gmberton/MegaLoc'.*no internet.*Go online once"):
        describe_with_megaloc(photos, NAMES, "hub", "cpu")


def test_offline_the_hub_works_from_its_cache(
    photos: Path, offline_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_hub(offline_cache / "gmberton_MegaLoc_main")
    assert describe_with_megaloc(photos, NAMES[:2], "hub", "cpu").shape == (2, 48)
    assert capsys.readouterr().out == "", "standard output belongs to our own results"


def test_the_flag_reaches_it(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--pairs", "retrieval", "--megaloc", str(tmp_path / "nowhere"), "--preset", "fast"]
    assert run(["reconstruct", str(photos), "-o", str(tmp_path / "out"), *flags]) == 2
    assert "no hubconf.py in the MegaLoc folder" in capsys.readouterr().err
