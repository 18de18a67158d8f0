# SPDX-License-Identifier: GPL-3.0-or-later
"""Rods that come and go: names that last, places that stay empty, and nothing compiled."""

import math
import subprocess
import sys
from dataclasses import replace

import jax
import numpy as np
import pytest

from engine import Driver, ParameterError, Params, Setup, SimulationError, Snapshot, Start
from engine.kernels import resolve
from tests.engine import seam
from tests.engine.programs import FIFTY, fifty, shared_programs
from tests.engine.test_compiles import compile_events
from tests.oracle import reference


@pytest.fixture(params=seam.KERNEL_NAMES)
def driver(request) -> Driver:
    """Fifty rods on each kernel."""
    return fifty(request.param)


@pytest.fixture(scope="module")
def _quick() -> Driver:
    return fifty("rowsum")


@pytest.fixture
def quick(_quick: Driver) -> Driver:
    """Fifty rods for what no kernel has a part in."""
    _quick.rebuild(Setup(rods=50, kernel="rowsum"), FIFTY, 5)
    return _quick


def added(driver: Driver, pos, theta, activity=0.0) -> list[int]:
    """`add` with arrays, since lists fail the check of types that tests run under."""
    return driver.add(*(np.array(a) for a in (pos, theta, activity))).tolist()


def removed(driver: Driver, ids) -> None:
    driver.remove(np.array(ids))


def ids_of(snapshot: Snapshot) -> np.ndarray:
    return np.arange(snapshot.n) if snapshot.ids is None else snapshot.ids


def rods_of(snapshot: Snapshot) -> reference.Rods:
    return reference.rods(snapshot.pos, snapshot.theta, snapshot.activity)


def test_rods_keep_name_and_place_when_others_come_and_go(driver):
    before = driver.advance(10)
    assert np.array_equal(driver.ids, np.arange(50))
    gone = [0, 7, 31, 49]
    with compile_events() as seen:
        removed(driver, gone)
        fewer = driver.snapshot()
        driver.advance(5)
        last = driver.snapshot()
        new = added(driver, [[3.0, 4.0], [29.5, -1.0], [9.0, 9.0]], [0.5, 1.0, -2.0], [1.0, 0.2, 0])
        more = driver.snapshot()
        single = added(driver, (20.0, 21.0), 0.25)
        driver.advance(5)
    assert seen == []
    assert (driver.stats.growths, driver.stats.rods) == (0, 50)
    assert driver.setup.rods == driver.snapshot().n == 50

    kept = np.setdiff1d(np.arange(50), gone)
    assert np.array_equal(ids_of(fewer), kept)
    assert np.array_equal(fewer.rods, before.rods[kept])
    assert (fewer.step, fewer.time) == (before.step, before.time)
    assert fewer.observables["mean_speed"] == before.observables["mean_speed"]
    assert new == [50, 51, 52]
    assert single == [53]
    assert np.array_equal(ids_of(more), [*kept, 50, 51, 52])
    assert np.array_equal(more.rods[:46], last.rods)
    expected = [[3.0, 4.0, 0.5, 1.0], [1.5, 27.0, 1.0, 0.2], [9.0, 9.0, -2.0, 0.0]]
    np.testing.assert_array_equal(more.rods[46:], np.float32(expected))
    end = driver.snapshot()
    assert np.array_equal(ids_of(end), [*kept, 50, 51, 52, 53])
    assert np.array_equal(driver.ids, ids_of(end))
    assert end.step == 20
    assert end.time == pytest.approx(20 * 0.003)


def test_a_name_is_never_used_again(quick):
    """Also where as many come as have gone, so that the number of rods is the old one."""
    removed(quick, [48, 49])
    assert added(quick, [[5.0, 5.0], [9.0, 9.0]], [0.0, 0.0]) == [50, 51]
    assert np.array_equal(ids_of(quick.snapshot()), [*range(48), 50, 51])
    removed(quick, [51, 50, 51])
    assert added(quick, [[5.0, 5.0], [9.0, 9.0]], [0.0, 0.0]) == [52, 53]
    assert np.array_equal(ids_of(quick.advance(1)), [*range(48), 52, 53])
    removed(quick, [])
    assert quick.snapshot().n == 50


