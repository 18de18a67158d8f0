# SPDX-License-Identifier: GPL-3.0-or-later
"""How a run starts, and what a live change of the geometry does to it."""

import numpy as np
import pytest

from engine import Driver, ParameterError, Params, Setup, Start
from engine.schema import largest_safe_dt, space_size_for
from tests.engine.conftest import CROWD, CROWD_PARAMS
from tests.oracle import reference


def overlaps(driver: Driver) -> np.ndarray:
    """Overlaps of all touching pairs, in body widths."""
    snapshot, params = driver.snapshot(), driver.params
    pairs = reference.pairs(reference.rods(snapshot.pos, snapshot.theta, snapshot.activity), params)
    return pairs.overlap[pairs.overlap > 0] / (2 * params.radius)


def displacement(driver: Driver, before: np.ndarray, box: float) -> np.ndarray:
    """How far each rod lies from `before`, both as shares of their boxes, in units of length."""
    now = driver.params.space_size
    moved = driver.snapshot().pos / now - before / box
    return np.hypot(*(now * (moved - np.round(moved))).T)


@pytest.mark.parametrize(
    ("phi", "length", "k_cc", "deepest", "mean"),
    [
        (0.05, 4.0, 60.0, 0.1, 0.02),
        (0.3, 4.0, 60.0, 0.1, 0.02),
        (0.35, 1.0, 15.0, 0.1, 0.02),
        (0.6, 4.0, 60.0, 0.2, 0.03),
        # Near close packing soft rods stay pressed.
        (0.7, 9.0, 135.0, 0.5, 0.1),
        (0.8, 4.0, 133.0, 0.4, 0.05),
    ],
)
def test_a_random_start_is_relaxed(crowd, phi, length, k_cc, deepest, mean):
    params = Params(length=length, k_cc=k_cc, dt=0.05 * length / k_cc)
    box = max(space_size_for(150, phi, params), 2 * (length + 2))
    crowd.rebuild(params=Params(length=length, k_cc=k_cc, dt=params.dt, space_size=box))
    found = overlaps(crowd)
    assert found.max() < deepest
    assert found.mean() < mean
    snapshot = crowd.snapshot()
    assert snapshot.step == 0
    assert snapshot.time == 0.0
    assert np.all((snapshot.pos >= 0) & (snapshot.pos < np.float32(box)))
    # It must not have been relaxed into order.
    assert snapshot.observables["polar_order"] < 0.3
    assert snapshot.observables["nematic_order"] < 0.35


def test_a_random_start_covers_the_box(crowd):
    """Quadrants hold equal shares, to four standard deviations."""
    quadrant = (crowd.snapshot().pos < 21.0) @ np.array([1, 2])
    counts = np.bincount(quadrant, minlength=4)
    assert np.all(np.abs(counts - 150 / 4) < 4 * np.sqrt(150 * 0.25 * 0.75))


def test_start_activity(crowd):
    for word, expected in (("all", 1.0), ("none", 0.0)):
        crowd.rebuild(setup=Setup(rods=150, start_activity=word))
        assert np.all(crowd.snapshot().activity == expected)
    crowd.rebuild(setup=Setup(rods=150, start_activity="disc", start_radius=10.0))
    snapshot = crowd.snapshot()
    inside = np.hypot(*(snapshot.pos - 21.0).T) < 10.0
    assert 5 < inside.sum() < 100
    np.testing.assert_array_equal(snapshot.activity, inside)


@pytest.mark.parametrize("factor", [1.5, 0.9])
def test_a_new_box_scales_the_places(crowd, factor):
    before = crowd.advance(20)
    crowd.set(space_size=42.0 * factor)
    after = crowd.snapshot()
    assert displacement(crowd, before.pos, 42.0).max() < 2e-5
    np.testing.assert_array_equal(after.theta, before.theta)
    np.testing.assert_array_equal(after.activity, before.activity)
    assert (after.step, after.time) == (before.step, before.time)
    assert after.params.space_size == 42.0 * factor
    assert np.all((after.pos >= 0) & (after.pos < np.float32(42.0 * factor)))
    assert crowd.advance(10).step == 30


