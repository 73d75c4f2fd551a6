"""Theia's global mapper (through pytheia): averaged rotations, filtered directions, least unsquared deviations.

It is given the view graph and the tracks as vgpa reads them from the database, focal lengths voted by the pairs
included, for Theia has no calibration of its own for relative poses that are given. What follows is Theia alone.
Tracks are seen in three images or more, as vgpa's and GLOMAP's are: with tracks of two images, as its own programs
use, Theia takes up to five times as long and places more images of weakly connected scenes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vgpa.colmap.cameras import mean_focal_px
from vgpa.colmap.database import read_problem
from vgpa.colmap.mappers import MappedModel, MapperOptions
from vgpa.colmap.model import write_model
from vgpa.colmap.silence import silenced
from vgpa.config import GraphConfig
from vgpa.errors import InputError, NoModelError
from vgpa.frontend.tracks import build_tracks
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import log_map
from vgpa.scene import Camera, ImageSet, Poses, Problem, Reconstruction, Tracks

FIRST_GROUP = 1
HUBER_PX = 2.0
MAX_NUM_RADIAL = 2
"""Theia's pinhole model, like COLMAP's RADIAL, has this many coefficients of radial distortion."""


def map_database(database: Path, folder: Path, options: MapperOptions) -> MappedModel:
    """Theia's global mapper; its model is written to the folder."""
    theia = _import_theia()
    problem = read_problem(database, are_lenses_known=options.fix_intrinsics)
    tracks = build_tracks(problem, GraphConfig())
    with silenced():
        world = theia.Reconstruction()
        view_ids = _add_views(theia, world, problem.images)
        _add_tracks(theia, world, view_ids, problem, tracks)
        graph = _view_graph(theia, view_ids, problem)
        summary = theia.GlobalReconstructionEstimator(_settings(theia, options)).Estimate(graph, world)
    if not summary.success:
        raise NoModelError("Theia found no model in this database", "Check that enough pairs are verified")
    model = _read_world(world, view_ids, problem, tracks, options)
    write_model(model, problem.keypoints, folder)
    return MappedModel(folder, model.num_registered, model.num_points)


def _import_theia() -> ModuleType:
    try:
        from pytheia import sfm
    except ImportError as error:
        raise InputError("Theia needs the package pytheia", 'Install it with: pip install "vgpa[baselines]"') from error
    return sfm


def _settings(theia: ModuleType, options: MapperOptions) -> Any:
    settings = theia.ReconstructionEstimatorOptions()
    settings.num_threads = options.num_threads
    settings.bundle_adjustment_loss_function_type = theia.LossFunctionType.HUBER
    settings.bundle_adjustment_robust_loss_width = HUBER_PX
    free = theia.OptimizeIntrinsicsType
    settings.intrinsics_to_optimize = free.NONE if options.fix_intrinsics else free.FOCAL_LENGTH_RADIAL_DISTORTION
    return settings


def _add_views(theia: ModuleType, world: Any, images: ImageSet) -> list[int]:
    """One view per image, in order; images of one camera share their intrinsics. Gives Theia's ids."""
    priors = [_intrinsics_prior(theia, camera) for camera in images.cameras]
    view_ids = []
    for k, name in enumerate(images.names):
        camera_idx = int(images.camera_idx[k])
        view_id = world.AddView(name, FIRST_GROUP + camera_idx, float(k))
        world.MutableView(view_id).SetCameraIntrinsicsPrior(priors[camera_idx])
        view_ids.append(view_id)
    return view_ids


def _intrinsics_prior(theia: ModuleType, camera: Camera) -> Any:
    """Theia's pinhole camera: focal length, aspect ratio, principal point and radial distortion."""
    fx, fy, cx, cy, *radial = _pinhole_params(camera)
    prior = theia.CameraIntrinsicsPrior()
    prior.camera_intrinsics_model_type = "PINHOLE"
    prior.image_width, prior.image_height = camera.width_px, camera.height_px
    values = {
        "focal_length": [fx],
        "aspect_ratio": [fy / fx],
        "principal_point": [cx, cy],
        "radial_distortion": [*radial, 0.0, 0.0],
    }
    for name, value in values.items():
        field = getattr(prior, name)
        field.value = np.array(value)
        field.is_set = True
        setattr(prior, name, field)
    return prior


