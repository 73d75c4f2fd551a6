"""Reading a run for the viewer: stages land on the final world, and what is missing or broken is said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.synthetic import make_problem, ring_cameras
from tests.test_solve import quiet
from vgpa.errors import InputError
from vgpa.geometry.alignment import Similarity
from vgpa.geometry.rigid import Rigid
from vgpa.geometry.rotation import exp_map
from vgpa.output import STAGE_POSES, write_models, write_stage_poses
from vgpa.pipeline import map_database
from vgpa.solution import Solution
from vgpa.solve import solve
from vgpa.stages import StageLog
from vgpa.viewer.load import FINAL, load_run
from vgpa.viewer.world import measure_change


@pytest.fixture(scope="module")
def solution() -> Solution:
    """A model of eight images."""
    return solve(make_problem(8, 80, noise_px=0.3).problem, quiet(), StageLog())


@pytest.fixture
def folder(solution: Solution, tmp_path: Path) -> Path:
    """The output folder of that run."""
    write_models([part.model for part in solution.parts], solution.problem.keypoints, tmp_path)
    write_stage_poses(solution, tmp_path)
    return tmp_path


def write_stage(folder: Path, stage: str, names: list[str], cam_from_world: Rigid, image_idx: list[int]) -> None:
    """A file of poses with one stage of the first model."""
    arrays = {
        "names": np.array(names),
        f"0/{stage}/image_idx": np.array(image_idx),
        f"0/{stage}/quaternion_wxyz": cam_from_world.quaternion_wxyz,
        f"0/{stage}/translation": cam_from_world.translation,
    }
    np.savez(folder / STAGE_POSES, **arrays)


def test_a_run_keeps_its_averaged_poses_near_the_final_ones(folder: Path, solution: Solution) -> None:
    (viewed,) = load_run(folder, None).models
    assert list(viewed.stages)[-2:] == ["averaged", FINAL]
    assert viewed.model.num_registered == 8
    change = measure_change(viewed.stages["averaged"], viewed.stages[FINAL])
    assert change.num_images == 8
    assert 0 < change.rotation_deg < 1
    assert 0 < change.position_percent < 5


def test_every_run_leaves_what_the_viewer_needs(synthetic_database: tuple[Path, Path], tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    map_database(synthetic_database[0], tmp_path / "out", quiet(), images=photos)
    run = load_run(tmp_path / "out", None)
    assert run.image_folder == photos
    assert "averaged" in run.models[0].stages


def test_a_stage_in_another_world_lands_on_the_final_one(folder: Path) -> None:
    model = load_run(folder, None).models[0].model
    other_from_world = Similarity(7.0, exp_map(np.array([0.4, -1.0, 2.0])), np.array([3.0, -50.0, 8.0]))
    moved = other_from_world.apply_to_cameras(model.poses.cam_from_world)
    write_stage(folder, "network", list(model.images.names), moved, list(range(8)))
    network = load_run(folder, None).models[0].stages["network"]
    assert network.cam_from_world.centre == pytest.approx(model.poses.cam_from_world.centre, abs=1e-6)
    assert network.cam_from_world.rotation == pytest.approx(model.poses.cam_from_world.rotation, abs=1e-6)


def test_images_that_a_stage_did_not_have_are_unknown_there(folder: Path) -> None:
    model = load_run(folder, None).models[0].model
    names = list(model.images.names)
    write_stage(folder, "network", names, model.poses.cam_from_world[[1, 4, 6]], [1, 4, 6])
    network = load_run(folder, None).models[0].stages["network"]
    assert np.flatnonzero(network.is_known).tolist() == [1, 4, 6]


def test_a_plain_model_folder_has_only_final_poses(folder: Path) -> None:
    (viewed,) = load_run(folder / "sparse" / "0", None).models
    assert list(viewed.stages) == [FINAL]


def test_models_come_in_the_order_of_their_numbers(folder: Path, solution: Solution) -> None:
    write_models([solution.model] * 11, solution.problem.keypoints, folder)
    assert [viewed.name for viewed in load_run(folder, None).models] == [str(k) for k in range(11)]


@pytest.mark.parametrize("broken", ["text", "no_names", "index", "quaternion"])
def test_a_broken_file_of_poses_is_named(folder: Path, broken: str) -> None:
    if broken == "text":
        (folder / STAGE_POSES).write_text("no archive")
    elif broken == "no_names":
        np.savez(folder / STAGE_POSES, **{"0/network/image_idx": np.arange(2)})
    elif broken == "index":
        write_stage(folder, "network", ["a"], ring_cameras(3), [0, 7, 1])
    else:
        write_stage(folder, "network", ["a", "b"], Rigid.identity(2), [0, 1])
        with np.load(folder / STAGE_POSES) as arrays:
            changed = dict(arrays) | {"0/network/quaternion_wxyz": np.zeros((2, 4))}
        np.savez(folder / STAGE_POSES, **changed)
    with pytest.raises(InputError, match=STAGE_POSES):
        load_run(folder, None)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model"):
        load_run(tmp_path, None)


def test_photos_are_found_where_run_or_user_says(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert load_run(folder, None).image_folder is None
    (folder / "images").mkdir()
    assert load_run(folder, None).image_folder == folder / "images"
    named, given = tmp_path_factory.mktemp("named"), tmp_path_factory.mktemp("given")
    (folder / "report.json").write_text(json.dumps({"image_folder": str(named)}))
    assert load_run(folder, None).image_folder == named
    assert load_run(folder, given).image_folder == given
