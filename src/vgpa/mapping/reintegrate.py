"""Images that were lost on the way get another chance: resection against the finished points.

A missing image's verified matches to registered images reach 3D points through their keypoints. Its pose is estimated
from these, most matches first, and accepted only if enough of them agree and if the view graph agrees too: repeated
structure would otherwise put it where it never was (METHOD section 7). If no registered image has its camera, its focal
length is estimated with the pose. Passes repeat until nothing is added, so that a group of images that hangs on the
model by a few of its members comes back from there, member by member. What few matches place has to wait until nothing
else is left to place: it may be wrong, and would take others with it. The other poses stay as they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vgpa.colmap.resection import Resection, Sight, resect
from vgpa.config import Config, ReintegrateConfig
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import IntArray
from vgpa.mapping.agreement import common_disagreement_deg, is_confirmed, strain
from vgpa.mapping.extend import extend_model, links_to_points
from vgpa.mapping.short_tracks import add_short_tracks
from vgpa.scene import Poses, Problem, Reconstruction

STAGES = (60, 30, 15, 0)
"""Matches to points that must agree in a pass: fewer only where a pass with more of them adds nothing."""
SURE = (30, 0.8)
"""Matches to points that agree, and part of all, from which on the view graph is not asked."""
MAX_STRAIN = 2.5
"""An image whose matches fit its place so many times worse than they could has to wait until the model is adjusted.
Asked only where as many matches place it as in `SURE`: what fewer place is rough, and half a ring may hang on it."""
FEW, MAX_FEW_ERROR_DEG = 15, 13.0
"""Fewer matches to points than this need two pairs that agree, or one that does closely, to this angle. Of 17 images
in random parts of two scenes that this refuses, 13 were in a wrong place; on other draws it cost more right ones."""


def reintegrate(problem: Problem, model: Reconstruction, config: Config) -> Reconstruction:
    """The model with every lost image that finds its place among the points, in passes until none does.

    Args:
        problem: all images and verified pairs.
    """
    if config.mapping.reintegrate is None:
        return model
    num_tried = np.zeros((len(STAGES), len(model.images)), dtype=np.int64)
    residual_deg = np.full(problem.view_graph.num_edges, np.nan)
    while not model.poses.is_known.all():
        model = add_short_tracks(problem, model, config, residual_deg)
        extended = _with_best_placed(problem, model, num_tried, config)
        if extended.num_registered <= model.num_registered:
            break
        model = extended
    return model


def _with_best_placed(problem: Problem, model: Reconstruction, num_tried: IntArray, config: Config) -> Reconstruction:
    """The model with the images of the first stage that adds any.

    Args:
        num_tried: (num_stages, num_images) by how many links each image was tried to be placed; is brought up to date.
    """
    links = links_to_points(problem, model)
    num_links = np.bincount(links[0], minlength=len(model.images))
    for min_num_agreeing, tried in zip(STAGES, num_tried, strict=True):
        # An image that did not fit gets another chance only with more to go by.
        fresh = num_links > tried
        tried[:] = num_links
        found = place_images(problem, model, links[:, fresh[links[0]]], config, min_num_agreeing)
        extended = extend_model(problem, replace(model, images=found.images), found.poses, config)
        if extended.num_registered > model.num_registered:
            return extended
    return model


def place_images(
    problem: Problem, model: Reconstruction, links: IntArray, config: Config, min_num_agreeing: int
) -> Reconstruction:
    """The model with the poses (and focal lengths) of the images that the links (3, num_links) place, most first.

    Only poses and cameras are new; no point knows of the images yet.
    """
    wanted = (config.mapping.reintegrate or ReintegrateConfig()).at_least(min_num_agreeing)
    num_links = np.bincount(links[0], minlength=len(model.images))
    most_first = np.argsort(-num_links, kind="stable").tolist()
    candidates = [k for k in most_first if wanted.are_enough(int(num_links[k]), 1.0)]
    sights = [_sight(problem, model, links, k, config) for k in candidates]
    answers = resect(sights, wanted.max_error_px, config.num_threads)
    for image_idx, sight, answer in zip(candidates, sights, answers, strict=True):
        if sight.is_focal_free and not _is_alone(model, image_idx):
            # An image that was placed before it has told the focal length of their camera.
            (answer,) = resect([_sight(problem, model, links, image_idx, config)], wanted.max_error_px)
        if answer is not None:
            placed, part = _with_image(model, image_idx, answer), answer.num_inliers / len(sight.xyz)
            if _is_believable(problem, placed, image_idx, part, answer.num_inliers, wanted):
                model = placed
    return model


def _sight(problem: Problem, model: Reconstruction, links: IntArray, image_idx: int, config: Config) -> Sight:
    """What a missing image sees of the model; its focal length is free if nothing else tells it."""
    camera_idx = model.images.camera_idx[image_idx]
    is_held = config.mapping.fix_intrinsics or camera_idx in config.mapping.held_cameras
    _, keypoint, point = links[:, links[0] == image_idx]
    is_free = not is_held and _is_alone(model, image_idx)
    return Sight(model.images.camera_of(image_idx), problem.keypoints.xy_px[keypoint], model.xyz[point], is_free)


def _is_alone(model: Reconstruction, image_idx: int) -> bool:
    """Whether no image with a pose has the camera of this one."""
    images = model.images
    return not bool(model.poses.is_known[images.camera_idx == images.camera_idx[image_idx]].any())


def _is_believable(
    problem: Problem,
    placed: Reconstruction,
    image_idx: int,
    inlier_ratio: float,
    num_inliers: int,
    wanted: ReintegrateConfig,
) -> bool:
    """Many points that nearly all agree need no second opinion; otherwise the view graph must agree too."""
    if not wanted.are_enough(num_inliers, inlier_ratio):
        return False
    own = problem.select_edges(np.asarray((problem.view_graph.edge_index == image_idx).any(axis=0)))
    if num_inliers >= SURE[0] and strain(own, placed, wanted.max_rotation_error_deg) > MAX_STRAIN:
        return False
    if num_inliers >= SURE[0] and inlier_ratio >= SURE[1]:
        return True
    if num_inliers < FEW and not is_confirmed(own, placed, MAX_FEW_ERROR_DEG):
        return False
    return common_disagreement_deg(own, placed) <= wanted.max_rotation_error_deg


def _with_image(model: Reconstruction, image_idx: int, placed: Resection) -> Reconstruction:
    """The model with the pose and the camera of one more image."""
    cam_from_world, is_known = model.poses.cam_from_world, model.poses.is_known.copy()
    quaternion, translation = cam_from_world.quaternion_wxyz.copy(), cam_from_world.translation.copy()
    quaternion[image_idx], translation[image_idx] = (
        placed.cam_from_world.quaternion_wxyz,
        placed.cam_from_world.translation,
    )
    is_known[image_idx] = True
    cameras = list(model.images.cameras)
    cameras[model.images.camera_idx[image_idx]] = placed.camera
    images = model.images.with_cameras(tuple(cameras))
    return replace(model, images=images, poses=Poses(Rigid(quaternion, translation), is_known))
