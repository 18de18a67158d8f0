# SPDX-License-Identifier: GPL-3.0-or-later
"""What is measured of each rod, against float64 sums over all pairs."""

import functools
import math
from dataclasses import replace

import numpy as np
import pytest

from engine import Driver, ParameterError, Params, Setup
from engine.capacity import capacity_for
from engine.measures import Meter
from engine.native.library import native
from engine.obstacle import Obstacle
from engine.params import Physics
from engine.snapshot import MEASURES, Snapshot
from tests.engine import seam
from tests.engine.conftest import apart
from tests.engine.programs import NATIVE_ROOM, ROOM, fifty
from tests.engine.test_compiles import compile_events
from tests.oracle import reference, rounding
from tests.oracle.measures import distances, measures
from tests.oracle.reference import Rods, defaults

CODES = [name for name in ("native", "neighbours") if name != "native" or native().target]
CODE = pytest.mark.parametrize("code", CODES)


@functools.cache
def meter(code: str) -> Meter:
    """One for all tests, since its programs take seconds to compile."""
    return Meter(code, threads=1)


@pytest.fixture(autouse=True)
def _shared(monkeypatch):
    """Everything that is measured here is so by `meter`, in arrays of one size."""
    monkeypatch.setattr("engine.driver.Meter", lambda code, *_: meter(code))
    monkeypatch.setattr(
        "engine.measures.capacity_for",
        lambda rods, params, platform, code: NATIVE_ROOM if code == "native" else ROOM,
    )


def snapshot_of(rods: Rods, params: Params) -> Snapshot:
    columns = np.column_stack([rods.pos, rods.theta, rods.activity])
    return Snapshot(columns.astype(np.float32), 0, 0.0, params)


def check(code: str, rods: Rods, values) -> dict[str, np.ndarray]:
    """Each measure must lie within its honest rounding of the oracle's; returns what was found."""
    params = seam.params_of(values)
    rods = seam.single(rods, params)
    found = meter(code).of_snapshot(snapshot_of(rods, params), MEASURES)
    agree(found, rods, params)
    return found


def agree(found, rods: Rods, given: Params) -> None:
    params = Physics(**vars(given))
    expected = measures(rods, params)
    assert list(found) == list(MEASURES)
    assert all(values.dtype == np.float32 for values in found.values())
    p = reference.pairs(rods, params)
    allowed = rounding.bounds(p, rods, params)
    zeta, _, _ = reference.drag(params)
    for name in ("speed", "velocity_x", "velocity_y"):
        error = np.abs(found[name] - expected[name])
        assert np.all(error <= (allowed.force + 1e-6 * params.k_cc) / zeta + 1e-5)

    apart, width = distances(rods, params), 2 * params.radius
    shift = rounding.OPERATIONS * rounding.UNIT * (params.space_size + params.length + width)
    shift /= math.sqrt(reference.regularisation(params))
    assert np.all(np.abs(found["overlap"] - expected["overlap"]) <= shift / width + 1e-6)
    near = (np.abs(apart - params.sensing_range) < shift).sum(1)
    assert np.all(np.abs(found["local_density"] - expected["local_density"]) <= near)
    unsure = (np.abs(apart - width) < shift).sum(1)
    assert np.all(np.abs(found["contacts"] - expected["contacts"]) <= unsure)
    if not unsure.any():
        np.testing.assert_array_equal(found["cluster"], expected["cluster"])


@CODE
@pytest.mark.parametrize("phi", [0.05, 0.4, 0.9])
def test_random_rods(code, phi, quickly_compiled):
    area = 2 * 0.5 * 4.0 + math.pi * 0.25
    values = defaults(
        space_size=math.sqrt(60 * area / phi), F_prop=8.0, T_prop=1.0, w_d=-2.0, w_a=3.0
    )
    rods = seam.random_rods(np.random.default_rng(int(100 * phi)), 60, values)
    found = check(code, rods, values)
    assert all(np.ptp(found[name]) > 0 for name in MEASURES if name != "cluster")
    assert found["cluster"].max() > 1


@CODE
def test_a_range_below_the_body_width_and_other_units(code):
    values = defaults(
        length=0.031, radius=0.004, space_size=0.15, k_cc=7000.0, sensing_range=0.002, gamma=3.0
    )
    check(code, seam.random_rods(np.random.default_rng(0), 60, values), values)


