"""Mistakes and noise of edges: the other solution of a flat scene, the turn of a wrong focal length, plain noise."""

from __future__ import annotations

from dataclasses import replace
from math import radians

import pytest
import torch
from torch.nn.functional import normalize

from vgpa.geometry.torch_rotation import direction_angle, exp_map, rotation_angle
from vgpa.train.draw import Draw
from vgpa.train.measuring import Mistakes, SeenPairs, draw_noise, edge_std_rad, flat_twin, measure_edges

NUM = 2000
NONE = Mistakes(*(torch.zeros(NUM, dtype=torch.bool) for _ in range(3)))


def draw_of(seed: int) -> Draw:
    return Draw(torch.Generator().manual_seed(seed))


def sideways_pairs(std_rad: float = 1e-6) -> SeenPairs:
    """Two cameras side by side that look the same way, ten metres from what they see."""
    identity = torch.eye(3).expand(NUM, 3, 3)
    return SeenPairs(
        rotation_i=identity,
        rotation_j=identity,
        offset=torch.tensor([-2.0, 0.0, 0.0]).expand(NUM, 3),
        distance=torch.full((NUM,), 10.0),
        parallax_rad=torch.full((NUM,), radians(11.4)),
        rotation_std_rad=torch.full((NUM,), std_rad),
        focal_error=torch.zeros(NUM),
    )


def test_the_twin_of_a_flat_scene_has_the_same_homography() -> None:
    draw = draw_of(0)
    rotation, translation = exp_map(draw.normal(0.5, NUM, 3)), draw.normal(1.0, NUM, 3)
    normal = normalize(draw.normal(0.3, NUM, 3) + torch.tensor([0.0, 0.0, 1.0]), dim=-1)
    twin, twin_translation = flat_twin(rotation, translation, normal)
    torch.testing.assert_close(twin @ twin.mT, torch.eye(3).expand_as(twin), atol=1e-5, rtol=0)
    torch.testing.assert_close(torch.linalg.det(twin), torch.ones(NUM), atol=1e-4, rtol=0)
    # What is left of the homography is again a translation times a normal: its rows and columns are parallel to them.
    rest = rotation + translation[:, :, None] * normal[:, None] - twin
    across = torch.linalg.cross(rest, twin_translation[:, :, None].expand_as(rest), dim=1)
    torch.testing.assert_close(across, torch.zeros_like(across), atol=1e-4, rtol=0)
    assert rotation_angle(rotation, twin).median() > 0.3, "it is another motion"


def test_no_noise_no_error() -> None:
    measured = measure_edges(draw_of(1), sideways_pairs(), NONE)
    torch.testing.assert_close(measured.rotation, torch.eye(3).expand(NUM, 3, 3), atol=1e-4, rtol=0)
    torch.testing.assert_close(measured.direction, torch.tensor([-1.0, 0.0, 0.0]).expand(NUM, 3), atol=1e-4, rtol=0)


def test_a_wrong_focal_length_turns_all_edges_the_same_way() -> None:
    pairs = replace(sideways_pairs(), focal_error=torch.full((NUM,), 0.1))
    measured = measure_edges(draw_of(2), pairs, NONE)
    turn = exp_map(torch.tensor([0.0, radians(1.14), 0.0]))
    torch.testing.assert_close(measured.rotation, turn.expand(NUM, 3, 3), atol=1e-4, rtol=0)


def test_noise_is_as_large_as_it_says() -> None:
    measured = measure_edges(draw_of(3), sideways_pairs(radians(1.0)), NONE)
    # The length of a normal vector with unit variance per axis has the median 1.538.
    error = rotation_angle(measured.rotation, torch.eye(3)).rad2deg().median()
    assert float(error) == pytest.approx(1.538, rel=0.1)
    direction_error = direction_angle(measured.direction, torch.tensor([-1.0, 0.0, 0.0])).rad2deg().median()
    assert direction_error > 2 * error, "a short baseline says little about the direction"


def test_more_matches_less_noise() -> None:
    draw = draw_of(4)
    noise = draw_noise(draw, 1, 5)
    few, many = (edge_std_rad(draw, noise, torch.zeros(NUM).long(), torch.full((NUM,), n)) for n in (40.0, 4000.0))
    ratio = float(few.median() / many.median())
    assert 8 < ratio < 130, "between the square root of the matches and the matches"


def test_nonsense_is_far_from_the_truth() -> None:
    measured = measure_edges(draw_of(5), sideways_pairs(), replace(NONE, is_nonsense=~NONE.is_nonsense))
    assert rotation_angle(measured.rotation, torch.eye(3)).rad2deg().quantile(0.05) > 10


def test_a_lost_direction_leaves_the_rotation() -> None:
    measured = measure_edges(draw_of(6), sideways_pairs(), replace(NONE, is_lost=~NONE.is_lost))
    torch.testing.assert_close(measured.rotation, torch.eye(3).expand(NUM, 3, 3), atol=1e-4, rtol=0)
    assert direction_angle(measured.direction, torch.tensor([-1.0, 0.0, 0.0])).rad2deg().median() > 45
