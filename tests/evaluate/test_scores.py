"""All scores agree with a naive second implementation and with pycolmap; alignments withstand gross outliers."""

from __future__ import annotations

from math import comb
from pathlib import Path
from statistics import mean, median

import numpy as np
import pycolmap
import pytest
from scipy.spatial.transform import Rotation

from tests.datasets.layouts import make_truth, model_of
from tests.evaluate import naive
from vgpa.colmap.model import model_to_pycolmap
from vgpa.colmap.silence import silenced
from vgpa.evaluate import Protocol, Scores, auc_by_degrees
from vgpa.evaluate.scores import Alignment, camera_errors, score_poses
from vgpa.geometry.alignment import Similarity
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import normalize, wxyz_from_xyzw
from vgpa.scene import Poses, Reconstruction

KNOWN = Similarity(2.5, Rotation.random(random_state=2).as_matrix(), np.array([10.0, -3, 4]))


def random_cameras(num: int, seed: int) -> Rigid:
    rng = np.random.default_rng(seed)
    return Rigid.from_centre(Rotation.random(num, random_state=seed).as_matrix(), rng.normal(size=(num, 3)) * 3)


def disturbed(cams: Rigid, seed: int, spread_deg: float) -> Rigid:
    """Each camera turned and moved a little, in another world."""
    rng = np.random.default_rng(seed)
    turn = Rotation.from_rotvec(np.radians(spread_deg) * rng.normal(size=(len(cams), 3))).as_matrix()
    moved = Rigid.from_centre(turn @ cams.rotation, cams.centre + 0.01 * spread_deg * rng.normal(size=(len(cams), 3)))
    return KNOWN.apply_to_cameras(moved)


def as_list(cams: Rigid) -> list[naive.Pose]:
    return list(zip(cams.rotation, cams.translation, strict=True))


@pytest.mark.parametrize(("seed", "spread_deg"), [(0, 0.3), (1, 3.0), (2, 20.0)])
class TestAgainstTheNaiveImplementation:
    """Random pose sets, from nearly right to quite wrong; three of the images are not registered."""

    num_images = 12

    def make(self, seed: int, spread_deg: float) -> tuple[Scores, list[naive.Pose], list[naive.Pose]]:
        true = random_cameras(self.num_images - 3, seed)
        estimated = disturbed(true, seed + 100, spread_deg)
        return score_poses(estimated, true, self.num_images), as_list(estimated), as_list(true)

    def test_errors_after_alignment(self, seed: int, spread_deg: float) -> None:
        scores, estimated, true = self.make(seed, spread_deg)
        rotations, positions = naive.errors_after_alignment(estimated, true)
        size = naive.size_of_scene(true)
        assert scores.rotation_mean_deg == pytest.approx(mean(rotations), abs=1e-5)
        assert scores.rotation_median_deg == pytest.approx(median(rotations), abs=1e-5)
        assert scores.position_mean == pytest.approx(mean(positions), rel=1e-6)
        assert scores.position_median == pytest.approx(median(positions), rel=1e-3)
        assert scores.position_mean_relative == pytest.approx(mean(positions) / size, rel=1e-6)
        assert scores.position_median_relative == pytest.approx(median(positions) / size, rel=1e-3)

    def test_areas(self, seed: int, spread_deg: float) -> None:
        scores, estimated, true = self.make(seed, spread_deg)
        pairs = naive.pair_errors(estimated, true)
        worst = [max(pair) for pair in pairs]
        for threshold in (1, 5, 30):
            area = naive.area_under_recall(worst, threshold, len(pairs))
            assert scores.auc[threshold] == pytest.approx(area, abs=1e-4)
            everything = naive.area_under_recall(worst, threshold, comb(self.num_images, 2))
            assert scores.ra_auc[threshold] == pytest.approx(everything, abs=1e-4)
            by_rotation = naive.area_under_recall([rotation for rotation, _ in pairs], threshold, len(pairs))
            assert scores.rotation_auc[threshold] == pytest.approx(by_rotation, abs=1e-4)
            by_direction = naive.area_under_recall([direction for _, direction in pairs], threshold, len(pairs))
            assert scores.direction_auc[threshold] == pytest.approx(by_direction, abs=1e-4)

    def test_areas_by_degrees(self, seed: int, spread_deg: float) -> None:
        exact, estimated, true = self.make(seed, spread_deg)
        poses = [Rigid.from_matrix(*map(np.stack, zip(*side, strict=True))) for side in (estimated, true)]
        scores = score_poses(*poses, self.num_images, Protocol(area="degrees"))
        worst = [max(pair) for pair in naive.pair_errors(estimated, true)]
        for threshold in (1, 5, 30):
            assert scores.auc[threshold] == pytest.approx(naive.area_by_degrees(worst, threshold))
            assert scores.auc[threshold] >= exact.auc[threshold]