def _pinhole_params(camera: Camera) -> list[float]:
    """fx, fy, cx, cy, k1, k2 of a camera, in any of the models that are special cases of these."""
    layouts = {"SIMPLE_PINHOLE": (1, 0), "PINHOLE": (2, 0), "SIMPLE_RADIAL": (1, 1), "RADIAL": (1, 2)}
    if camera.model not in layouts:
        raise InputError(f"Theia is not offered {camera.model} cameras", f"Use one of {', '.join(layouts)}")
    num_focal, num_radial = layouts[camera.model]
    params = camera.params.tolist()
    focal = params[:num_focal] * (3 - num_focal)
    radial = params[num_focal + 2 :] + [0.0] * (MAX_NUM_RADIAL - num_radial)
    return [*focal[:2], *params[num_focal : num_focal + 2], *radial]


def _add_tracks(theia: ModuleType, world: Any, view_ids: list[int], problem: Problem, tracks: Tracks) -> None:
    """Track k of ours becomes Theia's track k."""
    xy_px = problem.keypoints.xy_px[problem.keypoints.offsets[tracks.image_idx] + tracks.keypoint_idx]
    seen = [
        (view_ids[image], theia.Feature(x, y))
        for image, (x, y) in zip(tracks.image_idx.tolist(), xy_px.tolist(), strict=True)
    ]
    for k, (start, end) in enumerate(pairwise(tracks.offsets.tolist())):
        if world.AddTrack(seen[start:end]) != k:
            raise AssertionError("Theia numbers its tracks in another order")


def _view_graph(theia: ModuleType, view_ids: list[int], problem: Problem) -> Any:
    """Theia's view graph: angle-axis rotation and position of the second camera in the frame of the first."""
    graph, images = problem.view_graph, problem.images
    motion = graph.cam_j_from_cam_i
    rotation_vector, position = log_map(motion.rotation), motion.centre
    focal_px = [mean_focal_px(camera) for camera in images.cameras]
    result = theia.ViewGraph()
    for e in np.flatnonzero(graph.has_direction).tolist():
        i, j = graph.edge_index[:, e].tolist()
        info = theia.TwoViewInfo()
        info.rotation_2, info.position_2 = rotation_vector[e], position[e]
        info.focal_length_1, info.focal_length_2 = (focal_px[images.camera_idx[k]] for k in (i, j))
        info.num_verified_matches = info.visibility_score = int(graph.num_inliers[e])
        result.AddEdge(view_ids[i], view_ids[j], info)
    return result


def _read_world(
    world: Any, view_ids: list[int], problem: Problem, tracks: Tracks, options: MapperOptions
) -> Reconstruction:
    """Theia's estimated views and tracks as a model."""
    views = [world.View(view_id) for view_id in view_ids]
    is_known = np.array([view.IsEstimated() for view in views])
    cameras = [view.Camera() for view in views]
    rotation = np.array([camera.GetOrientationAsRotationMatrix() for camera in cameras])
    centre = np.array([camera.GetPosition() for camera in cameras])
    rotation[~is_known], centre[~is_known] = np.eye(3), 0.0
    poses = Poses(Rigid.from_centre(rotation, centre), is_known)
    images = problem.images if options.fix_intrinsics else _refined(problem.images, cameras, is_known)
    seen = tracks.select_observations(is_known[tracks.image_idx])
    found = [world.Track(k) for k in range(len(tracks))]
    keep = np.array([track.IsEstimated() for track in found], dtype=np.bool_) & (seen.lengths >= 2)
    xyzw = np.array([track.Point() for track in found]).reshape(-1, 4)[keep]
    num = len(xyzw)
    grey = np.full((num, 3), 128, dtype=np.uint8)
    return Reconstruction(images, poses, xyzw[:, :3] / xyzw[:, 3:], seen.select(keep), np.zeros(num), grey)


def _refined(images: ImageSet, cameras: list[Any], is_known: NDArray[np.bool_]) -> ImageSet:
    """The images with the intrinsics that Theia refined, in COLMAP's OPENCV model."""
    result = list(images.cameras)
    for k in np.flatnonzero(is_known).tolist():
        pinhole, index = cameras[k].CameraIntrinsics(), images.camera_idx[k]
        focal = pinhole.FocalLength()
        params = [focal, focal * pinhole.AspectRatio(), pinhole.PrincipalPointX(), pinhole.PrincipalPointY()]
        params += [pinhole.RadialDistortion1(), pinhole.RadialDistortion2(), 0.0, 0.0]
        result[index] = replace(images.cameras[index], model="OPENCV", params=np.array(params))
    return images.with_cameras(tuple(result))