def test_a_box_squeezed_in_one_drag_runs_on(crowd):
    """phi from 0.4 to 1.1 at once: deep overlaps, but no step that must be refused."""
    crowd.set(space_size=25.5)
    crowd.set(dt=largest_safe_dt(crowd.setup, crowd.params))
    assert np.isfinite(crowd.advance(300).rods).all()


@pytest.mark.parametrize(
    "values",
    [{"length": 6.0}, {"radius": 0.7}, {"length": 5.0, "radius": 0.6}, {"length": 4.02}],
    ids=str,
)
def test_rods_that_grow_are_relaxed_where_they_are(crowd, values):
    before = crowd.advance(20)
    crowd.set(**values)
    after = crowd.snapshot()
    assert overlaps(crowd).max() < 0.3
    assert overlaps(crowd).mean() < 0.05
    assert displacement(crowd, before.pos, 42.0).max() < 3.0
    np.testing.assert_array_equal(after.activity, before.activity)
    assert (after.step, after.time) == (before.step, before.time)
    crowd.set(dt=largest_safe_dt(crowd.setup, crowd.params))
    assert crowd.advance(50).step == 70


def test_rods_that_shrink_stay_where_they_are(crowd):
    before = crowd.advance(20)
    crowd.set(length=3.0, radius=0.4)
    np.testing.assert_array_equal(crowd.snapshot().rods, before.rods)


def test_dragging_a_slider_to_and_fro_leaves_no_trace(crowd):
    """Parameters other than the geometry: back where they were, the bits are as if untouched."""
    plain = crowd.advance(30)
    crowd.rebuild(CROWD, CROWD_PARAMS, 1)
    for value in (1.0, 30.0, 8.0):
        crowd.set(F_prop=value, sensing_range=value / 8, tau_a=value - 8.0 if value > 8 else 0.0)
    crowd.set(sensing_range=CROWD_PARAMS.sensing_range)
    assert np.array_equal(crowd.advance(30).rods, plain.rods)


def test_reset_of_a_given_start_follows_the_box_and_the_rods_as_they_are_now(crowd):
    """A preset's start state was made for one box; reset after a live change must still fit."""
    snapshot = crowd.advance(50)
    start = Start(snapshot.pos.copy(), snapshot.theta.copy(), snapshot.activity.copy())
    crowd.rebuild(start=start)
    crowd.set(space_size=50.0)
    crowd.reset()
    assert displacement(crowd, start.pos, 42.0).max() < 2e-5
    np.testing.assert_array_equal(crowd.snapshot().activity, start.activity)

    crowd.rebuild(params=CROWD_PARAMS, start=start)
    crowd.set(length=6.0, dt=0.003)
    crowd.reset()
    assert overlaps(crowd).max() < 0.3
    assert crowd.advance(20).step == 20


def test_a_start_is_copied(pair):
    start = Start(
        np.array([[3.0, 4.0], [39.0, 0.5]], np.float32),
        np.array([0.25, -3.0], np.float32),
        np.array([1.0, 0.0], np.float32),
    )
    pair.rebuild(start=start)
    first = pair.advance(5).rods.copy()
    start.pos[:], start.theta[:], start.activity[:] = 1.0, 1.0, 0.0
    pair.reset()
    assert np.array_equal(pair.advance(5).rods, first)


def test_a_relaxation_is_watched_and_can_be_cut_short():
    """A program that is about to end does not wait for a crowd to come to rest."""
    asked = []

    def second_time() -> bool:
        asked.append(True)
        return len(asked) == 2

    driver = Driver(CROWD, CROWD_PARAMS, 1, while_relaxing=second_time)
    assert len(asked) == 2
    assert np.all(driver.snapshot().activity == 1)
    patient = Driver(CROWD, CROWD_PARAMS, 1)
    assert overlaps(patient).max() < overlaps(driver).max()


def test_rods_too_thin_for_float32_are_refused(crowd):
    with pytest.raises(ParameterError, match=r"radius = 1e-30.*too thin"):
        crowd.set(radius=1e-30)
    assert crowd.params.radius == CROWD_PARAMS.radius
