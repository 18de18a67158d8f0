# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong is said plainly, by name and with a remedy, and the run can go on."""

import contextlib
import dataclasses

import numpy as np
import pytest

from engine import Driver, ParameterError, Params, Setup, SimulationError, Start
from engine.program import check_memory
from engine.schema import PARAM_FIELDS, largest_safe_dt, seed_from
from tests.engine.conftest import CROWD, CROWD_PARAMS, with_params


def start_of(driver: Driver) -> Start:
    snapshot = driver.snapshot()
    return Start(snapshot.pos.copy(), snapshot.theta.copy(), snapshot.activity.copy())


def unharmed(driver: Driver, before) -> None:
    """The driver holds exactly what it held, and runs on to the bits it would have had."""
    after = driver.snapshot()
    assert np.array_equal(after.rods, before.rods)
    assert (after.step, after.time, after.params) == (before.step, before.time, before.params)
    assert driver.params == before.params
    assert (driver.step, driver.time) == (before.step, before.time)
    got = driver.advance(12)
    driver.rebuild(CROWD, CROWD_PARAMS, 1)
    assert np.array_equal(driver.advance(before.step + 12).rods, got.rods)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"space_size": 5.0}, "space_size"),
        ({"length": 30.0}, "space_size"),
        ({"sensing_range": 40.0}, "space_size"),
        ({"space_size": 13.0}, "rods"),
        ({"dt": 0.0}, "dt"),
        ({"dt": float("nan")}, "dt"),
        ({"gamma": -1}, "gamma"),
        ({"radius": "thick"}, "radius"),
        ({"F_prop": 3.0, "length": 0.0}, "length"),
        ({"F_porp": 3.0}, "F_porp"),
        ({"rods": 10}, "rods"),
        ({"kernel": "naive"}, "kernel"),
    ],
    ids=str,
)
def test_a_refused_edit_changes_nothing(crowd, values, name):
    before = crowd.advance(8)
    with pytest.raises(ParameterError) as caught:
        crowd.set(**values)
    assert caught.value.name == name
    assert name in str(caught.value)
    assert caught.value.remedy
    unharmed(crowd, before)


NAN, INF = float("nan"), float("inf")


def place(i: int, value: float, array: np.ndarray) -> np.ndarray:
    array.flat[i] = value
    return array


@pytest.mark.parametrize(
    "spoil",
    [
        lambda s: Start(place(7, NAN, s.pos), s.theta, s.activity),
        lambda s: Start(s.pos, place(7, INF, s.theta), s.activity),
        lambda s: Start(s.pos, s.theta, place(149, NAN, s.activity)),
        lambda s: Start(s.pos, s.theta, place(149, 1.5, s.activity)),
        lambda s: Start(s.pos[:100], s.theta[:100], s.activity[:100]),
        lambda s: Start(place(7, 1e300, np.float64(s.pos)), s.theta, s.activity),
        lambda s: dataclasses.replace(s, ids=np.arange(150, dtype=np.int32)[::-1]),
        lambda s: dataclasses.replace(s, ids=np.arange(-1, 149, dtype=np.int32)),
        lambda s: dataclasses.replace(s, ids=np.arange(2**31 - 150, 2**31).astype(np.int32)),
    ],
    ids=[
        "NaN place",
        "infinite angle",
        "NaN activity",
        "activity 1.5",
        "too few rods",
        "a place beyond float32",
        "falling ids",
        "an id below 0",
        "an id beyond int32",
    ],
)
def test_a_spoilt_start_is_refused_and_the_run_goes_on(crowd, spoil):
    before = crowd.advance(8)
    with pytest.raises(ParameterError) as caught:
        crowd.rebuild(params=with_params(F_prop=1.0), seed=9, start=spoil(start_of(crowd)))
    assert caught.value.remedy
    assert crowd.seed == 1
    unharmed(crowd, before)


