# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on neighbour lists: the same bits each time, the same rods, and lists of a sensible life."""

import itertools

import jax
import numpy as np
import pytest

from engine import Driver, Start
from engine.kernels.skin import THICKEST_SKIN, THINNEST_SKIN
from engine.study.standard import standard_params
from tests.engine import seam
from tests.engine.programs import FIFTY, fifty, setup_for
from tests.oracle import reference

# In four chunks.
RODS = 2100
PARAMS = standard_params(2100)
WIDTH = 2 * PARAMS.radius


@pytest.fixture(scope="module", params=["neighbours", "native"])
def _many(request) -> Driver:
    return Driver(setup_for(request.param, RODS), PARAMS, seed=2)


@pytest.fixture(scope="module")
def relaxed(_many: Driver) -> Start:
    return start_of(_many)


def start_of(driver: Driver) -> Start:
    snapshot = driver.snapshot()
    return Start(*(a.copy() for a in (snapshot.pos, snapshot.theta, snapshot.activity)))


@pytest.fixture
def many(_many: Driver, relaxed: Start) -> Driver:
    """The standard benchmark with 2,100 rods, relaxed, at step 0."""
    _many.rebuild(_many.setup, PARAMS, 2, relaxed)
    return _many


def host(driver: Driver):
    return jax.device_get(driver._now.held.state)


def same_bits(one, other) -> None:
    jax.tree.map(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize("noise", [{}, {"D_r": 0.02, "D_t": 1e-4}], ids=["quiet", "noisy"])
def test_the_same_bits_whatever_K_and_after_a_rebuild(many, relaxed, noise):
    """All of the state: places, order in memory, skin, list."""
    ends, snapshots = [], []
    for parts in ([180], [180], [1] * 5 + [15] * 11 + [10], [179, 1], [90, 90]):
        many.rebuild(start=relaxed)
        many.set(**noise)
        for K in parts:
            snapshot = many.advance(K)
        ends.append(host(many))
        snapshots.append(snapshot)
    assert int(ends[0].neighbours.builds) >= 3
    for end, snapshot in zip(ends[1:], snapshots[1:], strict=True):
        same_bits(end, ends[0])
        assert snapshot.rods.tobytes() == snapshots[0].rods.tobytes()
        assert snapshot.observables == snapshots[0].observables


def test_each_row_stays_the_same_rod_while_memory_is_put_in_order(many):
    """A row that became another rod would jump by the distance of two rods."""
    many.set(F_prop=4.0)
    order, jumps = host(many).row, 0
    for _ in range(30):
        before = many.snapshot()
        after = many.advance(10)
        moved = np.hypot(*reference.minimum_image(after.pos - before.pos, PARAMS.space_size).T)
        turned = reference.minimum_image(after.theta - before.theta, 2 * np.pi)
        # Twice as far as a free rod swims; the second bound is that of a tip.
        assert moved.max() < 0.12 * WIDTH
        assert np.abs(turned).max() * PARAMS.length / 2 < 0.2 * WIDTH
        now = host(many)
        assert np.array_equal(np.sort(now.row[:2100]), np.arange(2100))
        assert np.array_equal(now.id[:2100], now.row[:2100])
        jumps += not np.array_equal(now.row, order)
        order = now.row
    assert jumps >= 5


def test_a_list_counts_the_steps_since_it_was_built(many):
    """From which the next skin follows."""
    many.set(F_prop=4.0)
    old, ages = None, []
    for _ in range(250):
        many.advance(1)
        now = host(many).neighbours
        if old is not None:
            built = int(now.builds) - int(old.builds)
            assert built in (0, 1)
            assert int(now.age) == (1 if built else int(old.age) + 1)
            ages += [int(old.age)] * built
        old = now
    assert len(ages) >= 3


def test_lists_last_many_steps_but_not_for_ever(many):
    """On the standard benchmark: a build in every 5 to 400 steps, whatever the speed."""
    for thrust in (2.0, 0.5, 4.0):
        many.set(F_prop=thrust)
        many.advance(200)
        before = int(host(many).neighbours.builds)
        many.advance(800)
        builds = int(host(many).neighbours.builds) - before
        assert 2 <= builds <= 160
        assert many.stats.neighbours is not None
        skin = many.stats.neighbours.skin
        assert THINNEST_SKIN * WIDTH < skin < THICKEST_SKIN * WIDTH


def test_the_skin_follows_the_speed_of_the_rods(many):
    """Up for fast rods and down for slow ones, from the state alone."""
    skins = {}
    for thrust in (0.25, 1.0, 4.0):
        many.reset()
        many.set(F_prop=thrust)
        many.advance(1500)
        skins[thrust] = float(host(many).neighbours.skin)
    assert skins[0.25] < 0.8 * skins[1.0] < 0.64 * skins[4.0]


def test_kernels_agree_on_a_crowd_for_a_while():
    """Forty steps, to what rounding grows to."""
    drivers = [fifty(kernel) for kernel in seam.KERNEL_NAMES]
    start, ends = start_of(drivers[0]), []
    for driver in drivers:
        driver.rebuild(params=FIFTY, start=start)
        ends.append(driver.advance(40))
        assert np.abs(ends[-1].pos - start.pos).max() > 0.05
    for one, other in itertools.combinations(ends, 2):
        off = reference.minimum_image(np.float64(one.pos) - other.pos, FIFTY.space_size)
        assert np.abs(off).max() < 2e-5
        assert np.abs(np.sin(one.theta - other.theta)).max() < 2e-5
        np.testing.assert_allclose(one.activity, other.activity, rtol=0, atol=1e-4)
