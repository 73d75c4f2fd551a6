"""Laws of the demo world: flat well-painted quads in several depths, the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from vgpa.demo.paints import masonry, plaster
from vgpa.demo.plan import Plan
from vgpa.demo.render import visible_surfaces
from vgpa.demo.walk import loop_cameras
from vgpa.demo.world import World, paint_world


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


def test_the_same_seed_paints_the_same_world() -> None:
    plan = Plan()
    plan.block((0, 0, 0), (3, 2, 4), masonry((0.7, 0.6, 0.5), 0.3, 0.5))
    plan.at(6, 0).block((0, 0, 0), (3, 2, 4), plaster((0.7, 0.6, 0.5)))
    first, same, other = (paint_world(plan, seed) for seed in (3, 3, 4))
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
