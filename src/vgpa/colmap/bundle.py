"""Bundle adjustment by pycolmap: all poses, points and (where asked) intrinsics of a model at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pycolmap
from numpy.typing import NDArray

from vgpa.colmap.cameras import from_pycolmap
from vgpa.colmap.model import model_to_pycolmap
from vgpa.colmap.silence import silenced
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import FloatArray, normalize, wxyz_from_xyzw
from vgpa.scene import Camera, Keypoints, Poses, Reconstruction

MAX_NUM_SMALL, MAX_NUM_FILLED, MIN_FILLED = 50, 300, 0.5
"""Images up to which pycolmap solves dense systems anyway, and up to which it should where so large a part of all pairs
of images share points: a sparse factorisation fills up there, and takes a quarter longer."""
LOSSES = {"huber": pycolmap.LossFunctionType.HUBER, "cauchy": pycolmap.LossFunctionType.CAUCHY}


@dataclass(frozen=True)
class BundleOptions:
    """How to adjust.

    Attributes:
        loss, loss_scale_px: robust loss on the reprojection error, and where it turns from quadratic to robust.
        tolerance: relative decrease of the cost at which to stop.
        max_iterations: iterations at which to stop in any case.
        refine_intrinsics: focal length and distortion are free.
        num_threads: threads of the solver.
        min_images_for_principal_point: cameras of at least this many images have their principal point free too, and
            all others are held as they are; None holds every principal point.
        held_cameras: cameras whose intrinsics are held whatever else is free.
        may_climb: whether steps may raise the cost for a while.
        refine_distortion: whether distortion is free where the focal length is.
        trust_radius: trust region of the first step.
    """

    loss: Literal["huber", "cauchy"]
    loss_scale_px: float
    tolerance: float
    max_iterations: int
    refine_intrinsics: bool
    num_threads: int
    min_images_for_principal_point: int | None = None
    held_cameras: tuple[int, ...] = ()
    may_climb: bool = True
    refine_distortion: bool = True
    trust_radius: float = 1e4


def bundle_adjust(
    reconstruction: Reconstruction,
    keypoints: Keypoints,
    options: BundleOptions,
    free_images: NDArray[np.bool_] | None = None,
) -> Reconstruction:
    """The same model with the poses, points and intrinsics that minimise the robust reprojection error.

    With a mask (num_images,) of free images, only their poses, the intrinsics of cameras that no other image has, and
    the points they see move; the others stay.
    """
    if reconstruction.num_registered < 2 or reconstruction.num_points == 0:
        return reconstruction
    # A photo has thousands of keypoints that no point is seen at, and the solver asks for none of them.
    tracks, observed = reconstruction.tracks.of_observed(keypoints)
    model = model_to_pycolmap(replace(reconstruction, tracks=tracks), observed)
    config = _free_config(model, reconstruction, free_images) if free_images is not None else _full_config(model)
    weak = _weak_cameras(reconstruction, options.min_images_for_principal_point)
    for camera_id in {*weak, *(camera_idx + 1 for camera_idx in options.held_cameras)}:
        config.set_constant_cam_intrinsics(camera_id)
    is_filled = free_images is None and _is_filled(reconstruction)
    with silenced():
        pycolmap.create_default_ceres_bundle_adjuster(_to_pycolmap(options, is_filled), config, model).solve()
    return replace(
        reconstruction,
        images=reconstruction.images.with_cameras(_read_cameras(model, reconstruction)),
        poses=_read_poses(model, reconstruction),
        xyz=_read_points(model),
    )


def _full_config(model: pycolmap.Reconstruction) -> pycolmap.BundleAdjustmentConfig:
    """All images move; two of them hold the world in place."""
    config = pycolmap.BundleAdjustmentConfig()
    for image_id in model.reg_image_ids():
        config.add_image(image_id)
    config.fix_gauge(pycolmap.BundleAdjustmentGauge.TWO_CAMS_FROM_WORLD)
    return config


def _free_config(
    model: pycolmap.Reconstruction, reconstruction: Reconstruction, free_images: NDArray[np.bool_]
) -> pycolmap.BundleAdjustmentConfig:
    """Free images move, images that share points with them hold still, all others are left out."""
    config = pycolmap.BundleAdjustmentConfig()
    tracks = reconstruction.tracks
    shared = np.zeros(len(tracks), dtype=np.bool_)
    shared[tracks.track_idx[free_images[tracks.image_idx]]] = True
    for k in np.unique(tracks.image_idx[shared[tracks.track_idx]]).tolist():
        image = model.images[int(reconstruction.images.image_id[k])]
        config.add_image(image.image_id)
        if not free_images[k]:
            config.set_constant_rig_from_world_pose(image.frame_id)
    held = reconstruction.images.camera_idx[reconstruction.poses.is_known & ~free_images]
    for camera_idx in np.unique(held).tolist():
        config.set_constant_cam_intrinsics(camera_idx + 1)
    return config


def _weak_cameras(reconstruction: Reconstruction, min_num: int | None) -> list[int]:
    """pycolmap's ids of the cameras that took fewer registered images than it takes to free a principal point."""
    if min_num is None:
        return []
    used = reconstruction.images.camera_idx[reconstruction.poses.is_known]
    count = np.bincount(used, minlength=len(reconstruction.images.cameras))
    return (np.flatnonzero((count > 0) & (count < min_num)) + 1).tolist()