def test_a_step_is_that_of_the_rods_there_are(driver):
    """Force, thrust, sensing and averages: an empty place takes no part, one used again does."""
    removed(driver, np.arange(10, 30))
    added(driver, [[14.0, 14.0], [14.6, 14.5]], [0.3, 0.4], [1.0, 1.0])
    removed(driver, [0])
    driver.set(F_prop=6.0)
    for _ in range(2):
        before = driver.snapshot()
        after = driver.advance(1)
        params = Params(**{k: float(np.float32(v)) for k, v in vars(driver.params).items()})
        true = reference.one_timestep(rods_of(before), params)
        off = reference.minimum_image(after.pos - true.pos, params.space_size)
        assert np.abs(off).max() < 2e-5
        assert np.abs(np.sin(after.theta - true.theta)).max() < 2e-5
        np.testing.assert_allclose(after.activity, true.activity, rtol=0, atol=1e-5)
        assert np.hypot(*reference.pairs(rods_of(before), params).force[-1].sum(0)) > 1

        velocity, _ = reference.velocities(rods_of(before), params)
        theta, activity = np.float64(after.theta), np.float64(after.activity)
        expected = {
            "active_fraction": (activity > 0.5).mean(),
            "mean_activity": activity.mean(),
            "polar_order": np.hypot(np.cos(theta).mean(), np.sin(theta).mean()),
            "nematic_order": np.hypot(np.cos(2 * theta).mean(), np.sin(2 * theta).mean()),
            "mean_speed": np.hypot(*velocity.T).mean(),
        }
        assert dict(after.observables) == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_removing_and_adding_the_same_rods_changes_no_bit_of_the_others_places(driver):
    """Twenty rods at rest, far from each other, some replaced over and over."""
    pos = 5.0 + 20.0 * np.stack(np.divmod(np.arange(25.0), 5), axis=1)
    params = Params(space_size=110.0, activity_width=0.0)
    setup = Setup(rods=25, kernel=driver.setup.kernel)
    driver.rebuild(setup, params, start=Start(pos, np.zeros(25), np.zeros(25)))
    for k in range(5):
        removed(driver, driver.ids[-2:])
        assert added(driver, pos[-2:], [0.0, 0.0]) == [25 + 2 * k, 26 + 2 * k]
        end = driver.advance(7)
        assert np.array_equal(end.pos, np.float32(pos))
        assert np.array_equal(ids_of(end), [*range(23), 25 + 2 * k, 26 + 2 * k])


SLOW = Params(
    space_size=110.0, F_prop=2e-4, T_prop=1e-6, dt=0.001, sensing_range=1.0,
    activity_thresh=-9.0, activity_width=0.0,
)  # fmt: skip
# Twenty-five rods far from each other, whose steps are a three-hundredth of the grain of a place.
APART = Start(
    5.0 + 20.0 * np.stack(np.divmod(np.arange(25.0), 5), axis=1), np.arange(25.0) / 4, np.ones(25)
)


def test_slow_rods_move_on_to_the_bit_while_others_come_and_go(driver):
    """What rounding left of their steps is theirs, not the list's or the array's."""
    setup = replace(driver.setup, rods=25)
    driver.rebuild(setup, SLOW, start=APART)
    whole = driver.advance(1200)
    assert (whole.pos[:20] != APART.pos[:20]).any(axis=1).all()
    driver.rebuild(setup, SLOW, start=APART)
    for _ in range(40):
        removed(driver, driver.ids[-3:])
        driver.advance(20)
        added(driver, APART.pos[-3:], APART.theta[-3:], 1.0)
        driver.advance(10)
    assert np.array_equal(driver.snapshot().rods[:22], whole.rods[:22])


@pytest.mark.parametrize("values", [{"space_size": 109.0}, {"length": 4.001}], ids=str)
def test_slow_rods_move_on_through_edits(driver, values):
    """To and fro between two boxes, or two lengths; the way is that of one quiet run."""
    driver.rebuild(replace(driver.setup, rods=25), SLOW, start=APART)
    for _ in range(20):
        driver.advance(500)
        driver.set(**values)
        driver.set(space_size=110.0, length=4.0)
    end = driver.snapshot()
    way = 10_000 * 1e-3 * 2e-4 / (2 * 4)
    heading = np.stack([np.cos(APART.theta), np.sin(APART.theta)], axis=1)
    gone = end.pos.astype(float) - APART.pos
    # A place near 85 is known to 4e-6, and scaled forty times.
    np.testing.assert_allclose(gone, way * heading, rtol=0, atol=1e-5)