@pytest.mark.parametrize(
    ("setup", "params", "name"),
    [
        (Setup(rods=10**9), Params(space_size=1e6), "rods"),
        (Setup(rods=2_000_000_000), Params(space_size=1e6), "rods"),
        (Setup(rods=400_000, kernel="naive"), Params(space_size=3000.0), "rods"),
        (Setup(rods=150), Params(space_size=8.0), "space_size"),
        (Setup(rods=150), Params(space_size=14.0), "rods"),
    ],
    ids=["more than memory", "far more than memory", "naive", "box too small", "too dense"],
)
def test_a_setup_that_cannot_run_is_refused_and_the_run_goes_on(crowd, setup, params, name):
    before, compiles = crowd.advance(8), crowd.stats.compiles
    with pytest.raises(ParameterError) as caught:
        crowd.rebuild(setup=setup, params=params, seed=5)
    assert caught.value.name == name
    assert caught.value.remedy
    if setup.kernel == "naive":
        assert "auto" in caught.value.remedy
    assert crowd.setup == CROWD
    assert crowd.stats.compiles == compiles
    unharmed(crowd, before)


@pytest.mark.parametrize("native", ["auto", "off"])
def test_where_lists_do_not_fit_but_rods_do_another_kernel_is_named(pair, monkeypatch, native):
    setup = Setup(rods=3000, kernel="neighbours", native=native)
    params = Params(space_size=1000.0, sensing_range=400.0)
    for free, other in ((4_000_000, True), (1_000_000, False)):
        monkeypatch.setattr("engine.program.available_bytes", lambda free=free: free)
        with pytest.raises(ParameterError, match="kernel = 'neighbours' needs") as caught:
            pair.rebuild(setup, params)
        for way in ("kernel = 'rowsum'", "shorter sensing_range"):
            assert (way in caught.value.remedy) == other
    monkeypatch.setattr("engine.program.available_bytes", lambda: 4_000_000)
    check_memory(dataclasses.replace(setup, kernel="rowsum"), "rowsum")


def test_an_unstable_dt_freezes_the_last_good_state(crowd):
    good = crowd.advance(8)
    bound = largest_safe_dt(crowd.setup, crowd.params)
    crowd.set(dt=20 * bound)
    assert any("dt" in sentence for sentence in crowd.warnings)
    with pytest.raises(SimulationError) as caught:
        crowd.advance(1000)
    error, frozen = caught.value, crowd.snapshot()
    assert "dt" in error.remedy
    assert error.remedy in str(error)
    assert error.snapshot is frozen or np.array_equal(error.snapshot.rods, frozen.rods)
    assert error.step in (frozen.step, frozen.step + 1)
    assert 8 <= frozen.step < 1008
    assert np.isfinite(frozen.rods).all()
    assert np.all((frozen.pos >= 0) & (frozen.pos < 42.0))
    assert frozen.time == pytest.approx(good.time + (frozen.step - 8) * 20 * bound, rel=1e-6)

    # The same refusal again as long as nothing is changed; then it goes on.
    with pytest.raises(SimulationError):
        crowd.advance(1)
    assert np.array_equal(crowd.snapshot().rods, frozen.rods)
    crowd.set(dt=0.1 * bound)
    assert crowd.advance(5).step == frozen.step + 5


def test_a_refused_batch_keeps_the_steps_before_the_bad_one(pair):
    """Two rods that collide at about step 40, k far too stiff for dt."""
    params = Params(space_size=40.0, k_cc=5e4, dt=0.0125, activity_thresh=-9.0, activity_width=0.0)
    start = Start(np.array([[10.0, 10.0], [16.0, 10.7]]), np.array([0.0, np.pi]), np.ones(2))
    pair.rebuild(params=params, start=start)
    with pytest.raises(SimulationError):
        pair.advance(400)
    frozen = pair.snapshot()
    assert 20 < frozen.step < 60
    pair.rebuild(params=params, start=start)
    singly = pair.advance(0)
    for _ in range(frozen.step):
        singly = pair.advance(1)
    assert np.array_equal(singly.rods, frozen.rods)
    assert singly.observables == pytest.approx(dict(frozen.observables))


def test_a_refused_first_step_keeps_the_speed_of_the_last_good_one(crowd):
    speed = crowd.advance(8).observables["mean_speed"]
    assert speed > 0
    crowd.set(dt=30 * largest_safe_dt(crowd.setup, crowd.params))
    for _ in range(2):
        with pytest.raises(SimulationError) as caught:
            crowd.advance(500)
        last = crowd.snapshot()
        if last.step == 8:
            assert last.observables["mean_speed"] == speed
        assert last.observables["mean_speed"] > 0
        assert caught.value.snapshot.observables == last.observables
    crowd.set(F_prop=1e30)
    with pytest.raises(SimulationError):
        crowd.advance(3)
    assert crowd.snapshot().observables == last.observables


