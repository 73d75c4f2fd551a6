"""The quarter: what stands where, from the fountain out to the clouds.

Six houses, a tower and a loggia stand around a paved square with a fountain in its middle, inside
a town wall; hills close the view. `draw_quarter` draws all of it on one plan. The layout is always
the same, and the fountain is the origin. Metres, z up. Touches no files.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vgpa.demo.buildings import BRICK, STONE, House, add_fountain, add_house, add_loggia, add_tower
from vgpa.demo.paints import cloudy_sky, masonry, mottled, planks, plaster
from vgpa.demo.plan import Plan

HAZE = (0.80, 0.87, 0.93)
_LEAVES = mottled((0.10, 0.17, 0.07), (0.36, 0.44, 0.20), 0.5)
_HOUSES = (
    House(15, 13.0, (7.2, 5.4), 2, True, plaster((0.90, 0.76, 0.53)), (0.25, 0.42, 0.38)),
    House(66, 13.5, (5.8, 5.8), 3, False, plaster((0.90, 0.66, 0.52)), (0.34, 0.40, 0.30)),
    House(115, 12.5, (7.6, 5.0), 1, True, BRICK, (0.46, 0.32, 0.22)),
    House(163, 13.0, (5.6, 6.0), 2, False, plaster((0.90, 0.85, 0.74)), (0.26, 0.36, 0.50)),
    House(209, 13.0, (6.6, 5.2), 2, True, STONE, (0.48, 0.22, 0.17)),
    House(333, 13.0, (5.8, 5.4), 1, False, plaster((0.88, 0.72, 0.60)), (0.30, 0.36, 0.26)),
)
_TREES = (  # bearing_deg, distance_m, height_m
    (40, 17.5, 5.2), (92, 18.5, 4.4), (139, 17.0, 5.6), (187, 18.5, 5.0), (232, 18.0, 4.2),
    (273, 18.5, 3.8), (313, 18.0, 5.2), (352, 18.6, 4.6), (45, 15.0, 4.2), (89, 12.0, 5.4),
    (308, 7.5, 3.6), (140, 7.0, 3.4), (45, 7.4, 3.8), (186, 12.5, 4.6),
)  # fmt: skip


def draw_quarter() -> Plan:
    """The whole world on one plan."""
    plan = Plan()
    for house in _HOUSES:
        add_house(plan, house)
    add_tower(plan)
    add_loggia(plan)
    add_fountain(plan)
    _add_grounds(plan)
    _add_horizon(plan)
    return plan


def _add_grounds(plan: Plan) -> None:
    """The paved square, the yard around it, trees, and the town wall with its merlons."""
    paving = masonry((0.70, 0.62, 0.52), 0.45, 0.7)
    yard = mottled((0.36, 0.37, 0.20), (0.72, 0.65, 0.48), 3.0)
    for half, z, paint, texels_per_m in ((18.0, 0.15, paving, 42.0), (42.0, 0.0, yard, 18.0)):
        outline = [(-half, -half, z), (half, -half, z), (half, half, z), (-half, half, z)]
        replace(plan, texels_per_m=texels_per_m).face(outline, paint)
    for bearing_deg, distance_m, height_m in _TREES:
        crown = [(0.4, 0.5), (0.85, 1.3), (0.75, 0.5 * height_m), (0.0, height_m)]
        tree = plan.around(bearing_deg, distance_m)
        tree.lathe([(0.18, 0.0), (0.18, 0.5)], 6, planks((0.40, 0.30, 0.20)))
        tree.lathe(crown, 9, _LEAVES)
    town_wall = replace(plan, texels_per_m=30.0)
    town_wall.lathe([(39.0, 4.6), (38.0, 4.6), (38.0, 0.0)], 18, STONE)
    for merlon in range(54):
        site = town_wall.around(merlon * 360 / 54 + 2.0, 38.2)
        site.block((-0.8, -0.3, 4.6), (0.8, 0.3, 5.7), STONE)


def _add_horizon(plan: Plan) -> None:
    """Two chains of hills and a layer of clouds: far away, and not lit by our sun."""
    rng = np.random.default_rng(7)
    near = mottled((0.42, 0.53, 0.40), (0.54, 0.62, 0.47), 25.0)
    far = mottled((0.56, 0.67, 0.73), (0.62, 0.72, 0.77), 60.0)
    hills = replace(plan, texels_per_m=1.5)
    for radius, height, paint in ((220.0, 16.0, near), (420.0, 46.0, far)):
        angle_rad = np.linspace(0.0, 2 * np.pi, 41)
        x, y = radius * np.cos(angle_rad), radius * np.sin(angle_rad)
        top = height * rng.uniform(0.55, 1.1, 41)
        top[-1] = top[0]
        for i in range(40):
            j = i + 1
            low = [(x[j], y[j], -20.0), (x[i], y[i], -20.0)]
            hills.face([*low, (x[i], y[i], top[i]), (x[j], y[j], top[j])], paint, is_lit=False)
    reach, height = 30000.0, 2000.0
    sky = [(-reach, reach, height), (reach, reach, height)]
    sky += [(reach, -reach, height), (-reach, -reach, height)]
    clouds = cloudy_sky((0.36, 0.58, 0.84), HAZE, height)
    replace(plan, texels_per_m=0.02).face(sky, clouds, is_lit=False)
