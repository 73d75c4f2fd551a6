"""hloc's files: what was exported is what we import, half pixels and narrow numbers included; bad ones are refused."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from PIL import Image

from tests.frontend.test_build import build, small_config
from vgpa.cli import run
from vgpa.colmap.database import read_problem
from vgpa.colmap.tables import MAX_NUM_IMAGES, opened
from vgpa.errors import InputError
from vgpa.frontend.build import build_database
from vgpa.frontend.hloc import import_hloc
from vgpa.geometry.rotation import rotation_angle_rad
from vgpa.scene import Problem
from vgpa.stages import StageLog

Capture = pytest.CaptureFixture[str]
Matches = dict[tuple[str, str], np.ndarray]


@dataclass(frozen=True, eq=False)
class Source:
    """What a database of ours holds: its problem, and all matches before verification."""

    problem: Problem
    keypoints: dict[str, np.ndarray]
    matches: Matches


@pytest.fixture(scope="module")
def source(demo_photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Source:
    database = build(demo_photos, tmp_path_factory.mktemp("hloc_source"))
    problem = read_problem(database)
    names = problem.images.names
    matches: Matches = {}
    with opened(database) as connection:
        for pair_id, rows, data in connection.execute("SELECT pair_id, rows, data FROM matches WHERE rows > 0"):
            a, b = (names[image_id - 1] for image_id in divmod(pair_id, MAX_NUM_IMAGES))
            matches[a, b] = np.frombuffer(data, dtype=np.uint32).reshape(rows, 2).astype(np.int64)
    return Source(problem, {name: problem.keypoints.of(k) for k, name in enumerate(names)}, matches)


@pytest.fixture
def files(source: Source, tmp_path: Path) -> Files:
    """hloc's two files in the layout of today."""
    return Files.write(tmp_path, source)


@dataclass(frozen=True)
class Files:
    """hloc's two files, as hloc writes them unless told otherwise."""

    features: Path
    matches: Path

    @classmethod
    def write(cls, folder: Path, source: Source, dtype: Any = np.float32, key: str = "{a}/{b}") -> Files:
        files = cls(folder / "features.h5", folder / "matches.h5")
        with h5py.File(files.features, "w") as file:
            for name, xy_px in source.keypoints.items():
                file[f"{name}/keypoints"] = (xy_px - 0.5).astype(dtype)
                file[f"{name}/image_size"] = np.array([480, 320])
                file[f"{name}/descriptors"] = np.zeros((4, len(xy_px)), dtype=np.float16)
        with h5py.File(files.matches, "w") as file:
            for (a, b), keypoint_idx in source.matches.items():
                group = file.create_group(key.format(a=a.replace("/", "-"), b=b.replace("/", "-")))
                group["matches0"] = matches0(keypoint_idx, len(source.keypoints[a]))
                group["matching_scores0"] = np.ones(len(source.keypoints[a]), dtype=np.float16)
        return files

    def load(self, images: Path, database: Path) -> list[str]:
        return import_hloc(self.features, self.matches, images, database, small_config())


def matches0(keypoint_idx: np.ndarray, num: int) -> np.ndarray:
    result = np.full(num, -1, dtype=np.int16)
    result[keypoint_idx[:, 0]] = keypoint_idx[:, 1]
    return result


def assert_same_problem(found: Problem, expected: Problem) -> None:
    assert found.images.names == expected.images.names
    np.testing.assert_allclose(found.keypoints.xy_px, expected.keypoints.xy_px, atol=1e-4)
    np.testing.assert_array_equal(found.view_graph.edge_index, expected.view_graph.edge_index)
    np.testing.assert_array_equal(found.view_graph.num_matches, expected.view_graph.num_matches)
    np.testing.assert_allclose(found.view_graph.num_inliers, expected.view_graph.num_inliers, rtol=0.05, atol=2)
    rotations = (graph.cam_j_from_cam_i.rotation for graph in (found.view_graph, expected.view_graph))
    strong = expected.view_graph.num_inliers >= 30
    assert np.degrees(rotation_angle_rad(*rotations))[strong].max() < 0.1


