"""What photos and options claim about cameras: nonsense is a guess or a refusal, never a camera."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.hostile.originals import make_photo, make_picture
from tests.hostile.photo_facts import make_photos_with_bad_facts
from vgpa.colmap.cameras import check_params
from vgpa.colmap.silence import silenced
from vgpa.errors import InputError
from vgpa.frontend.cameras import MAX_FOCAL_RATIO, MIN_FOCAL_RATIO, read_facts
from vgpa.frontend.shards import parse_shard
from vgpa.scene import FocalSource

pytestmark = pytest.mark.filterwarnings("ignore")


def test_garbage_in_exif_never_becomes_a_camera(tmp_path: Path) -> None:
    picture = make_picture()
    for photo in make_photos_with_bad_facts(tmp_path / "facts", picture):
        with silenced():
            facts = read_facts(photo.path, "SIMPLE_RADIAL")
        ratio = facts.camera.params[0] / max(picture.size)
        assert np.isfinite(facts.camera.params).all()
        assert MIN_FOCAL_RATIO <= ratio <= MAX_FOCAL_RATIO, photo.path.name
        assert facts.gps is None or np.isfinite(facts.gps).all()


def test_good_exif_is_believed(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(make_photo(make_picture()))
    with silenced():
        facts = read_facts(tmp_path / "photo.jpg", "SIMPLE_RADIAL")
    assert facts.camera.focal_source is FocalSource.EXIF
    assert facts.gps is not None


@pytest.mark.parametrize(
    "params", ["nan,1,1,0", "inf,1,1,0", "1,2,3", "1,2,3,4,5", "1;2;3;4", "a,b,c,d", ",,,", "\ud800,1,1,1"]
)
def test_camera_parameters_must_be_numbers(params: str) -> None:
    with pytest.raises(InputError, match="do not fit"):
        check_params("SIMPLE_RADIAL", params)


@pytest.mark.parametrize("text", ["²/³", "1/" + "9" * 5000, "1/2/3", "+1/2", " 1/2", "1/2\n"])
def test_shards_must_be_plain_numbers(text: str) -> None:
    with pytest.raises(InputError, match="i/n"):
        parse_shard(text)
