"""What several models agree on: an image counts if another model has it in the same place, and none in another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import numpy as np

from tests.synthetic import make_problem
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import exp_quaternion, multiply
from vgpa.scene import Poses, Reconstruction, Tracks

NUM_IMAGES = 12


def model_of_truth() -> Reconstruction:
    """All cameras where they are; there are no points."""
    truth, nothing = make_problem(NUM_IMAGES, 20), np.zeros((0, 3))
    poses = Poses.of_all(truth.cam_from_world)
    return Reconstruction(truth.problem.images, poses, nothing, Tracks.empty(), np.zeros(0), nothing.astype(np.uint8))


def turned(model: Reconstruction, image_idx: int, angle_deg: float) -> Reconstruction:
    """The model with one camera turned where it stands."""
    poses = model.poses.cam_from_world
    turn, quaternion = exp_quaternion(np.radians([angle_deg, 0.0, 0.0])), poses.quaternion_wxyz.copy()
    quaternion[image_idx] = multiply(turn, quaternion[image_idx])
    return replace(model, poses=Poses.of_all(Rigid(quaternion, poses.translation)))


def test_an_image_counts_if_a_model_confirms_it_and_none_contradicts(script: Callable[[str], ModuleType]) -> None:
    consensus, model = script("consensus"), model_of_truth()
    contradicting = turned(model, 0, 4 * consensus.MAX_SPREAD_DEG)
    lacking = replace(model, poses=model.poses.keep(np.arange(NUM_IMAGES) != 1))

    assert consensus.confirmed_images(model, [model]).all()
    assert consensus.confirmed_images(model, [lacking, model]).all()
    assert np.flatnonzero(~consensus.confirmed_images(model, [lacking])).tolist() == [1]
    assert np.flatnonzero(~consensus.confirmed_images(model, [contradicting, model])).tolist() == [0]
