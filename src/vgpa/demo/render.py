"""Photos of the demo world: a small exact renderer, and the writer of the image files.

A view is made in two steps. *Visibility*: every quad that faces the camera is clipped, projected
and drawn into a z-buffer of 2 x 2 samples a pixel, which keeps the nearest surface. *Colour*: each
pixel is carried back onto its surface by a homography and reads the texture there, as sharp as one
pixel can see it. Nothing is approximated in the geometry, so a world point appears exactly at its
pinhole projection; the centre of the first pixel is (0.5, 0.5).

The photos are JPEG files with the EXIF a camera would write. Reads the world, writes only `folder`.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import ExifTags, Image

from vgpa.demo.textures import sample_textures
from vgpa.demo.walk import DemoCameras
from vgpa.demo.world import World
from vgpa.stages import advance

FloatArray = npt.NDArray[np.float64]

NEAR_M = 0.1
SAMPLES = 2  # per pixel side
MAX_PROBES = 4  # texture readings along a stretched pixel footprint
NOISE_GREY_LEVELS = 1.2
CHUNK = 32768  # pixels coloured at a time, few enough to stay in the processor's cache


def render_view(world: World, cameras: DemoCameras, view_idx: int) -> npt.NDArray[np.uint8]:
    """The photo (height, width, 3) that camera `view_idx` takes; the same one every time."""
    surface, texel_from_pixel = visible_surfaces(world, cameras, view_idx)
    height, width = cameras.height, cameras.width
    grid = surface.reshape(height, SAMPLES, width, SAMPLES)
    samples = grid.transpose(0, 2, 1, 3).reshape(height * width, SAMPLES**2)
    edges = np.flatnonzero((samples[:, 1:] != samples[:, :1]).any(axis=1))

    photo = np.empty((height * width, 3), dtype=np.float32)
    for start in range(0, height * width, CHUNK):
        chunk = np.arange(start, min(start + CHUNK, height * width))
        pixel = np.array([chunk % width, chunk // width], dtype=np.float64) + 0.5
        photo[chunk] = _colour(world, texel_from_pixel, samples[chunk, 0], pixel)
    for chunk in np.array_split(edges, len(edges) // CHUNK + 1):
        photo[chunk] = 0.0
        for sample_idx, (down, right) in enumerate(np.ndindex(SAMPLES, SAMPLES)):
            corner = np.stack([chunk % width, chunk // width])
            pixel = corner + (np.array([[right], [down]]) + 0.5) / SAMPLES
            seen = samples[chunk, sample_idx]
            photo[chunk] += _colour(world, texel_from_pixel, seen, pixel) / SAMPLES**2
    rng = np.random.default_rng([world.seed, view_idx])
    photo += NOISE_GREY_LEVELS * rng.standard_normal((height * width, 1), dtype=np.float32)
    return np.clip(photo + 0.5, 0, 255).astype(np.uint8).reshape(height, width, 3)


def write_photos(world: World, cameras: DemoCameras, folder: Path) -> list[str]:
    """Render every view into `folder` as view_000.jpg, view_001.jpg, ...; returns the names."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"view_{view_idx:03d}.jpg" for view_idx in range(len(cameras.rotation))]
    exif = _exif(cameras).tobytes()
    for view_idx, name in enumerate(names):
        photo = Image.fromarray(render_view(world, cameras, view_idx))
        photo.save(folder / name, quality=95, subsampling=0, exif=exif)
        advance(view_idx + 1, len(names))
    return names


