"""RESfM's tracks: what was written is what we read, poses come back from the tracks, and bad files are refused."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.synthetic import FOCAL_PX, HEIGHT_PX, WIDTH_PX, Truth, make_problem
from vgpa.cli import run
from vgpa.errors import InputError
from vgpa.frontend.resfm import read_resfm, read_tracks
from vgpa.geometry.rigid import relative
from vgpa.geometry.rotation import direction_angle_rad, normalize, rotation_angle_rad
from vgpa.scene import FocalSource, Problem

NUM_IMAGES, NUM_POINTS = 5, 120


@pytest.fixture(scope="module")
def truth() -> Truth:
    return make_problem(NUM_IMAGES, NUM_POINTS, noise_px=0.2)


@pytest.fixture(scope="module")
def is_seen() -> np.ndarray:
    """(num_images, num_points): everything but a few points of each image; the first two images share too few."""
    seen = np.random.default_rng(1).random((NUM_IMAGES, NUM_POINTS)) < 0.9
    seen[0, : NUM_POINTS // 2], seen[1, NUM_POINTS // 2 :] = False, False
    seen[:2, :20] = True
    return seen


@pytest.fixture(scope="module")
def arrays(truth: Truth, is_seen: np.ndarray) -> dict[str, np.ndarray]:
    """A scene in RESfM's layout."""
    xy_px = truth.problem.keypoints.xy_px.reshape(NUM_IMAGES, NUM_POINTS, 2) * is_seen[..., None]
    k = np.array([[FOCAL_PX, 0, WIDTH_PX / 2], [0, FOCAL_PX, HEIGHT_PX / 2], [0, 0, 1]])
    return {
        "M": xy_px.transpose(0, 2, 1).reshape(2 * NUM_IMAGES, NUM_POINTS),
        "Ns": np.tile(np.linalg.inv(k), (NUM_IMAGES, 1, 1)),
        "namesList": np.array([f"b/{9 - k}.jpg" for k in range(NUM_IMAGES)]),
        "Ps_gt": np.full((NUM_IMAGES, 3, 4), np.nan),
    }


