"""What only one dataset has: edges, other editions of a table, unknown poses, unknown intrinsics."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.datasets.layouts import (
    CALIBRATION,
    FLIP,
    LAYOUTS,
    NUM_IMAGES,
    make_truth,
    resfm_arrays,
    text,
    write_photos,
)
from tests.synthetic import Truth
from vgpa.datasets import dataset, load_reference
from vgpa.datasets.bundler import read_cameras
from vgpa.errors import InputError
from vgpa.geometry.rotation import direction_angle_rad, rotation_angle_rad
from vgpa.scene import FocalSource


@pytest.fixture(scope="module")
def truth() -> Truth:
    return make_truth()


class TestOneDSfM:
    """Bundler's frames, pairs in both orders, keys in no track."""

    def test_relative_poses_are_ours(self, truth: Truth, tmp_path: Path) -> None:
        LAYOUTS["onedsfm"].write(tmp_path, truth)
        graph = dataset("onedsfm").load_scene(tmp_path, "Alamo").view_graph
        assert graph is not None
        expected = truth.problem.view_graph
        np.testing.assert_array_equal(graph.edge_index, expected.edge_index)
        ours, theirs = graph.cam_j_from_cam_i, expected.cam_j_from_cam_i
        np.testing.assert_allclose(rotation_angle_rad(ours.rotation, theirs.rotation), 0, atol=1e-7)
        np.testing.assert_allclose(direction_angle_rad(ours.translation, theirs.translation), 0, atol=1e-7)
        assert graph.has_direction.all()
        assert (graph.num_inliers == 60).all()

    def test_an_image_that_bundler_lost_has_no_pose(self, truth: Truth, tmp_path: Path) -> None:
        LAYOUTS["onedsfm"].write(tmp_path, truth)
        bundle = tmp_path / "Alamo" / "gt_bundle.out"
        lines = bundle.read_text().splitlines()
        start = 2 + 5 * 3  # the second image of the component is the fourth of the list
        lines[start : start + 5] = ["0 0 0"] * 5
        bundle.write_text("\n".join(lines))
        reference = dataset("onedsfm").load_scene(tmp_path, "Alamo").reference
        assert reference.poses.is_known.tolist() == [True, False, True, True, True, True]
        assert reference.images.camera_of(1).focal_source is FocalSource.EXIF

    def test_a_bundle_projects_as_bundlers_manual_says(self, truth: Truth, tmp_path: Path) -> None:
        """p = -P / P.z, p' = f r(p) p, y up from the centre."""
        rotation, translation = FLIP @ truth.cam_from_world.rotation[0], FLIP @ truth.cam_from_world.translation[0]
        (tmp_path / "b.out").write_text(
            f"# Bundle file v0.3\n1 0\n500 0.1 0.01\n{text(rotation)}\n{text(translation)}\n"
        )
        cameras = read_cameras(tmp_path / "b.out")
        point = truth.xyz[0]
        seen = rotation @ point + translation
        p = -seen[:2] / seen[2]
        ours = cameras.cam_from_world[0].apply(point)
        np.testing.assert_allclose(ours[:2] / ours[2], p * [1, -1], atol=1e-12)
        np.testing.assert_allclose(cameras.lens, [[500, 0.1, 0.01]])


