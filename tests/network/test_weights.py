"""Weights survive the disk, and files that are not weights are refused with a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from vgpa.errors import InputError
from vgpa.network.attention import AttentionConfig
from vgpa.network.posenet import PoseNet, PoseNetConfig
from vgpa.network.refine import RefineConfig
from vgpa.network.weights import KINDS, NetworkConfig, load_network, make_network, save_weights

CONFIGS = (
    PoseNetConfig(width=16, num_layers=2, dropout=0.3),
    AttentionConfig(width=16, num_layers=1, num_heads=2),
    RefineConfig(width=8, num_steps=2, num_iterations=3),
)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)
def test_round_trip_keeps_kind_config_and_answer(
    random_graph: Callable[..., Any], tmp_path: Path, config: NetworkConfig
) -> None:
    torch.manual_seed(0)
    net = make_network(config).eval()
    path = tmp_path / "folder" / "small.safetensors"
    save_weights(net, path)
    loaded = load_network(path)
    graph = random_graph(0)
    assert type(loaded) is type(net)
    assert loaded.config == config
    assert not loaded.training
    torch.testing.assert_close(loaded(graph.measured), net(graph.measured), atol=0, rtol=0)
    assert [file.name for file in path.parent.iterdir()] == ["small.safetensors"]


def test_every_kind_of_network_is_tried_here() -> None:
    assert {type(config) for config in CONFIGS} == {config_type for config_type, _ in KINDS.values()}


def test_shipped_weights_are_the_paper_network() -> None:
    net = load_network("paper")
    assert isinstance(net, PoseNet)
    assert net.config == PoseNetConfig()


@pytest.mark.parametrize("name", ["no_such_name", "no_such_file.safetensors", Path("nowhere")])
def test_unknown_weights_are_named(name: str | Path) -> None:
    with pytest.raises(InputError, match=str(name)):
        load_network(name)


@pytest.mark.parametrize("content", ["junk", "no_config", "no_such_kind", "bad_config", "other_shapes"])
def test_files_that_are_not_weights_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad.safetensors"
    metadata = {
        "no_config": None,
        "no_such_kind": {"kind": "oracle", "config": "{}"},
        "bad_config": {"kind": "paper", "config": '{"depth": 3}'},
        "other_shapes": {"kind": "paper", "config": '{"width": 8}'},
    }
    if content == "junk":
        path.write_bytes(b"not a safetensors file at all")
    else:
        save_file({"token": torch.zeros(4)}, path, metadata=metadata[content])
    with pytest.raises(InputError, match="does not hold the weights"):
        load_network(path)