@pytest.fixture(scope="module")
def scene(arrays: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("resfm") / "scene.npz"
    np.savez_compressed(path, **arrays)
    return path


@pytest.fixture(scope="module")
def problem(scene: Path) -> Problem:
    return read_resfm(scene)


class TestRoundTrip:
    """A made-up scene, written in RESfM's layout and read back."""

    def test_images_keep_their_order_names_and_calibration(self, problem: Problem) -> None:
        assert problem.images.names == tuple(f"b/{9 - k}.jpg" for k in range(NUM_IMAGES))
        assert len(problem.images.cameras) == 1
        camera = problem.images.cameras[0]
        assert (camera.model, camera.width_px, camera.height_px) == ("PINHOLE", WIDTH_PX, HEIGHT_PX)
        assert camera.focal_source is FocalSource.PRIOR
        np.testing.assert_allclose(camera.params, [FOCAL_PX, FOCAL_PX, WIDTH_PX / 2, HEIGHT_PX / 2])

    def test_keypoints_are_the_observations(self, problem: Problem, truth: Truth, is_seen: np.ndarray) -> None:
        for k in range(NUM_IMAGES):
            expected = truth.problem.keypoints.of(k)[is_seen[k]]
            np.testing.assert_allclose(problem.keypoints.of(k), expected, atol=1e-3)

    def test_matches_show_the_same_track(self, problem: Problem, is_seen: np.ndarray) -> None:
        graph, matches = problem.view_graph, problem.matches
        for e, (i, j) in enumerate(graph.edge_index.T):
            shared = np.flatnonzero(is_seen[i] & is_seen[j])
            own = matches.keypoint_idx[matches.offsets[e] : matches.offsets[e + 1]]
            tracks = np.flatnonzero(is_seen[i])[own[:, 0]]
            np.testing.assert_array_equal(tracks, np.flatnonzero(is_seen[j])[own[:, 1]])
            assert graph.num_matches[e] == len(shared)
            assert set(tracks) <= set(shared)
            assert len(tracks) > 0.95 * len(shared)

    def test_only_pairs_with_enough_shared_tracks_are_edges(self, problem: Problem) -> None:
        edges = set(map(tuple, problem.view_graph.edge_index.T.tolist()))
        everything = {(i, j) for i in range(NUM_IMAGES) for j in range(i + 1, NUM_IMAGES)}
        assert edges == everything - {(0, 1)}

    def test_relative_poses_are_those_of_the_cameras(self, problem: Problem, truth: Truth) -> None:
        cams = truth.cam_from_world
        i, j = problem.view_graph.edge_index
        true = relative(cams[i], cams[j])
        found = problem.view_graph.cam_j_from_cam_i
        angle = np.degrees(rotation_angle_rad(found.rotation, true.rotation))
        turn = np.degrees(direction_angle_rad(found.translation, normalize(true.translation)))
        assert problem.view_graph.has_direction.all()
        assert max(angle.max(), turn.max()) < 0.5

    def test_reading_again_gives_the_same(self, problem: Problem, scene: Path) -> None:
        again = read_resfm(scene)
        np.testing.assert_array_equal(again.matches.keypoint_idx, problem.matches.keypoint_idx)
        np.testing.assert_array_equal(
            again.view_graph.cam_j_from_cam_i.matrix, problem.view_graph.cam_j_from_cam_i.matrix
        )

    def test_the_mapper_takes_it(self, scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["map", str(scene), "-o", str(tmp_path), "--json", "--preset", "fast"]) == 0
        assert json.loads(capsys.readouterr().out)["num_registered"] == NUM_IMAGES


def write(path: Path, arrays: dict[str, np.ndarray], **changed: Any) -> Path:
    """The scene with some arrays changed, or left out where they are None."""
    merged = {key: value for key, value in (arrays | changed).items() if value is not None}
    np.savez(path, **merged)
    return path


class TestVariants:
    """What differs between files in the wild."""

    def test_names_as_objects_are_not_loaded(self, arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
        path = write(tmp_path / "scene.npz", arrays, namesList=np.array([Bomb()] * NUM_IMAGES, dtype=object))
        names = read_resfm(path).images.names
        assert names[:2] == ("camera_0000", "camera_0001")

    def test_no_names(self, arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
        path = write(tmp_path / "scene.npz", arrays, namesList=None)
        assert read_resfm(path).images.names[-1] == f"camera_{NUM_IMAGES - 1:04d}"

    def test_names_as_bytes(self, arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
        path = write(tmp_path / "scene.npz", arrays, namesList=np.char.encode(arrays["namesList"], "utf-8"))
        assert read_resfm(path).images.names[0] == "b/9.jpg"

    def test_each_calibration_has_its_camera(self, arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
        inverse = arrays["Ns"].copy()
        k = np.array([[900.0, 0, 30.5], [0, 950, 20], [0, 0, 1]])
        inverse[2] = np.linalg.inv(k)
        problem = read_resfm(write(tmp_path / "scene.npz", arrays, Ns=inverse))
        assert len(problem.images.cameras) == 2
        camera = problem.images.camera_of(2)
        np.testing.assert_allclose(camera.params, [900, 950, 30.5, 20], rtol=1e-9)
        assert (problem.keypoints.of(2) <= (camera.width_px, camera.height_px)).all()

    def test_single_precision_in_columns(self, arrays: dict[str, np.ndarray], problem: Problem, tmp_path: Path) -> None:
        measured = np.asfortranarray(arrays["M"], dtype=np.float32)
        again = read_resfm(write(tmp_path / "scene.npz", arrays, M=measured))
        np.testing.assert_array_equal(again.keypoints.xy_px, problem.keypoints.xy_px)

    def test_nothing_shared_gives_no_edges(self, arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
        path = write(tmp_path / "scene.npz", arrays, M=np.zeros((2 * NUM_IMAGES, 0)))
        assert read_resfm(path).view_graph.num_edges == 0


class Bomb:
    """An object that fails the test when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("an object was loaded",))


def with_value(array: np.ndarray, value: float) -> np.ndarray:
    result = array.copy()
    result.flat[3] = value
    return result


def swapped_names(name: str) -> np.ndarray:
    return np.array([name, *(f"{k}.jpg" for k in range(1, NUM_IMAGES))])


class TestHostile:
    """Every bad file ends in a sentence that names what is wrong."""

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"M": None}, "no array 'M'"),
            ({"Ns": None}, "no array 'Ns'"),
            ({"M": np.zeros((2 * NUM_IMAGES + 1, 9))}, "M should have shape"),
            ({"M": np.zeros(7)}, "M should have shape"),
            ({"Ns": np.zeros((NUM_IMAGES, 3, 4))}, "Ns should have shape"),
            ({"Ns": np.zeros((1, 3, 3))}, "1 images"),
            ({"Ns": np.zeros((NUM_IMAGES, 3, 3))}, "cannot be read"),
            ({"Ns": np.ones((NUM_IMAGES, 3, 3)) + np.eye(3)}, "not the inverse of a calibration"),
            ({"Ns": np.tile(np.diag([-1.0, 1, 1]), (NUM_IMAGES, 1, 1))}, "not the inverse of a calibration"),
            ({"Ns": np.tile(np.diag([1e-300, 1, 1]), (NUM_IMAGES, 1, 1))}, "not the inverse of a calibration"),
            ({"M": np.full((2 * NUM_IMAGES, 9), 1e30)}, "cannot be pixels"),
            ({"M": np.full((2 * NUM_IMAGES, 9), "x")}, "not numbers"),
            ({"M": np.zeros((2 * NUM_IMAGES, 9), dtype=complex)}, "not numbers"),
            ({"M": np.array([[Bomb()]] * 10, dtype=object)}, "Python objects"),
            ({"Ns": np.array([Bomb()], dtype=object)}, "Python objects"),
            ({"namesList": np.array(["a.jpg"])}, "namesList has shape"),
            ({"namesList": np.array(["a.jpg"] * NUM_IMAGES)}, "twice"),
            ({"namesList": np.array([b"\xff"] * NUM_IMAGES)}, "cannot be read"),
        ],
    )
    def test_wrong_arrays(
        self, changed: dict[str, Any], message: str, arrays: dict[str, np.ndarray], tmp_path: Path
    ) -> None:
        with pytest.raises(InputError, match=message):
            read_resfm(write(tmp_path / "scene.npz", arrays, **changed))

    @pytest.mark.parametrize("key", ["M", "Ns"])
    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_not_finite(self, key: str, value: float, arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
        with pytest.raises(InputError, match=f"{key} holds numbers that are not finite"):
            read_resfm(write(tmp_path / "scene.npz", arrays, **{key: with_value(arrays[key], value)}))

    @pytest.mark.parametrize("name", ["../a.jpg", "a/../../b.jpg", "/a.jpg", "C:\\a.jpg", "..\\a.jpg", "", "a\nb.jpg"])
    def test_names_that_lead_elsewhere(self, name: str, arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
        with pytest.raises(InputError, match="not a name below a folder"):
            read_resfm(write(tmp_path / "scene.npz", arrays, namesList=swapped_names(name)))

    @pytest.mark.parametrize(
        ("shape", "message"),
        [
            ((10, 2**40), "absurd"),
            ((10, 10**30), "absurd"),
            ((10, -5), "absurd"),
            ((10, 10**6), "should take 80000000"),
        ],
    )
    def test_headers_that_claim_too_much(
        self, shape: tuple[int, ...], message: str, arrays: dict[str, np.ndarray], tmp_path: Path
    ) -> None:
        path = write(tmp_path / "scene.npz", arrays, M=None)
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("M.npy", header.getvalue() + bytes(80))
        with pytest.raises(InputError, match=message):
            read_resfm(path)

    def test_files_that_are_no_archive(self, tmp_path: Path) -> None:
        path = tmp_path / "scene.npz"
        with pytest.raises(InputError, match="no tracks at"):
            read_resfm(path)
        for content in (b"", b"text", pickle.dumps(Bomb())):
            path.write_bytes(content)
            with pytest.raises(InputError, match="cannot be read as tracks"):
                read_resfm(path)

    def test_truncated_at_any_place(self, scene: Path, tmp_path: Path) -> None:
        content = scene.read_bytes()
        for length in np.linspace(0, len(content) - 1, 40).astype(int):
            (tmp_path / "scene.npz").write_bytes(content[:length])
            with pytest.raises(InputError):
                read_resfm(tmp_path / "scene.npz")

    def test_damaged_at_any_place(self, scene: Path, tmp_path: Path) -> None:
        """A changed byte is refused, or does not matter; nothing else escapes."""
        content = scene.read_bytes()
        rng = np.random.default_rng(0)
        num_refused = 0
        for place in rng.integers(0, len(content), 300):
            damaged = bytearray(content)
            damaged[place] ^= rng.integers(1, 256)
            (tmp_path / "scene.npz").write_bytes(damaged)
            try:
                read_tracks(tmp_path / "scene.npz")
            except InputError:
                num_refused += 1
        assert num_refused > 200

    def test_the_command_line_says_it_in_one_sentence(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "scene.npz").write_text("text")
        assert run(["map", str(tmp_path / "scene.npz"), "-o", str(tmp_path / "out"), "-q"]) == 2
        assert capsys.readouterr().err.count("\n") == 1
