"""Models to export: cameras with lenses of every kind around a cloud of points, seen with noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.synthetic import HEIGHT_PX, WIDTH_PX, make_problem
from vgpa.colmap.cameras import project
from vgpa.mapping.triangulate import observed_px
from vgpa.scene import Camera, ImageSet, Keypoints, Poses, Reconstruction, Tracks

LENSES = {
    "SIMPLE_PINHOLE": [800.0, 500, 400],
    "PINHOLE": [800.0, 810, 490, 410],
    "SIMPLE_RADIAL": [800.0, 500, 400, 0.08],
    "RADIAL": [800.0, 500, 400, 0.08, -0.05],
    "OPENCV": [800.0, 810, 490, 410, 0.08, -0.05, 2e-3, -1e-3],
    "SIMPLE_RADIAL_FISHEYE": [800.0, 500, 400, 0.03],
    "RADIAL_FISHEYE": [800.0, 500, 400, 0.03, -0.01],
    "OPENCV_FISHEYE": [800.0, 810, 490, 410, 0.03, -0.01, 2e-3, 1e-3],
    "FULL_OPENCV": [800.0, 810, 490, 410, 0.08, -0.05, 2e-3, -1e-3, 0.01, 0.02, 0.0, 0.0],
}
NUM_IMAGES = 6


def make_model(*lenses: str, num_points: int = 60) -> tuple[Reconstruction, Keypoints]:
    """A model whose images have cameras with the given lenses in turn; every image sees every point."""
    truth = make_problem(NUM_IMAGES, num_points)
    cameras = tuple(Camera(lens, WIDTH_PX, HEIGHT_PX, np.array(LENSES[lens])) for lens in lenses)
    images = ImageSet(
        tuple(f"walk/photo_{k}.jpg" for k in range(NUM_IMAGES)),
        np.arange(NUM_IMAGES) % len(cameras),
        cameras,
        np.arange(1, NUM_IMAGES + 1),
    )
    image_idx = np.repeat(np.arange(NUM_IMAGES), num_points)
    xyz_cam = truth.cam_from_world[image_idx].apply(np.tile(truth.xyz, (NUM_IMAGES, 1)))
    noise = np.random.default_rng(1).normal(size=(len(image_idx), 2)) * 0.5
    keypoints = replace(truth.problem.keypoints, xy_px=project(images, image_idx, xyz_cam) + noise)
    tracks = Tracks(
        NUM_IMAGES * np.arange(num_points + 1),
        np.tile(np.arange(NUM_IMAGES), num_points),
        np.repeat(np.arange(num_points), NUM_IMAGES),
    )
    color = np.random.default_rng(2).integers(0, 255, (num_points, 3))
    poses = Poses.of_all(truth.cam_from_world)
    return Reconstruction(images, poses, truth.xyz, tracks, np.zeros(num_points), color), keypoints


def error_px(model: Reconstruction, keypoints: Keypoints) -> np.ndarray:
    """(num_obs,) COLMAP's reprojection error of every observation."""
    tracks = model.tracks
    xyz_cam = model.poses.cam_from_world[tracks.image_idx].apply(model.xyz[tracks.track_idx])
    return np.linalg.norm(project(model.images, tracks.image_idx, xyz_cam) - observed_px(keypoints, tracks), axis=-1)
