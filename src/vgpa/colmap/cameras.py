"""Cameras across the border: our `Camera` to pycolmap's and back, and pixels to rays and back for many at once."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pycolmap
from numpy.typing import NDArray

from vgpa.errors import InputError
from vgpa.geometry.rotation import FloatArray, normalize
from vgpa.scene import Camera, FocalSource, ImageSet, Problem

GUESSED_FOCAL = 1.2
"""Focal length of a camera nobody knows anything about, in longer image sides."""
MAX_SKEW = 1e-3
"""Part by which the focal lengths along both axes may differ where pixels are square."""


def to_pycolmap(camera: Camera, camera_id: int) -> pycolmap.Camera:
    """pycolmap's camera with the same model, size and parameters."""
    result = pycolmap.Camera(
        model=camera.model,
        width=camera.width_px,
        height=camera.height_px,
        params=camera.params,
        camera_id=camera_id,
    )
    result.has_prior_focal_length = camera.focal_source is not FocalSource.GUESS
    return result


def from_pycolmap(camera: pycolmap.Camera) -> Camera:
    """Our camera with the same model, size and parameters."""
    source = FocalSource.PRIOR if camera.has_prior_focal_length else FocalSource.GUESS
    return Camera(camera.model_name, camera.width, camera.height, np.array(camera.params), source)


MODEL_NAMES = {int(model): name for name, model in pycolmap.CameraModelId.__members__.items() if name != "INVALID"}
"""COLMAP's camera models by the numbers that databases store."""


def model_name(model_id: int) -> str:
    """COLMAP's name of a camera model number."""
    if model_id not in MODEL_NAMES:
        raise ValueError(f"camera model number {model_id} is unknown")
    return MODEL_NAMES[model_id]


def check_params(model: str, params: str) -> None:
    """Raise a sentence for the user unless the parameter string fits the model (both as COLMAP's users write them)."""
    if model not in MODEL_NAMES.values():
        raise InputError(f"The camera model {model!r} is unknown", f"Use one of {', '.join(MODEL_NAMES.values())}")
    if not params:
        return
    camera = pycolmap.Camera.create_from_model_name(0, model, 1.0, 1, 1)
    try:
        numbers = _parse_params(params)
    except ValueError:
        numbers = np.empty(0)
    if len(numbers) != len(camera.params) or not np.isfinite(numbers).all():
        raise InputError(
            f"The camera parameters {params!r} do not fit the model {model}",
            f"Give {len(camera.params)} numbers separated by commas: {camera.params_info}",
        )


def parse_camera(camera: Camera, params: str) -> Camera:
    """The same camera with the parameters of a checked string."""
    return replace(camera, params=_parse_params(params))


def _parse_params(params: str) -> FloatArray:
    return np.array([float(number) for number in params.split(",")])


def guess_camera(size_px: tuple[int, int], model: str) -> Camera:
    """A camera nobody knows anything about."""
    focal_px = GUESSED_FOCAL * max(size_px)
    return from_pycolmap(pycolmap.Camera.create_from_model_name(1, model, focal_px, *size_px))


def infer_camera(path: Path, model: str) -> Camera:
    """A photo's camera in the given model, with EXIF's focal length or 1.2 times the longer side.

    pycolmap may write to descriptor 2 here; callers that read many photos divert it once for all.
    """
    options = pycolmap.ImageReaderOptions()
    options.camera_model = model
    camera = pycolmap.infer_camera_from_image(path, options)
    source = FocalSource.EXIF if camera.has_prior_focal_length else FocalSource.GUESS
    return replace(from_pycolmap(camera), focal_source=source)


def mean_focal_px(camera: Camera) -> float:
    """Focal length in pixels, the mean of both axes."""
    return float(_handle(camera).mean_focal_length())


def has_believable_focal(camera: Camera) -> bool:
    """Whether the focal length is one that lenses have: 0.2 to 10 longer image sides."""
    return 0.2 <= mean_focal_px(camera) / max(camera.width_px, camera.height_px) <= 10