class TestRoundTrip:
    """A database of ours in hloc's files, and back."""

    def test_keypoints_cameras_and_verified_pairs_come_back(
        self, files: Files, source: Source, demo_photos: Path, tmp_path: Path
    ) -> None:
        assert files.load(demo_photos, tmp_path / "a.db") == []
        found = read_problem(tmp_path / "a.db")
        assert source.problem.view_graph.num_edges >= 5
        assert_same_problem(found, source.problem)
        for camera, expected in zip(found.images.cameras, source.problem.images.cameras, strict=True):
            assert camera.focal_source is expected.focal_source
            np.testing.assert_allclose(camera.params, expected.params)
        assert {path.name for path in tmp_path.iterdir()} == {"a.db", "features.h5", "matches.h5"}

    def test_two_imports_are_equal(self, files: Files, demo_photos: Path, tmp_path: Path) -> None:
        first, second = tmp_path / "a.db", tmp_path / "b.db"
        for database in (first, second):
            files.load(demo_photos, database)
        a, b = (read_problem(database).view_graph.cam_j_from_cam_i.matrix for database in (first, second))
        np.testing.assert_array_equal(a, b)

    def test_pairs_in_the_old_layout_and_in_the_other_order(
        self, source: Source, demo_photos: Path, tmp_path: Path
    ) -> None:
        turned = replace(source, matches={(b, a): match[:, ::-1] for (a, b), match in source.matches.items()})
        # A turned match of hloc's kind keeps one match for each keypoint, and so may lose some.
        files = Files.write(tmp_path, turned, key="{a}_{b}")
        files.load(demo_photos, tmp_path / "a.db")
        found = read_problem(tmp_path / "a.db")
        np.testing.assert_array_equal(found.view_graph.edge_index, source.problem.view_graph.edge_index)
        np.testing.assert_allclose(found.view_graph.num_matches, source.problem.view_graph.num_matches, atol=2)

    def test_a_pair_in_both_orders_counts_once(
        self, files: Files, source: Source, demo_photos: Path, tmp_path: Path
    ) -> None:
        with h5py.File(files.matches, "a") as file:
            for (a, b), match in source.matches.items():
                file[f"{b}/{a}/matches0"] = matches0(match[:1, ::-1], len(source.keypoints[b]))
        files.load(demo_photos, tmp_path / "a.db")
        assert_same_problem(read_problem(tmp_path / "a.db"), source.problem)

    def test_photos_in_folders_with_spaces(self, source: Source, demo_photos: Path, tmp_path: Path) -> None:
        shutil.copytree(demo_photos, tmp_path / "photos" / "my walk")
        moved = Source(
            source.problem,
            {f"my walk/{name}": xy_px for name, xy_px in source.keypoints.items()},
            {(f"my walk/{a}", f"my walk/{b}"): match for (a, b), match in source.matches.items()},
        )
        Files.write(tmp_path, moved).load(tmp_path / "photos", tmp_path / "a.db")
        found = read_problem(tmp_path / "a.db")
        assert found.images.names[0] == f"my walk/{source.problem.images.names[0]}"
        np.testing.assert_array_equal(found.view_graph.edge_index, source.problem.view_graph.edge_index)

    def test_a_photo_without_features_stays_in_the_list(
        self, files: Files, source: Source, demo_photos: Path, tmp_path: Path
    ) -> None:
        shutil.copytree(demo_photos, tmp_path / "photos")
        shutil.copy(demo_photos / "view_000.jpg", tmp_path / "photos" / "zzz.jpg")
        (tmp_path / "photos" / "broken.jpg").write_text("no photo")
        notes = files.load(tmp_path / "photos", tmp_path / "a.db")
        assert len(notes) == 1
        assert "broken.jpg" in notes[0]
        assert read_problem(tmp_path / "a.db").keypoints.num_of()[-1] == 0

    def test_later_extraction_does_not_take_imported_keypoints_for_its_own(
        self, files: Files, source: Source, demo_photos: Path, tmp_path: Path
    ) -> None:
        database = tmp_path / "out" / "database.db"
        database.parent.mkdir()
        with h5py.File(files.features, "a") as file:
            for name in source.keypoints:
                file[f"{name}/keypoints"][...] += 1.0
        files.load(demo_photos, database)
        build_database(demo_photos, database.parent, small_config(), StageLog())
        np.testing.assert_array_equal(read_problem(database).keypoints.xy_px, source.problem.keypoints.xy_px)


