"""Real data: small files in the published layouts are read, and files that cannot be trusted are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.synthetic import FOCAL_PX, HEIGHT_PX, WIDTH_PX, make_problem
from vgpa.errors import InputError
from vgpa.geometry.torch_rotation import rotation_angle
from vgpa.train.kinds import KIND_NAMES
from vgpa.train.real import load_view_graph, load_view_graphs, save_view_graph
from vgpa.train.worlds import WorldBatch

NUM_IMAGES, NUM_POINTS = 5, 150
K = np.array([[FOCAL_PX, 0, WIDTH_PX / 2], [0, FOCAL_PX, HEIGHT_PX / 2], [0, 0, 1]])
TRUTH = make_problem(NUM_IMAGES, NUM_POINTS, noise_px=0.2)


def resfm_arrays() -> dict[str, np.ndarray]:
    """A scene in RESfM's layout; published files keep the names as Python objects."""
    xy_px = TRUTH.problem.keypoints.xy_px.reshape(NUM_IMAGES, NUM_POINTS, 2)
    pose = TRUTH.cam_from_world.matrix
    return {
        "M": xy_px.transpose(0, 2, 1).reshape(2 * NUM_IMAGES, NUM_POINTS),
        "Ns": np.tile(np.linalg.inv(K), (NUM_IMAGES, 1, 1)),
        "Ps_gt": K @ pose,
        "namesList": np.array([f"{k}.jpg" for k in range(NUM_IMAGES)], dtype=object),
    }


def megadepth_arrays() -> dict[str, np.ndarray]:
    """Five images, the last without a pose, and pairs of which one does not overlap and one is listed twice."""
    pose = np.tile(np.eye(4), (NUM_IMAGES, 1, 1))
    pose[:, :3] = TRUTH.cam_from_world.matrix
    pose[-1] = np.nan
    return {
        "poses": pose,
        "intrinsics": np.tile(K, (NUM_IMAGES, 1, 1)),
        "pair_infos": np.array([[0, 1], [2, 1], [1, 2], [2, 3], [0, 3], [0, 4]]),
        "overlaps": np.array([0.5, 0.4, 0.4, 0.3, 0.0, 0.4]),
    }


def rotation_errors_deg(worlds: WorldBatch) -> torch.Tensor:
    i, j = worlds.graph.edge_index
    true = worlds.cam_from_world[j] @ worlds.cam_from_world[i].mT
    return rotation_angle(true, worlds.graph.rotation).rad2deg()


def write(path: Path, arrays: dict[str, Any]) -> Path:
    np.savez(path, **arrays)
    return path


def test_resfm_tracks_become_relative_poses_beside_the_true_cameras(tmp_path: Path) -> None:
    worlds = load_view_graph(write(tmp_path / "scene.npz", resfm_arrays()))
    assert worlds.graph.num_cams == NUM_IMAGES
    assert worlds.graph.num_edges == NUM_IMAGES * (NUM_IMAGES - 1) // 2
    assert rotation_errors_deg(worlds).max() < 1
    assert not worlds.is_wrong.any()
    true_centre = torch.tensor(TRUTH.cam_from_world.centre, dtype=torch.float32)
    torch.testing.assert_close(worlds.centre, true_centre, atol=1e-3, rtol=0)
    assert [KIND_NAMES[k] for k in worlds.kind_idx.tolist()] == ["real"]


def test_resfm_without_truth(tmp_path: Path) -> None:
    arrays = resfm_arrays()
    del arrays["Ps_gt"]
    worlds = load_view_graph(write(tmp_path / "scene.npz", arrays))
    assert worlds.cam_from_world.isnan().all()
    assert not worlds.is_wrong.any()
    assert worlds.graph.rotation.isfinite().all()


def test_megadepth_pairs_get_simulated_measurements(tmp_path: Path) -> None:
    path = write(tmp_path / "0015.npz", megadepth_arrays())
    worlds = load_view_graph(path)
    assert worlds.graph.edge_index.tolist() == [[0, 1, 2], [1, 2, 3]]
    assert worlds.graph.num_cams == 4
    assert rotation_errors_deg(worlds)[~worlds.is_wrong].max() < 10
    assert worlds.graph.num_matches[0] > 50
    again = load_view_graph(path)
    torch.testing.assert_close(again.graph.rotation, worlds.graph.rotation, atol=0, rtol=0)


def test_an_overlap_matrix_will_do(tmp_path: Path) -> None:
    arrays = megadepth_arrays()
    del arrays["pair_infos"], arrays["overlaps"]
    worlds = load_view_graph(write(tmp_path / "0015.npz", {**arrays, "overlap_matrix": np.full((5, 5), 0.4)}))
    assert worlds.graph.num_edges == 6


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    worlds = load_view_graph(write(tmp_path / "0015.npz", megadepth_arrays()))
    save_view_graph(worlds, tmp_path / "saved.npz")
    again = load_view_graph(tmp_path / "saved.npz")
    for ours, theirs in ((worlds, again), (worlds.graph, again.graph)):
        for name, value in vars(ours).items():
            if isinstance(value, torch.Tensor):
                torch.testing.assert_close(getattr(theirs, name), value, atol=0, rtol=0)


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    write(tmp_path / "b.npz", megadepth_arrays())
    write(tmp_path / "a.npz", resfm_arrays())
    assert [worlds.graph.num_cams for worlds in load_view_graphs(tmp_path)] == [5, 4]


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({**megadepth_arrays(), "poses": np.array([None, None], dtype=object)}, "Python objects"),
        ({**megadepth_arrays(), "pair_infos": np.array([[((0, 1), 0.5)]], dtype=object)}, "Python objects"),
        ({**megadepth_arrays(), "pair_infos": np.array([[0, 9]] * 6)}, "beyond the 5"),
        ({**megadepth_arrays(), "overlaps": np.zeros(6)}, "no two images"),
        ({**megadepth_arrays(), "intrinsics": np.eye(3)}, "shape"),
        ({"something": np.zeros(3)}, "no view graph"),
    ],
)
def test_files_that_cannot_be_used_are_refused_in_one_sentence(
    tmp_path: Path, arrays: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        load_view_graph(write(tmp_path / "bad.npz", arrays))


def test_broken_files_and_empty_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no view graphs"):
        load_view_graphs(tmp_path)
    (tmp_path / "half.npz").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(InputError, match=r"half\.npz"):
        load_view_graphs(tmp_path)
