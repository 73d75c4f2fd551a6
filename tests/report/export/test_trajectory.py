"""TUM trajectories: camera centres and orientations in the order of time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from tests.report.export.models import make_model
from vgpa.report.export.trajectory import tum_trajectory
from vgpa.scene import Reconstruction


def named(*names: str) -> Reconstruction:
    model, _ = make_model("PINHOLE")
    return replace(model, images=replace(model.images, names=names))


def rows(model: Reconstruction) -> np.ndarray:
    return np.array([line.split() for line in tum_trajectory(model).splitlines()[1:]], dtype=float)


def test_lines_hold_world_from_cam_with_w_last() -> None:
    model = named("f", "e", "d", "c", "b", "a")
    cams = model.poses.cam_from_world
    found = rows(model)
    np.testing.assert_array_equal(found[:, 0], range(6))
    np.testing.assert_allclose(found[:, 1:4], cams.centre[::-1], atol=1e-8)
    turned = Rotation.from_quat(found[:, 4:]).as_matrix()
    np.testing.assert_allclose(turned, cams.rotation[::-1].transpose(0, 2, 1), atol=1e-8)


def test_numbers_that_files_are_named_by_are_times() -> None:
    model = named("rgb/9.5.png", "rgb/10.25.png", "rgb/2.png", "rgb/1.png", "rgb/30.png", "rgb/4.png")
    found = rows(model)
    np.testing.assert_array_equal(found[:, 0], [1, 2, 4, 9.5, 10.25, 30])
    np.testing.assert_allclose(found[3, 1:4], model.poses.cam_from_world.centre[0], atol=1e-8)


def test_a_number_that_comes_twice_is_no_time() -> None:
    assert rows(named("a/1.png", "b/1.png", "a/2.png", "b/2.png", "a/3.png", "b/3.png"))[:, 0].tolist() == [*range(6)]


def test_images_without_a_pose_are_left_out() -> None:
    model, _ = make_model("PINHOLE")
    known = np.array([True, True, False, True, True, True])
    tracks = model.tracks.select_observations(known[model.tracks.image_idx])
    assert len(rows(replace(model, poses=model.poses.keep(known), tracks=tracks))) == 5