def test_no_rods_added_or_removed_change_nothing_at_all(driver):
    before, times = driver.advance(7), driver.stats.step_seconds
    removed(driver, [])
    assert added(driver, np.zeros((0, 2)), np.zeros(0)) == []
    assert driver.snapshot() is before
    assert driver.stats.step_seconds == times
    end = driver.advance(30)
    driver.reset()
    assert np.array_equal(end.rods, driver.advance(37).rods)


def test_ids_cannot_be_written_to(quick):
    """They are the Driver's own, and those of every snapshot since."""
    removed(quick, [3])
    for ids in (quick.ids, quick.snapshot().ids, quick.advance(1).ids):
        with pytest.raises(ValueError, match="read-only"):
            ids[0] = 7
    with pytest.raises(ValueError, match="read-only"):
        quick.snapshot().rods[0] = 7
    quick.reset()
    with pytest.raises(ValueError, match="read-only"):
        quick.ids[0] = 7


def test_step_times_are_those_of_the_rods_there_are(quick):
    for change in (
        lambda: removed(quick, quick.ids[:30]),
        lambda: added(quick, [[3.0, 3.0], [9.0, 9.0]], [0.0, 1.0]),
    ):
        quick.advance(20)
        assert quick.stats.step_seconds > 0
        change()
        assert math.isnan(quick.stats.step_seconds)
        assert math.isnan(quick.stats.rod_steps_per_second)
        quick.advance(20)
        stats = quick.stats
        assert stats.rod_steps_per_second == pytest.approx(stats.rods / stats.step_seconds)


def test_auto_chooses_anew_where_more_rods_need_a_compile_and_its_reason_stays_true():
    """Ten rods, then hundreds, then ten again: no reason says what is not so."""
    params = Params(space_size=200.0)
    driver = Driver(Setup(rods=10), params, start=Start(GRID[:10], np.zeros(10), np.ones(10)))
    assert driver.stats.kernel_reason == "auto: fewer than 64 rods"
    added(driver, GRID[10:64], np.zeros(54))
    assert (driver.stats.kernel, driver.stats.rods) == ("rowsum", 64)
    assert driver.stats.kernel_reason == "auto: fewer than 64 rods when it was compiled"
    assert driver.stats.growths == 0
    before = driver.advance(10)

    added(driver, GRID[64:], np.zeros(len(GRID) - 64))
    choice, stats = resolve(driver.setup), driver.stats
    assert driver.program.kernel == choice.kernel
    assert (stats.kernel, stats.kernel_reason) == ("neighbours", choice.reason)
    assert (stats.code, stats.growths) == (choice.code, 1)
    assert np.array_equal(driver.snapshot().rods[:64], before.rods)
    assert driver.advance(5).step == 15
    assert driver.stats.neighbours is not None

    removed(driver, driver.ids[10:])
    assert driver.stats.kernel == "neighbours"
    assert driver.stats.kernel_reason.startswith("auto: at least 64 rods when it was compiled")
    removed(driver, driver.ids[9:])
    assert driver.stats.kernel_reason.count("when it was compiled") == 1
    driver.reset()
    assert (driver.stats.kernel, driver.stats.kernel_reason) == (
        "rowsum",
        "auto: fewer than 64 rods",
    )


GRID = 5.0 + 10 * np.stack(np.divmod(np.arange(100.0), 10), axis=1)


def test_what_a_rod_draws_does_not_depend_on_the_others(driver):
    """Lone rods with noise: those that stay go the way that they would have gone."""
    pos = 5.0 + 20.0 * np.stack(np.divmod(np.arange(25.0), 5), axis=1)
    params = Params(space_size=110.0, D_r=0.1, D_t=0.01)
    start = Start(pos, np.linspace(-3, 3, 25), np.zeros(25))
    setup = Setup(rods=25, kernel=driver.setup.kernel)
    driver.rebuild(setup, params, 8, start)
    whole = driver.advance(40)
    driver.rebuild(setup, params, 8, start)
    removed(driver, [0, 3, 4, 24])
    added(driver, [[8.0, 14.0]], [0.0])
    part = driver.advance(40)
    kept = ids_of(part)[:-1]
    assert np.array_equal(part.rods[:-1], whole.rods[kept])
    assert not np.allclose(part.rods[-1, 2], whole.rods[24, 2])