ABSURD = [0.0, 1e-38, 1e-6, 1e6, 1e20, 3e38, -3e38]


@pytest.mark.parametrize("f", PARAM_FIELDS, ids=lambda f: f.name)
def test_no_value_however_absurd_gives_a_state_that_is_not_finite(pair, f):
    """Either it is refused, or a step is refused, or all numbers stay numbers; and it recovers."""
    touching = Start(np.array([[10.0, 10.0], [12.0, 10.8]]), np.array([0.0, 2.0]), np.ones(2))
    usual = dataclasses.replace(pair.params, D_r=0.01, D_t=0.01, tau_a=1.0, T_prop=0.1)
    for value in ABSURD:
        pair.rebuild(params=usual, start=touching)
        with contextlib.suppress(ParameterError, SimulationError):
            pair.set(**{f.name: value})
            pair.advance(3)
        snapshot = pair.snapshot()
        assert np.isfinite(snapshot.rods).all(), value
        box = np.float32(pair.params.space_size)
        assert np.all((snapshot.pos >= 0) & (snapshot.pos < box)), value
        observed = dict(snapshot.observables)
        assert np.isnan(observed.pop("mean_speed")) == (snapshot.step == 0), value
        assert all(np.isfinite(v) for v in observed.values()), value
        assert np.isfinite(snapshot.time), value
        pair.set(**dataclasses.asdict(usual))
        assert pair.advance(2).step == snapshot.step + 2


@pytest.mark.parametrize(("name", "value"), [("D_t", 3e38), ("D_r", 3e38), ("F_prop", 1e30)])
def test_the_remedy_names_what_is_too_large(pair, name, value):
    pair.set(**{name: value})
    with pytest.raises(SimulationError) as caught:
        pair.advance(5)
    assert name in caught.value.remedy


@pytest.mark.parametrize("K", [-1, 2**31])
def test_a_meaningless_number_of_steps_is_refused(crowd, K):
    before = crowd.advance(8)
    with pytest.raises(ParameterError, match="K"):
        crowd.advance(K)
    unharmed(crowd, before)


@pytest.mark.parametrize("K", [2.5, "3", None])
def test_a_K_that_is_no_whole_number_is_refused(crowd, K):
    before = crowd.advance(8)
    with pytest.raises(TypeError):
        crowd.advance(K)
    unharmed(crowd, before)


def test_numpy_integers_count_steps(crowd):
    assert crowd.advance(np.int64(3)).step == 3


@pytest.mark.parametrize("value", [1.5, "a", "1", None, np.float64(2), -1], ids=repr)
def test_a_seed_that_is_no_whole_number_is_refused(value):
    with pytest.raises(ParameterError, match=r"seed = .*whole number, at least 0"):
        seed_from(value)


def test_a_negative_seed_is_refused_and_a_large_one_is_not(crowd):
    before = crowd.advance(8)
    with pytest.raises(ParameterError) as caught:
        crowd.rebuild(seed=-1)
    assert caught.value.name == "seed"
    unharmed(crowd, before)
    crowd.rebuild(seed=2**40)
    assert np.isfinite(crowd.advance(2).rods).all()


def test_a_first_build_that_is_refused_says_so():
    with pytest.raises(ParameterError, match="space_size"):
        Driver(Setup(rods=5), Params(space_size=4.0))
    with pytest.raises(ParameterError):
        Driver(Setup(rods=0), Params())
    with pytest.raises(ParameterError):
        Driver(Setup(rods=5, kernel="fast"), Params())
    with pytest.raises(ParameterError):
        Driver(Setup(rods=5), Params(dt=float("nan")))
    with pytest.raises(ParameterError, match=r"rods = 100\.0 .*Give 100\."):
        Driver(Setup(rods=100.0), Params())
    with pytest.raises(ParameterError, match=r"space_size = '70' .*Give 70\.0\."):
        Driver(Setup(rods=5), Params(space_size="70"))