def visible_surfaces(world: World, cameras: DemoCameras, view_idx: int) -> tuple[npt.NDArray[np.int16], FloatArray]:
    """What each sample of a view sees, and the way back from pixels to texels.

    Returns the texture index (or -1 for nothing) of every sample, (2 height, 2 width), and the
    homographies texel_from_pixel (T, 3, 3): texture coordinates are (column, row) in texels, and
    the third homogeneous coordinate is the inverse depth 1/z.
    """
    rotation, translation = cameras.rotation[view_idx], cameras.translation[view_idx]
    corners = world.corners @ rotation.T + translation
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 3] - corners[:, 0])
    plane_distance = np.einsum("qi,qi->q", normal, corners[:, 0])
    is_seen = (plane_distance < 0.0) & _is_in_view(corners @ cameras.pixel_from_cam.T, cameras)
    corners, texture_idx = corners[is_seen], world.texture_idx[is_seen]
    ray_from_pixel = np.linalg.inv(cameras.pixel_from_cam)
    inverse_depth = (normal[is_seen] / plane_distance[is_seen, None]) @ ray_from_pixel

    surface = np.full((SAMPLES * cameras.height, SAMPLES * cameras.width), -1, dtype=np.int16)
    nearness = np.zeros(surface.shape, dtype=np.float32)
    for quad, slopes, texture in zip(corners, inverse_depth, texture_idx, strict=True):
        projected = _clip_near(quad) @ cameras.pixel_from_cam.T
        outline = SAMPLES * projected[:, :2] / projected[:, 2:]
        _draw((surface, nearness), outline, slopes / (SAMPLES, SAMPLES, 1.0), int(texture))

    # In texels a surface point is A x_cam + b, and x_cam = ray / inverse depth: a homography.
    texel_from_cam = world.texel_from_world[texture_idx, :, :3] @ rotation.T
    offset = world.texel_from_world[texture_idx, :, 3] - texel_from_cam @ translation
    texel_from_pixel = np.zeros((len(world.texel_from_world), 3, 3))
    texel_from_pixel[texture_idx, :2] = texel_from_cam @ ray_from_pixel
    texel_from_pixel[texture_idx, :2] += offset[..., None] * inverse_depth[:, None]
    texel_from_pixel[texture_idx, 2] = inverse_depth
    return surface, texel_from_pixel


# --------------------------------------------------------------------------------------- drawing


def _is_in_view(projected: FloatArray, cameras: DemoCameras) -> npt.NDArray[np.bool_]:
    """False where homogeneous pixels (Q, 4, 3) lie all beyond the same side of the image."""
    x, y, depth = projected[..., 0], projected[..., 1], projected[..., 2]
    right, bottom = x - cameras.width * depth, y - cameras.height * depth
    beyond = np.stack([x < 0, y < 0, right > 0, bottom > 0, depth < NEAR_M])
    return np.logical_not(beyond.all(axis=2).any(axis=0))


def _clip_near(polygon: FloatArray) -> FloatArray:
    """The part (K, 3) of a convex polygon beyond the near plane z = NEAR_M."""
    depth = polygon[:, 2] - NEAR_M
    if (depth >= 0.0).all():
        return polygon
    kept = []
    for start, end in zip(range(len(polygon)), np.roll(np.arange(len(polygon)), -1), strict=True):
        if depth[start] >= 0.0:
            kept.append(polygon[start])
        if depth[start] * depth[end] < 0.0:
            step = depth[start] / (depth[start] - depth[end])
            kept.append(polygon[start] + step * (polygon[end] - polygon[start]))
    return np.array(kept)


def _draw(
    buffers: tuple[npt.NDArray[np.int16], npt.NDArray[np.float32]],
    polygon: FloatArray,
    nearness_from_sample: FloatArray,
    texture_idx: int,
) -> None:
    """Draw a convex polygon (K, 2), in samples, into the (surface, nearness) buffers.

    Nearness (inverse depth) is affine over the image: `nearness_from_sample` @ (x, y, 1).
    """
    surface, nearness = buffers
    low, high = polygon[:, 1].min(), polygon[:, 1].max()
    y = np.arange(max(math.ceil(low - 0.5), 0), min(math.floor(high + 0.5), len(surface))) + 0.5
    if not y.size:
        return
    first, last = _spans(polygon, y)
    left, right = max(int(first.min()), 0), min(int(last.max()) + 1, surface.shape[1])
    if left >= right:
        return
    columns = np.arange(left, right, dtype=np.float32)
    slope_x, slope_y, constant = nearness_from_sample
    along_y = (slope_y * y + (slope_x * (left + 0.5) + constant)).astype(np.float32)
    candidate = along_y[:, None] + np.float32(slope_x) * (columns - left)
    window = slice(int(y[0]), int(y[-1]) + 1), slice(left, right)
    is_nearest = candidate > nearness[window]
    is_nearest &= columns >= first[:, None]
    is_nearest &= columns <= last[:, None]
    np.copyto(nearness[window], candidate, where=is_nearest)
    surface[window][is_nearest] = texture_idx