@CODE
def test_a_lone_rod(code):
    rods = reference.rods([[3.0, 11.0]], [0.4], [0.5])
    found = check(code, rods, defaults(space_size=12.0, F_prop=8.0))
    assert {name: float(values[0]) for name, values in found.items()} == {
        "speed": pytest.approx(0.5), "velocity_x": pytest.approx(0.5 * math.cos(0.4)),
        "velocity_y": pytest.approx(0.5 * math.sin(0.4)), "local_density": 0, "overlap": 0,
        "contacts": 0, "cluster": 1,
    }  # fmt: skip


@CODE
def test_coincident_rods_overlap_wholly(code):
    rods = reference.rods([[5.0, 5.0]] * 2, [0.3, 0.3], [1.0, 1.0])
    found = check(code, rods, defaults(space_size=20.0))
    assert list(found["overlap"]) == [1, 1]
    assert list(found["contacts"]) == [1, 1]
    assert list(found["cluster"]) == [2, 2]


@CODE
def test_crossed_and_parallel_rods(code):
    rods = reference.rods(
        [[5, 5], [5, 5], [12, 5], [12, 5.9], [20, 5]], [0, math.pi / 2, 1, 1, 0], np.zeros(5)
    )
    found = check(code, rods, defaults(space_size=30.0))
    assert list(found["cluster"]) == [2, 2, 2, 2, 1]


@CODE
def test_a_chain_across_the_edges_is_one_cluster(code):
    """Rods end to end, each overlapping the next by a tenth, right round the periodic box."""
    count, pitch = 40, 4.9
    values = defaults(space_size=count * pitch, sensing_range=2.0)
    x = np.arange(count) * pitch + 1.0
    rods = reference.rods(np.column_stack([x, np.zeros(count)]), np.zeros(count), np.ones(count))
    found = check(code, rods, values)
    assert set(found["contacts"]) == {2}
    assert set(found["cluster"]) == {count}
    # Without one of them it is still one, whose ends touch nobody at one side.
    gap = Rods(*(array[1:] for array in rods))
    found = check(code, gap, values)
    assert sorted(found["contacts"])[:3] == [1, 1, 2]
    assert set(found["cluster"]) == {count - 1}


@CODE
def test_a_corner_joins_what_lies_across_it(code):
    rods = reference.rods([[0.1, 0.1], [19.9, 19.9], [10, 10]], [0.0, 1.0, 0.0], np.zeros(3))
    found = check(code, rods, defaults(space_size=20.0))
    assert list(found["cluster"]) == [2, 2, 1]


@CODE
def test_a_box_that_rods_reach_across(code):
    values = defaults(space_size=7.0, length=4.0, sensing_range=3.0)
    check(code, seam.random_rods(np.random.default_rng(4), 12, values), values)


@CODE
def test_rods_without_stiffness_still_overlap(code):
    rods = reference.rods([[5, 5], [5, 5.5]], [0, 0], [0, 0])
    found = check(code, rods, defaults(space_size=20.0, k_cc=0.0))
    assert list(found["contacts"]) == [1, 1]
    assert list(found["speed"]) == [0, 0]


@CODE
def test_a_list_that_is_too_short_grows(code, quickly_compiled):
    """Sixty rods on one spot have more neighbours than the arrays have room for."""
    values = defaults(space_size=40.0)
    rng = np.random.default_rng(2)
    rods = Rods(20 + 0.5 * rng.normal(size=(60, 2)), rng.uniform(-3, 3, 60), np.ones(60))
    found = check(code, rods, values)
    assert found["contacts"].max() > ROOM.slots


@pytest.mark.parametrize("kernel", seam.KERNEL_NAMES)
def test_a_run_is_measured_and_keeps_its_bits(kernel):
    plain, measured = fifty(kernel), fifty(kernel)
    for _ in range(4):
        plain.advance(7)
        now = measured.advance(7)
        found = measured.measure(MEASURES)
        rods = reference.rods(now.pos, now.theta, now.activity)
        agree(found, rods, measured.params)
        assert measured.snapshot() is now
    np.testing.assert_array_equal(plain.snapshot().rods, measured.snapshot().rods)


