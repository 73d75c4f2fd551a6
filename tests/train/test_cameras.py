"""Real cameras: read from files, set upright, and what they see is where they look."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from vgpa.errors import InputError
from vgpa.train.cameras import TRAINING_SCENES, draw_subsets, find_training_cameras, lay_out, load_cameras
from vgpa.train.covisibility import find_visible
from vgpa.train.draw import Draw
from vgpa.train.kinds import KIND_NAMES
from vgpa.train.worlds import WorldOptions, make_worlds

CPU = torch.device("cpu")
RADIUS = 5.0


def write_ring(path: Path, num: int) -> Path:
    """Cameras in a circle that all look at its centre, held upright in a world where y points down."""
    angle = np.linspace(0, 2 * np.pi, num, endpoint=False)
    forward = np.stack([np.cos(angle), np.zeros(num), np.sin(angle)], axis=-1)
    down = np.broadcast_to([0.0, 1.0, 0.0], (num, 3))
    rotation = np.stack([np.cross(down, forward), down, forward], axis=1)
    world_to_cam = np.tile(np.eye(4), (num, 1, 1))
    world_to_cam[:, :3, :3] = rotation
    world_to_cam[:, :3, 3] = np.einsum("nab,nb->na", rotation, RADIUS * forward)
    calibration = np.tile(np.array([[1000.0, 0, 500], [0, 1000, 400], [0, 0, 1]]), (num, 1, 1))
    np.savez(path, T_w2c=world_to_cam, K=calibration)
    return path


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    return write_ring(tmp_path / "ring.npz", 60)


def test_cameras_are_upright_and_know_how_far_away_things_are(ring: Path) -> None:
    cameras = load_cameras((ring,), CPU)
    torch.testing.assert_close(cameras.distance, torch.full((60,), 10.0))
    torch.testing.assert_close(cameras.centre.norm(dim=-1), torch.full((60,), 10.0))
    torch.testing.assert_close(cameras.cam_from_world[:, 1], torch.tensor([0.0, 0.0, -1.0]).expand(60, 3))
    inward = -cameras.centre / 10
    torch.testing.assert_close(cameras.cam_from_world[:, 2], inward, atol=1e-5, rtol=0)
    torch.testing.assert_close(cameras.half_size, torch.tensor([0.5, 0.4]).expand(60, 2))


def test_a_camera_sees_what_it_shows_and_what_its_neighbours_show(ring: Path) -> None:
    cameras = load_cameras((ring,), CPU)
    draw = Draw(torch.Generator().manual_seed(0))
    everyone = torch.arange(60)[None]
    layout = lay_out(draw, cameras, everyone, torch.tensor([[60]]), 600)
    visible = find_visible(layout)[0]
    common = visible @ visible.T
    one_on, far_on = torch.arange(60).roll(-1), torch.arange(60).roll(-30)
    assert visible.sum(-1).min() > 10
    assert common[torch.arange(60), one_on].mean() > 3 * common[torch.arange(60), far_on].mean()


def test_subsets_are_of_one_collection(tmp_path: Path) -> None:
    paths = (write_ring(tmp_path / "a.npz", 30), write_ring(tmp_path / "b.npz", 50))
    cameras = load_cameras(paths, CPU)
    assert cameras.set_size.tolist() == [30, 50]
    subsets = draw_subsets(Draw(torch.Generator().manual_seed(1)), cameras, 40, 20)
    is_second = subsets >= 30
    assert (is_second.all(1) | ~is_second.any(1)).all()
    assert 0 < is_second.any(1).sum() < 40, "both collections are used"
    assert all(len(set(row)) == 20 for row in subsets.tolist())


def test_worlds_of_real_cameras(ring: Path) -> None:
    options = WorldOptions(num_cams=(20, 40), small_part=0.0, num_points=300, kinds=(), cameras=(ring,))
    worlds = make_worlds(4, torch.Generator().manual_seed(0), options)
    assert {KIND_NAMES[k] for k in worlds.kind_idx.tolist()} == {"cameras"}
    torch.testing.assert_close(worlds.centre.norm(dim=-1), torch.full((len(worlds.centre),), 10.0))
    assert worlds.graph.num_edges > worlds.graph.num_cams

    mixed = make_worlds(10, torch.Generator().manual_seed(0), WorldOptions(cameras=(ring,), num_points=300))
    assert mixed.kind_idx.bincount()[KIND_NAMES.index("cameras")] == 2


def test_only_training_scenes_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "cameras"
    folder.mkdir(parents=True)
    for scene in (*TRAINING_SCENES[:2], "0019", "1589"):
        (folder / f"megadepth_{scene}.npz").touch()
    names = [path.name for path in find_training_cameras(tmp_path)]
    assert names == [f"megadepth_{scene}.npz" for scene in TRAINING_SCENES[:2]]


def test_files_that_cannot_be_used_are_refused_in_one_sentence(tmp_path: Path) -> None:
    pickled, short, absent = tmp_path / "pickled.npz", tmp_path / "short.npz", tmp_path / "absent.npz"
    np.savez(pickled, T_w2c=np.array([{}], dtype=object), K=np.eye(3)[None])
    np.savez(short, T_w2c=np.eye(4)[None], K=np.eye(3)[None])
    for path in (pickled, short, absent):
        with pytest.raises(InputError, match=path.name):
            load_cameras((path,), CPU)