class TestImc:
    """Editions of the table."""

    def test_2022_has_a_table_per_scene(self, truth: Truth, tmp_path: Path) -> None:
        (tmp_path / "taj_mahal").mkdir()
        with (tmp_path / "taj_mahal" / "calibration.csv").open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["image_id", "camera_intrinsics", "rotation_matrix", "translation_vector"])
            for k, matrix in enumerate(truth.cam_from_world.matrix):
                cells = [CALIBRATION, matrix[:, :3], matrix[:, 3]]
                writer.writerow([f"photo_{k:02d}", *(text(cell.ravel()) for cell in cells)])
        assert dataset("imc").list_scenes(tmp_path) == ["taj_mahal"]
        scene = dataset("imc").load_scene(tmp_path, "taj_mahal")
        assert scene.reference.images.names == truth.problem.images.names
        assert scene.reference.num_registered == NUM_IMAGES
        assert scene.reference.images.cameras[0].params.tolist() == [800, 800, 500, 400]
        assert scene.image_dir is None

    def test_2025_keeps_photos_beside_each_other_and_outliers_without_poses(self, tmp_path: Path) -> None:
        rows = ["dataset,scene,image,rotation_matrix,translation_vector"]
        rows += [f"ets,hall,{k}.jpg,1;0;0;0;1;0;0;0;1,{k};0;0" for k in range(3)]
        rows += ["ets,outliers,lost.jpg,nan;nan;nan;nan;nan;nan;nan;nan;nan,nan;nan;nan"]
        (tmp_path / "train_labels.csv").write_text("\n".join(rows) + "\n")
        write_photos(tmp_path / "train" / "ets", ("0.jpg", "1.jpg", "2.jpg", "lost.jpg"))
        assert dataset("imc").list_scenes(tmp_path) == ["ets/hall", "ets/outliers"]
        hall = dataset("imc").load_scene(tmp_path, "ets/hall")
        assert hall.image_dir == tmp_path / "train" / "ets"
        assert hall.reference.images.cameras[0].width_px == 1000
        np.testing.assert_allclose(hall.reference.poses.cam_from_world.translation[:, 0], [0, 1, 2])
        assert dataset("imc").load_scene(tmp_path, "ets/outliers").reference.num_registered == 0


class TestFolder:
    """Known intrinsics are those that the reference did not change."""

    def test_guessed_intrinsics_are_not_known(self, truth: Truth, tmp_path: Path) -> None:
        LAYOUTS["folder"].write(tmp_path, truth)
        (tmp_path / "plaza" / "database.db").unlink()
        scene = dataset("folder").load_scene(tmp_path, "plaza")
        assert scene.database is None
        assert scene.reference.images.cameras[0].focal_source is FocalSource.GUESS
        assert scene.reference.num_points == 60


class TestResfm:
    """Cameras that the file does not know."""

    def test_unknown_cameras_have_no_pose(self, truth: Truth, tmp_path: Path) -> None:
        arrays = resfm_arrays(truth)
        arrays["Ps_gt"][2] = np.nan
        np.savez(tmp_path / "partly.npz", **arrays)
        del arrays["Ps_gt"]
        np.savez(tmp_path / "unknown.npz", **arrays)
        known = dataset("resfm").load_scene(tmp_path, "partly").reference.poses.is_known
        assert known.tolist() == [True, True, False, True, True, True]
        assert dataset("resfm").load_scene(tmp_path, "unknown").reference.num_registered == 0


def test_names_never_leave_the_folder(tmp_path: Path) -> None:
    """A table of a stranger may say anything."""
    rows = ["dataset,scene,image,rotation_matrix,translation_vector"]
    rows += [f"a,b,{name},1;0;0;0;1;0;0;0;1,0;0;0" for name in ("ok.jpg", "..")]
    (tmp_path / "train_labels.csv").write_text("\n".join(rows) + "\n")
    with pytest.raises(InputError, match="not the name of a photo"):
        dataset("imc").load_scene(tmp_path, "a/b")


def test_a_scene_that_is_not_there_says_which_are(truth: Truth, tmp_path: Path) -> None:
    LAYOUTS["strecha"].write(tmp_path, truth)
    assert load_reference("strecha", tmp_path, "fountain-P6").num_registered == NUM_IMAGES
    with pytest.raises(InputError, match="Choose one of fountain-P6"):
        load_reference("strecha", tmp_path, "castle")
    with pytest.raises(InputError, match="holds the dataset's scenes"):
        load_reference("strecha", tmp_path / "elsewhere", "castle")