@pytest.mark.parametrize("kernel", seam.KERNEL_NAMES)
def test_rods_keep_their_rows(kernel):
    """Also where rods have come and gone, and the list has put them in another order."""
    driver = fifty(kernel)
    driver.advance(5)
    driver.remove(driver.ids[[0, 7, 30]])
    driver.add([[1.0, 1.0]], [0.5], 1.0)
    now = driver.advance(3)
    agree(driver.measure(MEASURES), reference.rods(now.pos, now.theta, now.activity), driver.params)


@pytest.mark.parametrize("kernel", ["native", "neighbours", "rowsum"])
def test_another_state_is_measured_under_its_own_parameters(kernel):
    if kernel not in seam.KERNEL_NAMES:
        pytest.skip("no native code here")
    driver = fifty(kernel)
    before = driver.advance(3)
    expected = driver.measure(MEASURES)
    driver.set(sensing_range=0.5, F_prop=0.0)
    driver.advance(40)
    found = driver.measure(MEASURES, before)
    for name in MEASURES:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kernel", seam.KERNEL_NAMES)
def test_what_obstacles_and_a_hand_do_is_part_of_the_speed(kernel):
    """As the next step shows it, which has no noise."""
    driver = fifty(kernel)
    driver.set(push_x=14.0, push_y=14.0, push_range=8.0, push_force=40.0)
    driver.set_obstacles([Obstacle(7.0, 7.0, 4.0, 4.0), Obstacle(20.0, 20.0, radius=3.0)])
    before = driver.snapshot()
    here, there = driver.measure(["speed"]), driver.measure(["speed"], before)
    alone = driver.measure(["speed"], replace(before, obstacles=()))
    moved = driver.advance(1).pos - before.pos
    moved -= driver.params.space_size * np.round(moved / driver.params.space_size)
    np.testing.assert_allclose(
        here["speed"], np.hypot(*moved.T) / driver.params.dt, rtol=2e-3, atol=5e-3
    )
    np.testing.assert_allclose(there["speed"], here["speed"], rtol=1e-3, atol=1e-3)
    assert np.abs(alone["speed"] - here["speed"]).max() > 1


@pytest.mark.parametrize("kernel", ["native", "neighbours", "rowsum"])
def test_live_parameters_compile_nothing(kernel):
    if kernel not in seam.KERNEL_NAMES:
        pytest.skip("no native code here")
    driver = fifty(kernel)
    driver.measure(MEASURES)
    driver.measure(MEASURES, driver.snapshot())
    compiles = driver.stats.compiles
    with compile_events() as seen:
        for values in ({"F_prop": 3.0}, {"sensing_range": 1.0}, {"radius": 0.4}, {"dt": 0.001}):
            driver.set(**values)
            driver.measure(MEASURES)
            driver.measure(MEASURES, driver.snapshot())
    assert seen == []
    assert driver.stats.compiles == compiles


def test_compiles_are_told_and_counted(monkeypatch):
    monkeypatch.setattr("engine.driver.Meter", Meter)
    told = []
    driver = Driver(Setup(rods=2), Params(), start=apart(), on_compile=told.append)
    before = driver.stats.compiles
    driver.measure(["speed"])
    assert "measures" in told
    assert driver.stats.compiles > before
    assert driver.stats.last.reason == "measures"


def test_nothing_is_compiled_for_nothing(crowd):
    with compile_events() as seen:
        assert crowd.measure([]) == {}
    assert seen == []


def test_one_measure_may_be_named_by_itself(crowd):
    (name,) = crowd.measure("speed")
    assert name == "speed"


def test_an_unknown_measure_is_refused_by_name(crowd):
    with pytest.raises(ParameterError, match=r"measures = 'sped' is unknown. Use some of speed"):
        crowd.measure(["sped"])


def test_a_snapshot_carries_no_measures_by_itself(crowd):
    assert crowd.advance(2).measures == {}


def test_memory_grows_with_the_number_of_rods(monkeypatch, quickly_compiled):
    """No array of a pair of every two rods: at 4,096 of them one alone would take 64 MiB."""
    measuring = Meter(CODES[0], threads=1)
    monkeypatch.setattr("engine.measures.capacity_for", capacity_for)
    side = np.indices((64, 64)).reshape(2, -1).T + 0.5
    rods = Rods(side * 220 / 64, np.zeros(4096), np.ones(4096))
    measuring.of_snapshot(snapshot_of(rods, Params(space_size=220)), MEASURES)
    programs = measuring._programs.values()
    taken = [program.memory_analysis().temp_size_in_bytes for program in programs]
    assert max(taken) < 32 << 20