class TestHalfPrecision:
    """Keypoints in 16 bits are taken, and the user is told when that costs accuracy."""

    def test_small_photos_lose_little(self, source: Source, demo_photos: Path, tmp_path: Path) -> None:
        files = Files.write(tmp_path, source, dtype=np.float16)
        assert files.load(demo_photos, tmp_path / "a.db") == []
        found = read_problem(tmp_path / "a.db")
        np.testing.assert_allclose(found.keypoints.xy_px, source.problem.keypoints.xy_px, atol=0.13)

    def test_large_photos_give_a_note(self, tmp_path: Path) -> None:
        (tmp_path / "photos").mkdir()
        for name in ("a.jpg", "b.jpg"):
            Image.new("L", (1500, 40)).save(tmp_path / "photos" / name)
        xy_px = np.array([[1400.5, 20.5]])
        large = Source(None, {"a.jpg": xy_px, "b.jpg": xy_px}, {("a.jpg", "b.jpg"): np.array([[0, 0]])})  # type: ignore[arg-type]
        files = Files.write(tmp_path, large, dtype=np.float16)
        with h5py.File(files.features, "a") as file:
            for name in large.keypoints:
                del file[f"{name}/image_size"]
        notes = files.load(tmp_path / "photos", tmp_path / "a.db")
        assert len(notes) == 1
        assert "2 photos have keypoints in half precision" in notes[0]


Change = Callable[[h5py.File], Any]
A, B = "view_000.jpg", "view_001.jpg"


def put(path: str, value: Any) -> Change:
    """A change that replaces a dataset, or makes one."""

    def change(file: h5py.File) -> None:
        if path in file:
            del file[path]
        file[path] = value

    return change


def claim(path: str, shape: tuple[int, ...]) -> Change:
    """A change that makes a dataset claim a shape without holding anything."""

    def change(file: h5py.File) -> None:
        del file[path]
        file.create_dataset(path, shape=shape, dtype=np.float32, chunks=(1024, *shape[1:]))

    return change


def set_match(value: int, dtype: Any = np.int32) -> Change:
    def change(file: h5py.File) -> None:
        stored = file[f"{A}/{B}/matches0"][()].astype(dtype)
        stored[0] = value
        put(f"{A}/{B}/matches0", stored)(file)

    return change


def empty(file: h5py.File) -> None:
    file.clear()


