# SPDX-License-Identifier: GPL-3.0-or-later
"""The thickness of the skin: the cheapest for what the list has shown, in steps, within limits."""

import jax
import numpy as np
import pytest

from engine.geometry import mean_neighbours
from engine.kernels.neighbours import made_for
from engine.kernels.skin import BUILD_COST, THICKEST_SKIN, THINNEST_SKIN, next_skin
from engine.params import Params
from engine.state import NeighbourList
from engine.step import pack, unpack

PARAMS = Params(space_size=100.0)
WIDTH = 2 * PARAMS.radius
COUNT = 600


@jax.jit
def _next(old: NeighbourList, count, packed):
    params = unpack(packed)
    # The parameters that the list was made for, as they are or changed by a share.
    return next_skin(old._replace(made_for=made_for(params) * old.made_for), count, params)


def listed(skin: float, crowding: float = 1.0) -> float:
    """Neighbours in the mean of rods at random places, times `crowding`."""
    reach = max(2 * PARAMS.radius, PARAMS.sensing_range) + skin
    density = COUNT / PARAMS.space_size**2
    return crowding * float(mean_neighbours(density, PARAMS.length, reach))


def following(
    skin: float, age: int, mean: float | None = None, changed=(1, 1, 1), params: Params = PARAMS
) -> float:
    """The skin after a list that lasted `age` steps."""
    mean = listed(skin) if mean is None else mean
    arrays = {
        "table": np.zeros((8, 2), np.int32), "used": np.zeros(1, np.int32),
        "pos": np.zeros((2, 2), np.float32), "theta": np.zeros(2, np.float32),
        "made_for": np.float32(changed), "skin": np.float32(skin), "age": np.int32(age),
        "builds": np.int32(1), "mean": np.float32(mean), "most": np.int32(1),
        "candidates": np.int32(1),
    }  # fmt: skip
    return float(_next(NeighbourList(**jax.device_put(arrays)), np.int32(COUNT), pack(params)))


def settled(speed: float, skin: float, crowding: float = 1.0) -> float:
    """Where the skin comes to rest when the fastest tip moves by `speed` a step."""
    for _ in range(40):
        age = max(1, round(skin / (2 * speed)))
        skin = following(skin, age, listed(skin, crowding))
    return skin


@pytest.mark.parametrize("speed", [3e-4, 1e-3, 4e-3])
@pytest.mark.parametrize("crowding", [1.0, 2.5])
def test_the_skin_comes_to_rest_where_a_step_is_cheapest(speed, crowding):
    """Among all skins: listed pairs, and what a build costs over the steps that it serves."""
    skins = np.linspace(THINNEST_SKIN, THICKEST_SKIN, 4000) * WIDTH
    cost = [listed(skin, crowding) + BUILD_COST * 2 * speed / skin for skin in skins]
    best = skins[np.argmin(cost)]
    assert THINNEST_SKIN * WIDTH < best < THICKEST_SKIN * WIDTH
    for begin in (THINNEST_SKIN * WIDTH, THICKEST_SKIN * WIDTH):
        # Lists last whole steps.
        assert settled(speed, begin, crowding) == pytest.approx(best, rel=0.05)


def test_fast_rods_get_a_thicker_skin_and_crowds_a_thinner_one():
    assert following(0.3, age=3) > 0.35
    assert following(0.3, age=300) < 0.25
    assert following(0.3, age=20, mean=3 * listed(0.3)) < following(0.3, age=20)


def test_it_goes_half_way_in_ratio():
    once = following(0.3, age=3)
    best = settled(0.3 / 6, 0.3)
    assert once == pytest.approx(np.sqrt(0.3 * best), rel=0.1)


def test_it_stays_within_its_limits():
    assert following(THICKEST_SKIN * WIDTH, age=1) == pytest.approx(THICKEST_SKIN * WIDTH)
    assert following(THINNEST_SKIN * WIDTH, age=10**8) == pytest.approx(THINNEST_SKIN * WIDTH)
    for mean in (0.0, 1e9):
        for age in (1, 2**31 - 1):
            skin = following(0.3, age, mean)
            assert THINNEST_SKIN * WIDTH * 0.999 <= skin <= THICKEST_SKIN * WIDTH * 1.001


@pytest.mark.parametrize("changed", [(1.1, 1, 1), (1, 1.1, 1), (1, 1, 1.1), (np.nan, 1, 1)])
def test_an_edit_that_ends_a_list_tells_nothing_of_its_skin(changed):
    assert following(0.3, age=3, changed=changed) == np.float32(0.3)


def test_nor_does_a_list_that_took_no_step():
    assert following(0.3, age=0) == np.float32(0.3)


def test_it_stays_a_number_in_a_box_whose_area_is_none():
    """Without a skin a list would never be current, and be built for ever."""
    huge = Params(space_size=3e38, length=1e30, radius=1e28)
    assert following(1e28, age=3, mean=1.0, params=huge) == np.float32(1e28)
