"""Laws of the drawing board: frames move and turn, walls leave their holes open, solids face outwards."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgpa.demo.paints import planks
from vgpa.demo.plan import Hole, Plan

PAINT = planks((0.5, 0.5, 0.5))


def area_normals(plan: Plan) -> npt.NDArray[np.float64]:
    """Normal of each quad (Q, 3), as long as its area: half the cross product of its diagonals."""
    corners = np.stack([quad.corners for quad in plan.quads])
    return np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1]) / 2


@given(x=st.floats(-9, 9), y=st.floats(-9, 9), yaw_deg=st.floats(-180, 180))
def test_a_frame_moved_there_and_back_is_where_it_was(x: float, y: float, yaw_deg: float) -> None:
    there = Plan().at(3.0, -2.0, 1.0, 20.0).at(x, y, 0.5, yaw_deg)
    back = there.at(0, 0, 0, -yaw_deg).at(-x, -y, -0.5)
    np.testing.assert_allclose(back.world_from_local, Plan().at(3.0, -2.0, 1.0, 20.0).world_from_local, atol=1e-12)


@given(bearing_deg=st.floats(0, 360), distance_m=st.floats(1, 50))
def test_a_site_around_the_middle_turns_its_front_away_from_it(bearing_deg: float, distance_m: float) -> None:
    site = Plan().around(bearing_deg, distance_m).world_from_local
    assert np.linalg.norm(site[:2, 3]) == pytest.approx(distance_m)
    np.testing.assert_allclose(-site[:3, 1], site[:3, 3] / distance_m, atol=1e-9)


@pytest.mark.parametrize(
    "holes", [[], [(1, 0, 2, 2)], [(0.5, 1, 1.5, 2), (2.5, 1, 3.5, 2)], [(0.5, 1, 1.5, 2), (2, 0, 3, 1.5)]]
)
def test_a_wall_covers_all_but_its_holes(holes: list[Hole]) -> None:
    plan = Plan().at(1, 2, 3, 30.0)
    plan.wall(4.0, 3.0, holes, PAINT)
    open_m2 = sum((x1 - x0) * (z1 - z0) for x0, z0, x1, z1 in holes)
    assert np.linalg.norm(area_normals(plan), axis=1).sum() == pytest.approx(12.0 - open_m2)
    assert len(plan.surfaces) == 1, "the pieces of a wall share one picture"


def test_a_closed_solid_faces_outwards() -> None:
    plan = Plan().at(5, -4, 2, 70.0)
    plan.block((0, 0, 0), (2, 3, 4), PAINT, hidden="")
    normals = area_normals(plan)
    np.testing.assert_allclose(normals.sum(axis=0), 0.0, atol=1e-9, err_msg="the faces do not close")
    volume_m3 = sum(quad.corners[0] @ normal for quad, normal in zip(plan.quads, normals, strict=True)) / 3
    assert volume_m3 == pytest.approx(24.0)
    for surface, normal in zip(plan.surfaces, normals, strict=True):
        np.testing.assert_allclose(surface.normal, normal / np.linalg.norm(normal), atol=1e-9)