def test_the_histogram_counts_by_whole_degrees() -> None:
    assert auc_by_degrees(np.array([0.0, 0.9]), 5) == 1.0
    assert auc_by_degrees(np.array([1.5]), 5) == pytest.approx(4 / 5)
    assert auc_by_degrees(np.array([7.0]), 5) == 0.0
    assert auc_by_degrees(np.zeros(0), 5) == 0.0


@pytest.mark.parametrize("alignment", ["paper", "umeyama"])
@pytest.mark.parametrize("seed", range(5))
def test_a_fifth_of_gross_outliers_does_not_move_the_alignment(alignment: Alignment, seed: int) -> None:
    cams = random_cameras(30, seed)
    moved = KNOWN.apply_to_cameras(cams)
    centre = moved.centre.copy()
    centre[:6] += 50 * np.random.default_rng(seed).normal(size=(6, 3))
    found = Protocol(alignment).align(cams, Rigid.from_centre(moved.rotation, centre))
    assert found.scale == pytest.approx(KNOWN.scale, rel=1e-6)
    np.testing.assert_allclose(found.rotation, KNOWN.rotation, atol=1e-6)
    np.testing.assert_allclose(found.translation, KNOWN.translation, atol=1e-5)


def test_umeyama_sees_no_orientations() -> None:
    """Turning every camera on the spot changes what the paper's alignment finds, and not what Umeyama's does."""
    cams = random_cameras(10, 0)
    turn = Rotation.from_rotvec([0.3, 0, 0]).as_matrix()
    turned = Rigid.from_centre(turn @ cams.rotation @ KNOWN.rotation.T, KNOWN.apply(cams.centre))
    np.testing.assert_allclose(Protocol("umeyama").align(cams, turned).rotation, KNOWN.rotation, atol=1e-9)
    assert score_poses(turned, cams, 10, Protocol("umeyama")).position_mean == pytest.approx(0, abs=1e-9)
    assert score_poses(turned, cams, 10).position_mean > 0.1


def test_pycolmap_finds_the_same_errors_after_the_same_alignment(tmp_path: Path) -> None:
    truth = make_truth()
    reference = model_of(truth)
    estimated = disturbed(truth.cam_from_world, 5, 0.2)
    model = Reconstruction(
        reference.images,
        Poses.of_all(estimated),
        KNOWN.apply(reference.xyz),
        reference.tracks,
        reference.error_px,
        reference.color,
    )
    keypoints = truth.problem.keypoints
    with silenced():
        compared = pycolmap.compare_reconstructions(
            model_to_pycolmap(model, keypoints),
            model_to_pycolmap(reference, keypoints),
            alignment_error="proj_center",
            max_proj_center_error=0.5,
        )
    assert compared is not None
    theirs = {error.image_name: (error.rotation_error_deg, error.proj_center_error) for error in compared["errors"]}
    sim = compared["rec2_from_rec1"]
    quaternion = normalize(wxyz_from_xyzw(np.array(sim.rotation.quat)))
    similarity = Similarity(sim.scale, Rigid(quaternion, np.zeros(3)).rotation, np.array(sim.translation))
    ours = camera_errors(similarity.apply_to_cameras(estimated), truth.cam_from_world)
    expected = np.array([theirs[name] for name in reference.images.names]).T
    assert expected.shape == (2, 6)
    assert expected[0].max() > 0.05
    np.testing.assert_allclose(ours[0], expected[0], atol=1e-6)
    np.testing.assert_allclose(ours[1], expected[1], atol=1e-9)
