"""Laws of the renderer: exact projection, exact coverage, the nearer surface wins, no aliasing."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import ExifTags, Image

from vgpa.demo.plan import Quad
from vgpa.demo.render import render_view, visible_surfaces, write_photos
from vgpa.demo.textures import pack_textures
from vgpa.demo.walk import DemoCameras, loop_cameras
from vgpa.demo.world import World

TEXELS_PER_M = 40.0


def flat_world(*sheets: tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]) -> World:
    """Rectangles (4, 3) in space, each with one picture whose row 0 lies on the first edge."""
    quads = tuple(Quad(corners, idx) for idx, (corners, _) in enumerate(sheets))
    affine = []
    for corners, _ in sheets:
        axes = np.stack([corners[1] - corners[0], corners[3] - corners[0]])
        axes *= TEXELS_PER_M / np.linalg.norm(axes, axis=1, keepdims=True)
        affine.append(np.column_stack([axes, -axes @ corners[0]]))
    textures = pack_textures([picture.transpose(2, 0, 1) for _, picture in sheets])
    return World(quads, np.stack(affine), textures, (0.0, 0.0, 0.0), seed=0)


def upright(depth: float, half_width: float, half_height: float) -> npt.NDArray[np.float64]:
    """A rectangle across the view of `ahead`, facing it; its first edge is the lower one."""
    x, y = half_width, half_height
    return np.array([(-x, y, depth), (x, y, depth), (x, -y, depth), (-x, -y, depth)], dtype=np.float64)


def plain(corners: npt.NDArray[np.float64], grey: int) -> npt.NDArray[np.uint8]:
    columns, rows = np.ceil(TEXELS_PER_M * np.linalg.norm(corners[[1, 3]] - corners[0], axis=1)).astype(int)
    return np.full((rows, columns, 3), grey, dtype=np.uint8)


def ahead(rotation: npt.NDArray[np.float64] | None = None) -> DemoCameras:
    """One camera at the origin, which looks along +z unless turned."""
    turn = np.eye(3) if rotation is None else rotation
    return DemoCameras(240, 160, 200.0, turn[None], np.zeros((1, 3)))


def turned(yaw_deg: float, roll_deg: float) -> npt.NDArray[np.float64]:
    yaw, roll = np.deg2rad([yaw_deg, roll_deg])
    about_y = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
    about_z = np.array([[np.cos(roll), -np.sin(roll), 0], [np.sin(roll), np.cos(roll), 0], [0, 0, 1]])
    return about_z @ about_y


def projection(cameras: DemoCameras, point: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    x, y, z = cameras.rotation[0] @ point + cameras.translation[0]
    return np.array([cameras.focal_px * x / z + cameras.width / 2, cameras.focal_px * y / z + cameras.height / 2])


@given(
    yaw_deg=st.floats(-20, 20),
    roll_deg=st.floats(-30, 30),
    slant_deg=st.floats(-60, 60),
    place=st.tuples(st.floats(0.05, 0.95), st.floats(0.05, 0.95)),
)
@settings(max_examples=50, deadline=None)
def test_a_projected_surface_point_maps_back_to_its_texel(
    yaw_deg: float, roll_deg: float, slant_deg: float, place: tuple[float, float]
) -> None:
    corners = upright(0.0, 1.0, 0.8) @ turned(slant_deg, 10.0).T + (0.2, -0.1, 6.0)
    world, cameras = flat_world((corners, plain(corners, 128))), ahead(turned(yaw_deg, roll_deg))
    point = corners[0] + place[0] * (corners[1] - corners[0]) + place[1] * (corners[3] - corners[0])
    _, texel_from_pixel = visible_surfaces(world, cameras, 0)
    column, row, inverse_depth = texel_from_pixel[0] @ (*projection(cameras, point), 1.0)
    expected = world.texel_from_world[0] @ (*point, 1.0)
    np.testing.assert_allclose([column / inverse_depth, row / inverse_depth], expected, atol=1e-6)
    assert inverse_depth == pytest.approx(1.0 / (cameras.rotation[0] @ point)[2])


def gaussian(columns: npt.NDArray[np.float64], rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return 250 * np.exp(-((columns - 50.3) ** 2 + (rows - 33.8) ** 2) / (2 * 5.0**2))


def centroid(photo: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    weight = np.where(photo > 125, photo - 125, 0.0)
    y, x = np.indices(photo.shape) + 0.5
    return np.array([(weight * x).sum(), (weight * y).sum()]) / weight.sum()


@pytest.mark.parametrize("slant_deg", [0.0, 35.0, -50.0])
@pytest.mark.parametrize("depth", [4.0, 9.0])
def test_a_painted_spot_appears_where_rays_through_the_pixels_meet_it(slant_deg: float, depth: float) -> None:
    corners = upright(0.0, 1.5, 1.0) @ turned(slant_deg, 5.0).T + (0.1, 0.05, depth)
    columns, rows = np.meshgrid(np.arange(120) + 0.5, np.arange(80) + 0.5)
    picture = np.repeat(gaussian(columns, rows)[..., None], 3, axis=2).round().astype(np.uint8)
    cameras = ahead(turned(3.0, 4.0))
    photo = render_view(flat_world((corners, picture)), cameras, 0)[..., 0].astype(np.float64)

    y, x = np.indices(photo.shape) + 0.5
    ray = np.stack([(x - 120) / 200, (y - 80) / 200, np.ones_like(x)], axis=-1) @ cameras.rotation[0]
    across, up = corners[1] - corners[0], corners[3] - corners[0]
    normal = np.cross(across, up)
    hit = ray * (normal @ corners[0] / (ray @ normal))[..., None] - corners[0]
    ideal = gaussian(hit @ across / (across @ across) * 120, hit @ up / (up @ up) * 80)
    np.testing.assert_allclose(centroid(photo), centroid(ideal), atol=0.03)


def test_brightness_adds_up_to_the_projected_area_without_bias() -> None:
    rng = np.random.default_rng(0)
    errors_px = []
    for angle_deg, size in zip(rng.uniform(0, 90, 40), rng.uniform(0.3, 1.2, 40), strict=True):
        corners = upright(5.0, size, 0.7 * size) @ turned(0.0, angle_deg).T
        photo = render_view(flat_world((corners, plain(corners, 255))), ahead(), 0)[..., 0].astype(np.float64)
        area_px = 4 * size * 0.7 * size * (200.0 / 5.0) ** 2
        perimeter_px = 4 * (size + 0.7 * size) * (200.0 / 5.0)
        covered_px = np.where(photo > 240, 255, np.where(photo > 10, photo, 0)).sum() / 255
        errors_px.append((covered_px - area_px) / perimeter_px)
    assert np.abs(errors_px).max() < 0.25, "an edge is off by more than half a sample"
    assert abs(np.mean(errors_px)) < 0.01, "quads are drawn too large or too small"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_nearer_surface_wins_in_any_order(order: tuple[int, int]) -> None:
    near, far = upright(3.0, 0.5, 0.5), upright(6.0, 3.0, 3.0)
    sheets = [(near, plain(near, 200)), (far, plain(far, 90))]
    photo = render_view(flat_world(*(sheets[k] for k in order)), ahead(), 0).astype(int)
    assert abs(photo[80, 120, 0] - 200) < 8, "the near sheet covers the middle"
    assert abs(photo[80, 20, 0] - 90) < 8, "the far sheet is seen beside it"


def test_surfaces_that_cross_hide_each_other_in_part() -> None:
    left = upright(0.0, 1.0, 1.0) @ turned(40.0, 0.0).T + (0, 0, 4.0)
    right = upright(0.0, 1.0, 1.0) @ turned(-40.0, 0.0).T + (0, 0, 4.0)
    surface, texel_from_pixel = visible_surfaces(
        flat_world((left, plain(left, 200)), (right, plain(right, 90))), ahead(), 0
    )
    for column in (85, 155):
        depths = 1.0 / (texel_from_pixel @ (column + 0.25, 80.25, 1.0))[:, 2]
        assert surface[160, 2 * column] == depths.argmin()
    assert surface[160, 170] != surface[160, 310]


def test_the_back_of_a_surface_is_invisible() -> None:
    corners = upright(4.0, 1.0, 1.0)
    assert render_view(flat_world((corners[::-1], plain(corners, 255))), ahead(), 0).max() < 10


def test_a_floor_that_runs_under_the_camera_reaches_the_lower_border_without_gaps() -> None:
    floor = np.array([(-9.0, 1.0, -5.0), (-9.0, 1.0, 30.0), (9.0, 1.0, 30.0), (9.0, 1.0, -5.0)])
    surface, _ = visible_surfaces(flat_world((floor[::-1], plain(floor, 90))), ahead(), 0)
    horizon_row = 2 * (80 + 200 * 1.0 / 30.0)
    assert (surface[: int(horizon_row) - 1] == -1).all()
    assert (surface[-100:] == 0).all()


def test_pieces_of_one_surface_join_without_cracks() -> None:
    whole = upright(5.0, 2.0, 1.5) @ turned(25.0, 13.0).T + (0, 0, 2.5)
    across, up = whole[1] - whole[0], whole[3] - whole[0]
    cuts = [0.0, 0.137, 0.5, 0.718, 1.0]
    pieces = [
        Quad(whole[0] + np.array([[a, c], [b, c], [b, d], [a, d]]) @ np.stack([across, up]), 0)
        for a, b in pairwise(cuts)
        for c, d in pairwise(cuts)
    ]
    world = flat_world((whole, plain(whole, 90)))
    cut = World(tuple(pieces), world.texel_from_world, world.textures, world.background, world.seed)
    np.testing.assert_array_equal(visible_surfaces(cut, ahead(), 0)[0], visible_surfaces(world, ahead(), 0)[0])


@pytest.mark.parametrize("slant_deg", [0.0, 70.0])
def test_detail_finer_than_a_pixel_turns_grey(slant_deg: float) -> None:
    corners = upright(0.0, 6.0, 6.0) @ turned(slant_deg, 20.0).T + (0, 0, 40.0)
    board = np.indices((480, 480)).sum(axis=0) % 2 * 255
    photo = render_view(flat_world((corners, np.repeat(board[..., None], 3, axis=2).astype(np.uint8))), ahead(), 0)
    middle = photo[72:88, 114:126, 0].astype(np.float64)
    assert middle.mean() == pytest.approx(127.5, abs=2.0)
    assert middle.std() < 4.0, "moire"


def test_views_repeat_exactly_and_differ_in_noise() -> None:
    corners = upright(5.0, 4.0, 4.0)
    world, one = flat_world((corners, plain(corners, 128))), ahead()
    both = DemoCameras(240, 160, 200.0, np.repeat(one.rotation, 2, 0), np.repeat(one.translation, 2, 0))
    np.testing.assert_array_equal(render_view(world, both, 0), render_view(world, both, 0))
    assert (render_view(world, both, 0) != render_view(world, both, 1)).any()


def test_photos_are_files_with_the_focal_length_a_camera_would_note(tmp_path: Path) -> None:
    corners = upright(40.0, 30.0, 30.0)
    world, true = flat_world((corners, plain(corners, 128))), loop_cameras(24, seed=0)
    cameras = DemoCameras(true.width, true.height, true.focal_px, np.eye(3)[None], np.zeros((1, 3)))
    names = write_photos(world, cameras, tmp_path / "images")
    assert names == ["view_000.jpg"]
    with Image.open(tmp_path / "images" / names[0]) as photo:
        details = photo.getexif().get_ifd(ExifTags.IFD.Exif)
        assert photo.size == (true.width, true.height)
    focal_px = details[ExifTags.Base.FocalLengthIn35mmFilm] * np.hypot(1200, 800) / np.hypot(36, 24)
    assert focal_px == pytest.approx(true.focal_px, rel=0.03)
