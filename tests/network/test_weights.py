"""Weights survive the disk, and files that are not weights are refused with a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from vgpa.errors import InputError
from vgpa.network.posenet import PoseNet, PoseNetConfig
from vgpa.network.weights import load_posenet, save_weights


def test_round_trip_keeps_config_and_answer(random_graph: Callable[..., Any], tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = PoseNet(PoseNetConfig(width=16, num_layers=2, dropout=0.3)).eval()
    path = tmp_path / "folder" / "small.safetensors"
    save_weights(net, path)
    loaded = load_posenet(path)
    graph = random_graph(0)
    assert loaded.config == net.config
    assert not loaded.training
    torch.testing.assert_close(loaded(graph.measured), net(graph.measured), atol=0, rtol=0)
    assert [file.name for file in path.parent.iterdir()] == ["small.safetensors"]


def test_shipped_weights_are_the_paper_network() -> None:
    assert load_posenet().config == PoseNetConfig()


@pytest.mark.parametrize("name", ["no_such_name", "no_such_file.safetensors", Path("nowhere")])
def test_unknown_weights_are_named(name: str | Path) -> None:
    with pytest.raises(InputError, match=str(name)):
        load_posenet(name)


@pytest.mark.parametrize("content", ["junk", "no_config", "bad_config", "other_shapes"])
def test_files_that_are_not_weights_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad.safetensors"
    metadata = {
        "no_config": None,
        "bad_config": {"config": '{"depth": 3}'},
        "other_shapes": {"config": '{"width": 8}'},
    }
    if content == "junk":
        path.write_bytes(b"not a safetensors file at all")
    else:
        save_file({"token": torch.zeros(4)}, path, metadata=metadata[content])
    with pytest.raises(InputError, match="does not hold the weights"):
        load_posenet(path)
