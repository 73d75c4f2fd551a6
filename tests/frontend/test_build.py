"""The front end on rendered photos: resumable, exact about what a change undoes, the same however it is cut."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vgpa import config as presets
from vgpa.colmap.store import read_keys
from vgpa.colmap.tables import names_without_features, verified_pairs
from vgpa.compute import LocalExecutor
from vgpa.config import Config
from vgpa.errors import InputError, NoModelError
from vgpa.frontend.build import build_database
from vgpa.frontend.shards import Share, compute_share, compute_step, merge_shards, parse_shard
from vgpa.stages import StageLog

TABLES = {
    "keypoints": "SELECT name, rows, cols, data FROM keypoints JOIN images USING (image_id) ORDER BY name",
    "cameras": "SELECT name, model, width, height, params FROM images JOIN cameras USING (camera_id) ORDER BY name",
    "matches": "SELECT pair_id, data FROM matches ORDER BY pair_id",
    "pairs": "SELECT pair_id, config, data, qvec, tvec FROM two_view_geometries ORDER BY pair_id",
}


def small_config() -> Config:
    config = presets.default()
    return replace(config, features=replace(config.features, max_image_size=320, max_num_features=512), num_threads=1)


def build(images: Path, output: Path, config: Config | None = None) -> Path:
    output.mkdir(parents=True, exist_ok=True)
    build_database(images, output, config or small_config(), StageLog())
    return output / "database.db"


def contents(database: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(database)) as connection:
        return {name: connection.execute(query).fetchall() for name, query in TABLES.items()}


def assert_same_contents(first: Path, second: Path) -> None:
    a, b = contents(first), contents(second)
    for table in TABLES:
        assert a[table] == b[table], f"{table} differ"


@pytest.fixture(scope="module")
def built(demo_photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(demo_photos, tmp_path_factory.mktemp("built"))


@pytest.fixture
def photos(demo_photos: Path, tmp_path: Path) -> Path:
    """A copy of the photos that a test may change; times of change are kept."""
    return Path(shutil.copytree(demo_photos, tmp_path / "photos"))


@pytest.fixture
def copy(built: Path, photos: Path, tmp_path: Path) -> Path:
    """An output folder with a finished database of the copied photos."""
    (tmp_path / "out").mkdir()
    shutil.copy(built, tmp_path / "out" / "database.db")
    return tmp_path / "out"


def test_all_photos_have_features_and_neighbours_match(built: Path) -> None:
    assert not names_without_features(built)
    assert len(verified_pairs(built)) == 15
    assert len(contents(built)["matches"]) == 15


def test_a_rerun_computes_nothing(photos: Path, copy: Path) -> None:
    before = (copy / "database.db").stat()
    build(photos, copy)
    after = (copy / "database.db").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)


class TestChanges:
    """What a change invalidates, and only that."""

    def test_a_changed_photo_loses_its_features_and_pairs(self, photos: Path, copy: Path) -> None:
        from vgpa.frontend.register import register_photos

        changed = photos / "view_002.jpg"
        Image.open(changed).rotate(90).save(changed)
        register_photos(photos, copy / "database.db", small_config())
        assert names_without_features(copy / "database.db") == ["view_002.jpg"]
        assert len(verified_pairs(copy / "database.db")) == 10

    def test_other_verification_keeps_matches(self, photos: Path, copy: Path) -> None:
        from vgpa.frontend.register import register_photos

        config = small_config()
        config = replace(config, matching=replace(config.matching, max_error_px=2.0))
        register_photos(photos, copy / "database.db", config)
        assert not verified_pairs(copy / "database.db")
        assert len(contents(copy / "database.db")["matches"]) == 15

    def test_other_cameras_keep_matches(self, photos: Path, copy: Path) -> None:
        from vgpa.frontend.register import register_photos

        config = small_config()
        config = replace(config, features=replace(config.features, camera_mode="image"))
        register_photos(photos, copy / "database.db", config)
        assert not verified_pairs(copy / "database.db")
        assert len(contents(copy / "database.db")["matches"]) == 15
        assert not names_without_features(copy / "database.db")

    def test_other_features_lose_everything(self, photos: Path, copy: Path) -> None:
        from vgpa.frontend.register import register_photos

        config = small_config()
        config = replace(config, features=replace(config.features, max_num_features=300))
        register_photos(photos, copy / "database.db", config)
        assert len(names_without_features(copy / "database.db")) == 6
        assert not contents(copy / "database.db")["matches"]

    def test_a_photo_that_is_gone_is_forgotten_and_a_new_one_is_added(
        self, photos: Path, copy: Path, built: Path
    ) -> None:
        (photos / "view_000.jpg").rename(photos / "zzz.jpg")
        database = build(photos, copy)
        assert set(read_keys(database)) == {*(f"view_00{k}.jpg" for k in range(1, 6)), "zzz.jpg"}
        shutil.rmtree(copy)
        assert_same_contents(build(photos, copy), database)

    def test_fewer_pairs_forget_the_others(self, photos: Path, copy: Path) -> None:
        listed = photos.parent / "pairs.txt"
        listed.write_text("view_000.jpg view_001.jpg\nview_003.jpg\tview_002.jpg\n")
        config = small_config()
        build(photos, copy, replace(config, pairs=replace(config.pairs, method=str(listed))))
        pairs = {("view_000.jpg", "view_001.jpg"), ("view_002.jpg", "view_003.jpg")}
        assert verified_pairs(copy / "database.db") == pairs


def test_masks_leave_features_out(photos: Path, tmp_path: Path) -> None:
    for name in sorted(path.name for path in photos.iterdir()):
        mask = np.zeros((320, 480), dtype=np.uint8)
        mask[:, 240:] = 255
        (tmp_path / "masks").mkdir(exist_ok=True)
        Image.fromarray(mask).save(tmp_path / "masks" / f"{name}.png")
    config = small_config()
    features = replace(config.features, masks=str(tmp_path / "masks"))
    database = build(photos, tmp_path / "out", replace(config, features=features))
    for _, rows, cols, data in contents(database)["keypoints"]:
        x = np.frombuffer(data, dtype=np.float32).reshape(rows, cols)[:, 0]
        assert len(x) > 0
        assert x.min() >= 239


def test_names_with_spaces_are_matched(photos: Path, tmp_path: Path, built: Path) -> None:
    for path in sorted(photos.iterdir()):
        path.rename(path.with_name(path.name.replace("_", " ")))
    database = build(photos, tmp_path / "out")
    assert ("view 000.jpg", "view 001.jpg") in verified_pairs(database)
    assert contents(database)["pairs"] == contents(built)["pairs"]


class TestShares:
    """A front end in pieces gives the database of one that is not."""

    @pytest.mark.parametrize("total", [1, 2, 5])
    def test_shares_of_a_batch_system(self, total: int, demo_photos: Path, tmp_path: Path, built: Path) -> None:
        for step in ("features", "pairs"):
            for number in range(1, total + 1):
                compute_share(Share(step, number, total, demo_photos, tmp_path, small_config()))
        with pytest.MonkeyPatch.context() as patch:
            forbid(patch, "extract_features", "match_pairs")
            assert_same_contents(build(demo_photos, tmp_path), built)

    def test_pairs_wait_for_features(self, demo_photos: Path, tmp_path: Path) -> None:
        with pytest.raises(NoModelError, match="no features yet"):
            compute_share(Share("pairs", 1, 2, demo_photos, tmp_path, small_config()))

    def test_an_executor_computes_all_shares(self, demo_photos: Path, tmp_path: Path, built: Path) -> None:
        (tmp_path / "shards").mkdir()
        for step in ("features", "pairs"):
            compute_step(step, demo_photos, tmp_path, small_config(), LocalExecutor())
        with pytest.MonkeyPatch.context() as patch:
            forbid(patch, "extract_features", "match_pairs")
            assert_same_contents(build(demo_photos, tmp_path), built)

    def test_shares_of_other_settings_are_not_merged(self, demo_photos: Path, copy: Path, tmp_path: Path) -> None:
        other = replace(small_config(), features=replace(small_config().features, max_num_features=100))
        compute_share(Share("features", 1, 1, demo_photos, copy, other))
        before = contents(copy / "database.db")
        merge_shards(copy, copy / "database.db", "features")
        assert contents(copy / "database.db") == before

    @pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "a/b", "-1/3"])
    def test_bad_shards_are_refused(self, text: str) -> None:
        with pytest.raises(InputError, match="i/n"):
            parse_shard(text)


def forbid(patch: pytest.MonkeyPatch, *names: str) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("this was computed already")

    for name in names:
        patch.setattr(f"vgpa.frontend.build.{name}", fail)


RUN = """
import sys
from pathlib import Path
from tests.frontend.test_build import build
build(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_a_killed_run_is_continued_to_the_same_end(demo_photos: Path, built: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", RUN, str(demo_photos), str(tmp_path)]
    root = Path(__file__).parents[2]
    start = time.perf_counter()
    subprocess.run([*command[:-1], str(tmp_path / "timed")], check=True, cwd=root)
    whole = time.perf_counter() - start
    rng = np.random.default_rng(0)
    for moment in rng.uniform(0.25, 0.75, 10) * whole:
        process = subprocess.Popen(command, cwd=root)
        try:
            process.wait(timeout=moment)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
    subprocess.run(command, check=True, cwd=root)
    assert_same_contents(tmp_path / "database.db", built)