def _is_filled(reconstruction: Reconstruction) -> bool:
    """Whether so many pairs of images share points that the system of all cameras is a dense one."""
    num = reconstruction.num_registered
    if not MAX_NUM_SMALL < num <= MAX_NUM_FILLED:
        return False
    shares = reconstruction.tracks.num_shared(len(reconstruction.images)) > 0
    return bool(np.count_nonzero(shares) >= MIN_FILLED * num * (num - 1))


def _to_pycolmap(options: BundleOptions, is_filled: bool) -> pycolmap.BundleAdjustmentOptions:
    result = pycolmap.BundleAdjustmentOptions()
    solver = result.ceres.solver_options
    solver.dense_linear_algebra_library_type = type(solver.dense_linear_algebra_library_type).LAPACK
    if is_filled:
        result.ceres.auto_select_solver_type = False
        solver.linear_solver_type = type(solver.linear_solver_type).DENSE_SCHUR
    result.print_summary = False
    result.refine_focal_length = options.refine_intrinsics
    result.refine_extra_params = options.refine_intrinsics and options.refine_distortion
    result.refine_principal_point = options.min_images_for_principal_point is not None
    result.ceres.loss_function_type = LOSSES[options.loss]
    result.ceres.loss_function_scale = options.loss_scale_px
    # pycolmap's own default is 0: it would always run to the last iteration.
    solver.function_tolerance = options.tolerance
    solver.max_num_iterations = options.max_iterations
    solver.num_threads = options.num_threads
    solver.use_nonmonotonic_steps = options.may_climb
    solver.initial_trust_region_radius = options.trust_radius
    return result


def _read_cameras(model: pycolmap.Reconstruction, before: Reconstruction) -> tuple[Camera, ...]:
    """Refined cameras; where the focal length first came from is remembered."""
    return tuple(
        replace(from_pycolmap(model.cameras[k + 1]), focal_source=camera.focal_source)
        if k + 1 in model.cameras
        else camera
        for k, camera in enumerate(before.images.cameras)
    )


def _read_points(model: pycolmap.Reconstruction) -> FloatArray:
    """(num_points, 3) points in the order in which they were added."""
    points = model.points3D
    xyz = np.empty((len(points), 3))
    for point_id, point in points.items():
        xyz[point_id - 1] = point.xyz
    return xyz


def _read_poses(model: pycolmap.Reconstruction, before: Reconstruction) -> Poses:
    registered = np.flatnonzero(before.poses.is_known)
    ids = before.images.image_id[registered].tolist()
    poses = [model.images[image_id].cam_from_world() for image_id in ids]
    cam_from_world = Rigid(
        normalize(wxyz_from_xyzw(np.array([pose.rotation.quat for pose in poses]))),
        np.array([pose.translation for pose in poses]),
    )
    return Poses.of_all(cam_from_world).scatter(registered, len(before.poses))