def _spans(polygon: FloatArray, y: FloatArray) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """First and last sample column inside a convex polygon on each line y (R,)."""
    start, end = polygon, polygon[np.arange(1, len(polygon) + 1) % len(polygon)]
    is_level = start[:, 1] == end[:, 1]
    start, end = start[~is_level, :, None], end[~is_level, :, None]
    crosses = (y - start[:, 1]) * (y - end[:, 1]) <= 1e-9
    slope = (end[:, 0] - start[:, 0]) / (end[:, 1] - start[:, 1])
    x = start[:, 0] + slope * (y - start[:, 1])
    # Samples on a shared border belong to both neighbours, so that no crack opens between them.
    first = np.ceil(np.where(crosses, x, np.inf).min(axis=0) - 0.5 - 1e-6)
    last = np.floor(np.where(crosses, x, -np.inf).max(axis=0) - 0.5 + 1e-6)
    return first.clip(-1e6, 1e6).astype(np.float32), last.clip(-1e6, 1e6).astype(np.float32)


# --------------------------------------------------------------------------------------- colour


def _colour(
    world: World,
    texel_from_pixel: FloatArray,
    surface: npt.NDArray[np.int16],
    pixel: FloatArray,
) -> npt.NDArray[np.float32]:
    """Colour (N, 3) in 0..255 of surfaces (N,) seen at pixels (2, N), filtered over one pixel.

    The footprint of a pixel on a slanted surface is long and narrow. Its short side sets the mip
    level, and several readings are spread along its long side.
    """
    colour = np.empty((len(surface), 3), dtype=np.float32)
    colour[:] = world.background
    hit = np.flatnonzero(surface >= 0)
    texture_idx = surface[hit].astype(np.int32)
    texel, step_x, step_y = _footprint(texel_from_pixel, texture_idx, pixel[:, hit])
    length_x, length_y = np.hypot(*step_x), np.hypot(*step_y)
    long_step = np.where(length_x > length_y, step_x, step_y)
    long_side = np.maximum(length_x, length_y)
    short_side = np.maximum(np.minimum(length_x, length_y), long_side / MAX_PROBES)
    short_side = np.maximum(short_side, 1.0)  # a texel is the sharpest there is
    level = np.log2(short_side)
    num_probes = np.ceil(long_side / short_side - 0.25).clip(1, MAX_PROBES)
    for count in range(1, MAX_PROBES + 1):
        chosen = np.flatnonzero(num_probes == count)
        total = np.zeros((3, len(chosen)), dtype=np.float32)
        for probe in range(count):
            place = texel[:, chosen] + ((probe + 0.5) / count - 0.5) * long_step[:, chosen]
            total += sample_textures(world.textures, texture_idx[chosen], place, level[chosen])
        colour[hit[chosen]] = total.T / np.float32(count)
    return colour


def _footprint(
    texel_from_pixel: FloatArray, texture_idx: npt.NDArray[np.int32], pixel: FloatArray
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Texel (2, N) under each pixel (2, N), and how it moves (2, N) per pixel in x and in y."""
    table = np.ascontiguousarray(texel_from_pixel.reshape(-1, 9).T)
    homography = table.take(texture_idx, axis=1)
    by_x, by_y, constant = homography[0::3], homography[1::3], homography[2::3]
    homogeneous = by_x * pixel[0] + by_y * pixel[1] + constant
    texel = homogeneous[:2] / homogeneous[2]
    step_x = (by_x[:2] - texel * by_x[2]) / homogeneous[2]
    step_y = (by_y[:2] - texel * by_y[2]) / homogeneous[2]
    return texel.astype(np.float32), step_x.astype(np.float32), step_y.astype(np.float32)


def _exif(cameras: DemoCameras) -> Image.Exif:
    """What the camera notes in its files: a maker, a model, and a focal length in whole mm."""
    exif = Image.Exif()
    exif[ExifTags.Base.Make] = "VGPA"
    exif[ExifTags.Base.Model] = "Demo camera"
    diagonal_px = np.hypot(cameras.width, cameras.height)
    focal_35mm = round(float(cameras.focal_px * np.hypot(36.0, 24.0) / diagonal_px))
    details = exif.get_ifd(ExifTags.IFD.Exif)
    details[ExifTags.Base.FocalLengthIn35mmFilm] = focal_35mm
    return exif