def test_rods_keep_their_names_in_a_run_that_goes_on_from_a_state(quick):
    removed(quick, [0, 3, 4])
    began = quick.advance(2)
    quick.rebuild(replace(quick.setup, rods=began.n), start=Start.of(began))
    assert np.array_equal(ids_of(quick.snapshot()), ids_of(began))
    (name,) = quick.add([[8.0, 14.0]], [0.0])
    assert name == 50
    removed(quick, [5])
    quick.reset()
    assert np.array_equal(ids_of(quick.snapshot()), ids_of(began))


@pytest.mark.parametrize("start", [None, "given"])
def test_reset_goes_back_to_the_rods_of_the_start(quick, start):
    if start:
        quick.rebuild(start=Start(*(a.copy() for a in rods_of(quick.snapshot()))))
    begin = quick.snapshot()
    quick.advance(3)
    removed(quick, [1, 2, 3])
    added(quick, (5.0, 5.0), 0.0)
    quick.advance(3)
    quick.reset()
    again = quick.snapshot()
    assert (again.step, again.n) == (0, 50)
    assert np.array_equal(again.rods, begin.rods)
    assert np.array_equal(ids_of(again), np.arange(50))
    assert added(quick, (5.0, 5.0), 0.0) == [50]


def test_names_outlast_edits(driver):
    removed(driver, [4, 9])
    kept = np.setdiff1d(np.arange(50), [4, 9])
    for values in ({"space_size": 30.0}, {"length": 4.2}, {"radius": 0.52}):
        driver.set(**values)
        assert np.array_equal(ids_of(driver.advance(2)), kept)


def test_an_angle_of_many_turns_gives_its_own_direction(quick):
    """Folded before it is rounded: in float32 an angle of 10⁶ rad is off by 0.03."""
    angles = np.array([1e6 + 0.3, -2e5 + 0.01, 12_345.678, 3.2, -7.0, np.pi, -np.pi, 0.5])
    places = 3.0 + 3 * np.stack(np.divmod(np.arange(8.0), 4), axis=1)
    added(quick, places, angles)
    news = [quick.snapshot().theta[-8:]]
    quick.rebuild(Setup(rods=8, kernel="rowsum"), start=Start(places, angles, np.zeros(8)))
    news.append(quick.snapshot().theta)
    state = jax.device_get(quick._now.held.state)
    for theta in news:
        assert np.abs(theta).max() <= np.float32(np.pi)
        np.testing.assert_allclose(np.cos(np.float64(theta)), np.cos(angles), atol=3e-7)
        np.testing.assert_allclose(np.sin(np.float64(theta)), np.sin(angles), atol=3e-7)
    np.testing.assert_allclose(state.direction[:8, 0], np.cos(angles), atol=3e-7)
    assert np.array_equal(news[0][-1:], np.float32([0.5]))


