"""Laws of the demo world: flat well-painted quads, a closed walk around them, the same every time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgpa.demo import textures
from vgpa.demo import world as world_module
from vgpa.demo.render import visible_surfaces
from vgpa.demo.world import World, loop_cameras, make_world

walks = {"num_views": st.integers(24, 40), "seed": st.integers(0, 1000)}


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(seed=0)


def test_every_quad_is_flat_and_convex(world: World) -> None:
    corners = world.corners
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 3] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    off_plane = np.einsum("qi,qi->q", normal, corners[:, 2] - corners[:, 0])
    size = np.ptp(corners, axis=1).max(axis=1)
    assert (np.abs(off_plane) < 1e-9 * size).all()
    edge = np.roll(corners, -1, axis=1) - corners
    turn = np.einsum("qki,qi->qk", np.cross(edge, np.roll(edge, -1, axis=1)), normal)
    assert (turn > -1e-9 * size[:, None] ** 2).all(), "a quad turns back on itself"


def test_every_quad_lies_inside_its_own_texture(world: World) -> None:
    affine = world.texel_from_world[world.texture_idx]
    texel = np.einsum("qij,qkj->qki", affine[..., :3], world.corners) + affine[:, None, :, 3]
    size = np.stack([world.textures.columns[:, 0], world.textures.rows[:, 0]], axis=1)[world.texture_idx]
    assert (texel > -1e-3).all()
    assert (texel < size[:, None] + 1e-3).all()


def test_textures_are_not_stretched(world: World) -> None:
    axes = world.texel_from_world[..., :3]
    gram = axes @ axes.transpose(0, 2, 1)
    density = gram[:, 0, 0]
    np.testing.assert_allclose(gram / density[:, None, None], np.broadcast_to(np.eye(2), gram.shape), atol=1e-9)


def test_no_two_surfaces_share_a_picture(world: World) -> None:
    store = world.textures
    large = np.flatnonzero((store.rows[:, 0] > 16) & (store.columns[:, 0] > 16))
    starts = [store.texels[:, first : first + 256].tobytes() for first in store.first[large, 0]]
    assert len(set(starts)) == len(starts)


def test_the_same_seed_builds_the_same_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world_module, "_HOUSES", ())
    monkeypatch.setattr(world_module, "_add_grounds", lambda plan: None)
    monkeypatch.setattr(world_module, "_add_horizon", lambda plan: None)
    first, same, other = make_world(seed=3), make_world(seed=3), make_world(seed=4)
    np.testing.assert_array_equal(first.corners, same.corners)
    np.testing.assert_array_equal(first.textures.texels, same.textures.texels)
    assert (first.textures.texels != other.textures.texels).mean() > 0.9


@pytest.mark.parametrize("view_idx", [0, 8, 16, 24])
def test_a_view_sees_many_surfaces_in_several_depths(world: World, view_idx: int) -> None:
    surface, texel_from_pixel = visible_surfaces(world, loop_cameras(32, seed=0), view_idx)
    assert (surface < 0).mean() < 0.03, "only a strip of haze over the hills is empty"
    rows, columns = np.nonzero(surface[::8, ::8] >= 0)
    slopes = texel_from_pixel[surface[8 * rows, 8 * columns], 2]
    sample = np.stack([8 * columns + 0.5, 8 * rows + 0.5, np.full(len(rows), 2.0)], axis=1)
    depth_m = 2.0 / (slopes * sample).sum(axis=1)
    near, far = np.quantile(depth_m[depth_m < 100.0], [0.1, 0.9])
    assert near > 8.0, "nothing stands right before the camera"
    assert far > 1.5 * near
    assert len(np.unique(surface)) > 150


@given(**walks)
@settings(max_examples=30, deadline=None)
def test_cameras_are_proper_rotations_that_look_at_the_square(num_views: int, seed: int) -> None:
    cameras = loop_cameras(num_views, seed)
    identity = np.broadcast_to(np.eye(3), (num_views, 3, 3))
    np.testing.assert_allclose(cameras.rotation @ cameras.rotation.transpose(0, 2, 1), identity, atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(cameras.rotation), 1.0)
    fountain_cam = cameras.rotation @ (0.0, 0.0, 2.0) + cameras.translation
    pixel = fountain_cam @ cameras.pixel_from_cam.T
    pixel = pixel[:, :2] / pixel[:, 2:]
    assert (fountain_cam[:, 2] > 20.0).all(), "the fountain lies ahead"
    assert (np.abs(pixel - (600.0, 400.0)) < (200.0, 250.0)).all(), "and near the middle of the photo"
    up_in_cam = cameras.rotation[:, :, 2]
    assert (up_in_cam[:, 1] < -0.9).all(), "photos are upright"
    assert (np.abs(np.rad2deg(np.arctan2(up_in_cam[:, 0], -up_in_cam[:, 1]))) < 2.0).all(), "with a small roll"


@given(**walks)
@settings(max_examples=30, deadline=None)
def test_the_walk_is_a_closed_loop_of_even_steps(num_views: int, seed: int) -> None:
    cameras = loop_cameras(num_views, seed)
    centre = -np.einsum("nji,nj->ni", cameras.rotation, cameras.translation)
    step_m = np.linalg.norm(np.roll(centre, -1, axis=0) - centre, axis=1)
    assert step_m.max() < 1.6 * np.median(step_m)
    bearing_rad = np.unwrap(np.arctan2(centre[:, 1], centre[:, 0]))
    assert (np.diff(bearing_rad) > 0.0).all()


def test_cameras_repeat_by_seed() -> None:
    np.testing.assert_array_equal(loop_cameras(32, 5).rotation, loop_cameras(32, 5).rotation)
    assert (loop_cameras(32, 5).rotation != loop_cameras(32, 6).rotation).any()


PAINTS = {
    "plaster": textures.plaster((0.8, 0.7, 0.6)),
    "masonry": textures.masonry((0.8, 0.7, 0.6), 0.2, 0.4),
    "tiles": textures.tiles((0.8, 0.5, 0.4)),
    "planks": textures.planks((0.5, 0.4, 0.3)),
    "window_panes": textures.window_panes((0.8, 0.8, 0.8)),
    "mottled": textures.mottled((0.2, 0.3, 0.2), (0.5, 0.6, 0.4), 0.5),
}


@pytest.mark.parametrize("name", PAINTS)
def test_a_paint_repeats_by_seed_and_never_repeats_itself(name: str) -> None:
    first, same, other = (PAINTS[name](np.random.default_rng(seed), (96, 128), 60.0) for seed in (1, 1, 2))
    assert first.shape == (3, 96, 128)
    np.testing.assert_array_equal(first, same)
    grey, other_grey = first.mean(axis=0), other.mean(axis=0)
    assert grey.std() > 0.02, "too flat for features"
    assert np.corrcoef(grey.ravel(), other_grey.ravel())[0, 1] < 0.9


@given(size=st.tuples(st.integers(1, 70), st.integers(1, 70)), grey=st.integers(0, 255), level=st.floats(0, 9))
@settings(max_examples=40, deadline=None)
def test_a_plain_texture_reads_the_same_at_every_level(size: tuple[int, int], grey: int, level: float) -> None:
    decoy = np.full((3, 5, 5), 255 - grey, dtype=np.uint8)
    store = textures.pack_textures([decoy, np.full((3, *size), grey, dtype=np.uint8), decoy])
    texel = np.random.default_rng(0).uniform(-20, 90, (2, 50)).astype(np.float32)
    colour = textures.sample_textures(store, np.full(50, 1), texel, np.full(50, level, dtype=np.float32))
    np.testing.assert_allclose(colour, grey, atol=1e-2)


@given(level=st.integers(0, 3), slope=st.floats(0.5, 3.0))
@settings(max_examples=20, deadline=None)
def test_a_ramp_reads_exactly_at_every_level(level: int, slope: float) -> None:
    ramp = np.broadcast_to((np.arange(64) + 0.5) * slope, (3, 64, 64))
    store = textures.pack_textures([ramp.round().astype(np.uint8)])
    column = np.linspace(12.0, 52.0, 9).astype(np.float32)
    texel = np.stack([column, np.full(9, 30.0, dtype=np.float32)])
    colour = textures.sample_textures(store, np.zeros(9, dtype=int), texel, np.full(9, level, dtype=np.float32))
    np.testing.assert_allclose(colour, np.broadcast_to(slope * column, (3, 9)), atol=1.1)