class TestHostile:
    """Every bad file ends in a sentence, and leaves nothing behind."""

    @pytest.fixture(autouse=True)
    def check_nothing_is_left(self, tmp_path: Path) -> Iterator[None]:
        yield
        assert not [path for path in tmp_path.iterdir() if ".db" in path.name]

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (empty, "holds no 'keypoints'"),
            (put("../secret.jpg/keypoints", np.zeros((3, 2))), r"'\.\./secret\.jpg', which is not a readable photo"),
            (put("elsewhere.jpg/keypoints", np.zeros((3, 2))), "'elsewhere.jpg', which is not a readable photo"),
            (put(f"{A}/keypoints", np.zeros((3, 3))), r"should have shape \(any, 2\)"),
            (put(f"{A}/keypoints", np.zeros(6)), r"should have shape \(any, 2\)"),
            (put(f"{A}/keypoints", h5py.Empty("f4")), "should have shape"),
            (put(f"{A}/keypoints", np.full((3, 2), b"text")), "not numbers"),
            (put(f"{A}/keypoints", np.full((3, 2), np.nan)), "not finite"),
            (put(f"{A}/keypoints", np.full((3, 2), np.inf, dtype=np.float16)), "not finite"),
            (put(f"{A}/keypoints", np.full((3, 2), 1e300)), "far outside"),
            (claim(f"{A}/keypoints", (2**40, 2)), "claims 1099511627776 entries"),
            (put(f"{A}/image_size", np.array([960, 640])), "480 x 320 pixels"),
            (put(f"{A}/image_size", np.array([np.nan, 320])), "480 x 320 pixels"),
            (put(f"{A}/keypoints", np.zeros((3, 2))), "should have shape"),
        ],
    )
    def test_features(self, change: Change, message: str, files: Files, demo_photos: Path, tmp_path: Path) -> None:
        with h5py.File(files.features, "a") as file:
            change(file)
        with pytest.raises(InputError, match=message):
            files.load(demo_photos, tmp_path / "a.db")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (empty, "holds no 'matches0'"),
            (set_match(-32768, np.int16), "16-bit numbers that overflowed"),
            (set_match(-2), "overflowed"),
            (set_match(100_000), "matches keypoint 100000"),
            (put(f"{A}/{B}/matches0", np.zeros(3, dtype=np.int16)), "should have shape"),
            (put(f"{A}/{B}/matches0", np.zeros((3, 2), dtype=np.int16)), "should have shape"),
            (put(f"{A}/{A}/matches0", np.zeros(3, dtype=np.int16)), "names no two photos"),
            (put(f"{A}/nowhere.jpg/matches0", np.zeros(3, dtype=np.int16)), "names no two photos"),
            (put("../secret.jpg/matches0", np.zeros(3, dtype=np.int16)), "names no two photos"),
            (put("a/b/c/matches0", np.zeros(3, dtype=np.int16)), "names no two photos"),
        ],
    )
    def test_matches(self, change: Change, message: str, files: Files, demo_photos: Path, tmp_path: Path) -> None:
        with h5py.File(files.matches, "a") as file:
            change(file)
        with pytest.raises(InputError, match=message):
            files.load(demo_photos, tmp_path / "a.db")

    def test_matches_that_are_not_numbers(
        self, files: Files, source: Source, demo_photos: Path, tmp_path: Path
    ) -> None:
        with h5py.File(files.matches, "a") as file:
            put(f"{A}/{B}/matches0", np.zeros(len(source.keypoints[A])))(file)
        with pytest.raises(InputError, match="holds float64, not numbers"):
            files.load(demo_photos, tmp_path / "a.db")

    def test_more_keypoints_than_16_bits_can_count(self, files: Files, demo_photos: Path, tmp_path: Path) -> None:
        """Beyond 65536 an overflow can end on any number, so that no value shows it."""
        with h5py.File(files.features, "a") as file:
            put(f"{B}/keypoints", np.zeros((70_000, 2), dtype=np.float16))(file)
        with pytest.raises(InputError, match="16-bit numbers that overflowed"):
            files.load(demo_photos, tmp_path / "a.db")

    def test_names_that_could_mean_several_pairs(self, source: Source, demo_photos: Path, tmp_path: Path) -> None:
        for name in ("x.jpg", "y.jpg_x.jpg", "x.jpg_y.jpg"):
            (tmp_path / "photos").mkdir(exist_ok=True)
            shutil.copy(demo_photos / A, tmp_path / "photos" / name)
        keypoints = dict.fromkeys(("x.jpg", "y.jpg_x.jpg", "x.jpg_y.jpg"), source.keypoints[A])
        pairs = {("x.jpg", "y.jpg_x.jpg"): np.array([[0, 0]])}
        files = Files.write(tmp_path, Source(source.problem, keypoints, pairs), key="{a}_{b}")
        with pytest.raises(InputError, match="several pairs"):
            files.load(tmp_path / "photos", tmp_path / "a.db")

    @pytest.mark.parametrize("which", ["features", "matches"])
    def test_truncated_at_any_place(self, which: str, files: Files, demo_photos: Path, tmp_path: Path) -> None:
        path: Path = getattr(files, which)
        size = path.stat().st_size
        for length in np.linspace(size - 1, 0, 12).astype(int):
            os.truncate(path, length)
            with pytest.raises(InputError, match="cannot be read as a file of hloc"):
                files.load(demo_photos, tmp_path / "a.db")

    def test_files_that_are_not_there_or_swapped(self, files: Files, demo_photos: Path, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="no file at"):
            replace(files, features=tmp_path / "nothing.h5").load(demo_photos, tmp_path / "a.db")
        with pytest.raises(InputError, match="features first"):
            Files(files.matches, files.features).load(demo_photos, tmp_path / "a.db")


class TestCommandLine:
    """`vgpa import-hloc`, and on to the mapper."""

    def test_import_and_map(self, files: Files, demo_photos: Path, tmp_path: Path, capsys: Capture) -> None:
        database = tmp_path / "new" / "database.db"
        given = [str(files.features), str(files.matches), "--images", str(demo_photos), "-o", str(database)]
        assert run(["import-hloc", *given]) == 0
        assert str(database) in capsys.readouterr().out
        assert run(["map", str(database), "-o", str(tmp_path / "out"), "-q", "--preset", "fast"]) == 0

    def test_an_existing_database_is_never_replaced(
        self, files: Files, demo_photos: Path, tmp_path: Path, capsys: Capture
    ) -> None:
        (tmp_path / "a.db").write_text("precious")
        given = [str(files.features), str(files.matches), "--images", str(demo_photos), "-o", str(tmp_path / "a.db")]
        assert run(["import-hloc", *given, "-q"]) == 2
        error = capsys.readouterr().err
        assert "exists already" in error
        assert error.count("\n") == 1
        assert (tmp_path / "a.db").read_text() == "precious"