def test_plain_lists_are_taken_and_ragged_ones_refused_without_a_warning():
    """As users call it: without the check of types that tests run under, and warnings as errors."""
    code = """
from engine import Driver, ParameterError, Params, Setup
driver = Driver(Setup(rods=1, kernel="rowsum"), Params(space_size=40.0))
assert driver.add([[3, 4], [5, 6.0]], [0, 1]).tolist() == [1, 2]
assert driver.add([3, 14], 1).tolist() == [3]
assert driver.add([[3, 24]], 1, [0.5]).tolist() == [4]
assert driver.add([], []).tolist() == []
driver.remove([4])
driver.remove([])
for pos, theta in (([[1, 2], [1]], [0, 0]), ([[1e300, 1]], [0.0]), ([1, 2, 3], 0), (["a", "b"], 0)):
    try:
        driver.add(pos, theta)
    except ParameterError:
        continue
    raise AssertionError(pos)
for wrong in (1.5, "a", None):
    try:
        Driver(Setup(rods=1), Params(), seed=wrong)
    except ParameterError:
        continue
    raise AssertionError(wrong)
assert driver.snapshot().n == 4
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_is_told_of_a_rod_names_it(driver):
    removed(driver, np.arange(2, 40))
    ids = added(driver, [[5.0, 5.0], [5.05, 5.02]], [0.0, 0.01])
    driver.set(k_cc=1e5)
    with pytest.raises(SimulationError) as caught:
        driver.advance(1)
    assert any(f"rod {k} " in str(caught.value) for k in ids)


NAN = float("nan")
REFUSED = {
    "an unknown rod": lambda d: removed(d, [3, 50]),
    "a negative id": lambda d: removed(d, -1),
    "a name in words": lambda d: removed(d, ["3"]),
    "a mask": lambda d: removed(d, np.arange(50) < 5),
    "half a rod": lambda d: removed(d, [2.5]),
    "all rods": lambda d: removed(d, d.ids),
    "unequal arrays": lambda d: added(d, [[1.0, 1.0], [9.0, 9.0]], [0.0]),
    "places in space": lambda d: added(d, [[1.0, 1.0, 1.0]], [0.0]),
    "a place beyond float32": lambda d: added(d, [[1e300, 1.0]], [0.0]),
    "half a place": lambda d: added(d, 3.0, 0.0),
    "a place in words": lambda d: added(d, [["a", "b"]], [0.0]),
    "unequal places": lambda d: added(d, np.array([[1.0, 2.0], [1.0]], object), [0.0, 0.0]),
    "a table of angles": lambda d: added(d, [[1.0, 1.0]], [[0.0]]),
    "more activities than rods": lambda d: added(d, [[1.0, 1.0]], [0.0], [1.0, 1.0]),
    "NaN": lambda d: added(d, [[1.0, NAN]], [0.0]),
    "infinity": lambda d: added(d, [[1.0, 1.0]], [math.inf]),
    "activity 1.5": lambda d: added(d, [[1.0, 1.0]], [0.0], 1.5),
    "too many for the box": lambda d: added(d, np.ones((200, 2)), np.zeros(200)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_makes_no_sense_is_refused_and_changes_nothing(quick, what):
    removed(quick, [11])
    before, compiles = quick.advance(4), quick.stats.compiles
    with pytest.raises(ParameterError) as caught:
        REFUSED[what](quick)
    assert caught.value.remedy
    assert quick.snapshot() is before
    assert (quick.stats.compiles, quick.stats.growths) == (compiles, 0)
    assert np.array_equal(quick.ids, ids_of(before))
    after = quick.advance(4)
    quick.reset()
    removed(quick, [11])
    quick.advance(4)
    assert np.array_equal(quick.advance(4).rods, after.rods)
    assert added(quick, (5.0, 5.0), 0.0) == [50]


def test_more_rods_than_there_is_room_for_are_one_growth():
    with shared_programs():
        driver = Driver(Setup(rods=60, kernel="neighbours"), replace(FIFTY, space_size=40.0), 5)
    removed(driver, [10])
    before = driver.advance(3)
    first = driver.program.capacity
    pos = np.stack(np.divmod(np.arange(12.0), 4), axis=1) * 9 + 2
    ids = added(driver, pos, np.zeros(12))
    more = driver.snapshot()
    stats = driver.stats
    assert (stats.compiles, stats.growths, stats.rods, stats.capacity) == (1, 1, 71, 80)
    assert stats.last.reason == "growth: more rods"
    assert driver.program.capacity.slots >= first.slots
    assert driver.program.capacity.candidates >= first.candidates
    assert ids == list(range(60, 72))
    assert np.array_equal(more.rods[:59], before.rods)
    assert (more.step, more.time) == (before.step, before.time)
    with compile_events() as seen:
        driver.advance(20)
        removed(driver, ids)
        assert np.array_equal(ids_of(driver.advance(1)), ids_of(before))
        added(driver, pos, np.zeros(12))
    assert seen == []
    assert driver.stats.growths == 1


def test_more_rods_than_there_is_memory_for_are_refused(quick, monkeypatch):
    before = quick.advance(2)
    monkeypatch.setattr("engine.program.available_bytes", lambda: 1000)
    with pytest.raises(ParameterError, match="memory"):
        added(quick, np.zeros((20, 2)), np.zeros(20))
    assert quick.snapshot() is before
    assert (quick.stats.rods, quick.stats.growths) == (50, 0)
    assert quick.advance(1).step == 3