def is_plain(camera: Camera) -> bool:
    """Whether a camera is a pinhole with square pixels and without distortion, so far as its parameters say."""
    handle = _handle(camera)
    focal, others = (camera.params[list(at)] for at in (handle.focal_length_idxs(), handle.extra_params_idxs()))
    has_focal = len(focal) > 0 and bool(np.all(focal > 0) and np.ptp(focal) <= MAX_SKEW * focal.max())
    return has_focal and "FISHEYE" not in camera.model and not np.any(others)


def focal_change(before: Camera, after: Camera) -> FloatArray:
    """(1,) or (2,) the factor by which a camera's focal length changed, on each axis that has one of its own."""
    at = list(_handle(before).focal_length_idxs())
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(after.params[at] / before.params[at])


def with_focal(camera: Camera, focal_px: float) -> Camera:
    """The same camera with another focal length on both axes."""
    params = camera.params.copy()
    params[list(_handle(camera).focal_length_idxs())] = focal_px
    return replace(camera, params=params)


def principal_point(camera: Camera) -> tuple[float, float]:
    """Principal point in pixels."""
    handle = _handle(camera)
    return float(handle.principal_point_x), float(handle.principal_point_y)


def principal_point_offset(camera: Camera) -> float:
    """Distance of the principal point from the image centre, in longer image sides."""
    x, y = principal_point(camera)
    return float(np.hypot(x - camera.width_px / 2, y - camera.height_px / 2)) / max(camera.width_px, camera.height_px)


def unproject(images: ImageSet, image_idx: NDArray[np.int64], xy_px: FloatArray) -> FloatArray:
    """Unit rays of pixels, each in the frame of its image's camera.

    Args:
        images: gives each image's camera.
        image_idx: (n,) image of each pixel; xy_px: (n, 2).

    Returns:
        (n, 3) unit rays; not finite where a distortion has no inverse.
    """
    rays = np.full((len(xy_px), 3), np.nan)
    for camera, rows in _by_camera(images, image_idx):
        # Pinhole rays (x, y, 1); pixels that cannot be undistorted come back as NaN.
        rays[rows, :2] = camera.cam_from_img(xy_px[rows])
        rays[rows, 2] = 1.0
    return normalize(rays)


def match_rays(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Two (num_matches, 3) arrays of unit rays: of every match in the cameras of its edge's two images."""
    matches, keypoints = problem.matches, problem.keypoints
    ends = problem.view_graph.edge_index[:, matches.edge_idx]
    first, second = (
        unproject(problem.images, end, keypoints.xy_px[keypoints.offsets[end] + matches.keypoint_idx[:, side]])
        for side, end in enumerate(ends)
    )
    return first, second


def project(images: ImageSet, image_idx: NDArray[np.int64], xyz_cam: FloatArray) -> FloatArray:
    """Pixels of points given in the frame of their image's camera; not finite behind it. (n, 3) -> (n, 2)."""
    xy_px = np.full((len(xyz_cam), 2), np.nan)
    for camera, rows in _by_camera(images, image_idx):
        xy_px[rows] = camera.img_from_cam(xyz_cam[rows])
    xy_px[~(xyz_cam[:, 2] > 0)] = np.nan
    return xy_px


@lru_cache(maxsize=4096)
def _handle(camera: Camera) -> pycolmap.Camera:
    """pycolmap's camera to ask, not to change: it is made once."""
    return to_pycolmap(camera, 1)


Rows = slice | NDArray[np.int64]


def _by_camera(images: ImageSet, image_idx: NDArray[np.int64]) -> list[tuple[pycolmap.Camera, Rows]]:
    """Rows of `image_idx` grouped by the camera that took the image."""
    if len(images.cameras) == 1:
        return [(_handle(images.cameras[0]), slice(None))]
    camera_idx = images.camera_idx[image_idx]
    order = np.argsort(camera_idx, kind="stable")
    used, starts = np.unique(camera_idx[order], return_index=True)
    groups = np.split(order, starts[1:]) if len(used) else []
    return [(_handle(images.cameras[c]), rows) for c, rows in zip(used, groups, strict=True)]
