"""Fuzzing in small: hypothesis draws inputs for every parser and type constructor, and shrinks what breaks one.

`benchmarks/reliability.py fuzz` tries the same targets a million times, with plain seeds.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.more_parsers import MORE_PARSERS
from tests.fuzz.mutate import mutate
from tests.fuzz.parsers import PARSERS
from tests.fuzz.targets import Target, is_accepted
from tests.fuzz.types import TYPES

pytestmark = pytest.mark.filterwarnings("ignore")
TARGETS = [*PARSERS, *MORE_PARSERS, *TYPES]
SLOW = ("tracks (npz) arrays", "hloc features", "hloc matches")
"""What these accept is verified by COLMAP."""


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_every_input_is_accepted_or_refused_as_promised(target: Target, tmp_path: Path) -> None:
    attempt = target.prepare(tmp_path)

    @settings(max_examples=10 if target.name in SLOW else 60, suppress_health_check=list(HealthCheck))
    @given(st.randoms(use_true_random=False))
    def run(random: Random) -> None:
        is_accepted(target, attempt, random)

    run()


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_the_generators_reach_beyond_the_first_check(target: Target, tmp_path: Path) -> None:
    """A fuzzer whose inputs are all refused (or all accepted) at once would test nothing."""
    attempt = target.prepare(tmp_path)
    num = 20 if target.name in SLOW else 300
    num_accepted = sum(is_accepted(target, attempt, Random(seed)) for seed in range(num))
    assert num_accepted > 0 or target.name in ("shard", "camera parameters")
    # EXIF is a hint: garbage in it must never cost a photo.
    assert num_accepted < num or target.name == "EXIF"


def test_damage_depends_on_the_draws_alone() -> None:
    content = bytes(range(256)) * 4
    assert mutate(Random(5), content) == mutate(Random(5), content)
    assert len({mutate(Random(seed), content) for seed in range(50)}) > 45
