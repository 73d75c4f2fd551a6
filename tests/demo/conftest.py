"""The demo world, built once for all tests of this folder."""

from __future__ import annotations

import pytest

from vgpa.demo.world import World, make_world


@pytest.fixture(scope="session")
def world() -> World:
    return make_world(seed=0)
