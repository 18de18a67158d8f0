# SPDX-License-Identifier: GPL-3.0-or-later
"""What live plots show: observables over time in bounded memory, and distributions of rods."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bacsim_gui.distributions import MOST_RODS, distributions, round_up
from bacsim_gui.time_series import COLUMNS, OBSERVABLES, TimeSeries, outline
from engine.observables.device import Observables
from engine.params import Params
from engine.snapshot import Snapshot


def state(step, n=1, **measures):
    observed = {name: step + at / 10 for at, name in enumerate(OBSERVABLES)}
    rods = np.random.default_rng(step).random((n, 4), np.float32)
    return Snapshot(rods, step, step / 4, Params(), observed, measures=measures)


def test_the_names_are_those_of_the_engine():
    assert Observables._fields == OBSERVABLES


@given(st.integers(1, 700), st.integers(2, 40))
def test_a_series_holds_so_many_rows_equally_far_apart_and_the_newest(count, limit):
    series = TimeSeries(limit)
    for step in range(count):
        series.add(state(step + 1))
    table = series.table()
    assert len(series) == len(table) <= limit
    steps = table[:, 0]
    assert steps[-1] == count
    assert np.all(np.diff(steps) > 0)
    apart = np.diff(steps[:-1])
    assert len(set(apart)) <= 1
    # Nothing is thinned before it must be.
    assert len(table) >= min(count, limit // 2)
    assert np.array_equal(table[:, 1], steps / 4)
    assert np.allclose(table[:, 2:], steps[:, None] + np.arange(len(OBSERVABLES)) / 10)


def test_a_branch_replaces_what_came_later():
    series = TimeSeries()
    series.fill(map(state, range(1, 11)))
    series.add(state(5))
    assert list(series.table()[:, 0]) == [1, 2, 3, 4, 5]
    series.clear()
    assert series.table().shape == (0, len(COLUMNS))


def test_a_speed_that_no_step_has_measured_is_no_speed():
    series = TimeSeries()
    series.add(Snapshot(np.zeros((1, 4), np.float32), 0, 0.0, Params(), {"mean_speed": np.nan}))
    still = Params(F_prop=0.0)
    series.add(Snapshot(np.zeros((1, 4), np.float32), 1, 0.1, still, {"mean_speed": 0.0}))
    speeds = series.table()[:, COLUMNS.index("mean_speed")]
    assert np.isnan(speeds[0])
    assert speeds[1] == 0


def of(name, snapshot):
    (found,) = [one for one in distributions(snapshot) if one.name == name]
    return found


def test_heading_and_activity_are_counted_as_by_hand():
    rods = np.zeros((4, 4), np.float32)
    rods[:, 2] = np.radians([-179, 181, 3600 + 5, 5])
    rods[:, 3] = [0, 1, 1, 0.5]
    snapshot = Snapshot(rods, 0, 0.0, Params())
    heading, activity = of("heading", snapshot), of("activity", snapshot)
    # −179 and 181 degrees are one direction.
    assert heading.shares[0] == 0.5
    assert heading.shares[np.searchsorted(heading.edges, 5) - 1] == 0.5
    assert (activity.shares[0], activity.shares[-1]) == (0.25, 0.5)
    assert [one.name for one in distributions(snapshot)] == ["heading", "activity"]


@pytest.mark.parametrize("name", ["speed", "local_density", "cluster"])
@given(st.lists(st.integers(1, 3000), min_size=1, max_size=50))
def test_measures_are_counted_each_rod_once(name, values):
    array = np.array(values, np.float32)
    snapshot = state(1, len(array), **{name: array})
    found = of(name, snapshot)
    assert found.shares.sum() == pytest.approx(1)
    assert np.all(np.diff(found.edges) > 0)
    low, high = found.edges[0], found.edges[-1]
    assert low <= array.min()
    assert array.max() <= high
    at = np.searchsorted(found.edges, array, side="right") - 1
    counts = np.bincount(np.minimum(at, len(found.shares) - 1), minlength=len(found.shares))
    assert np.allclose(found.shares, counts / len(array), atol=1e-6)


def test_a_million_rods_are_counted_in_part():
    n = 10 * MOST_RODS
    rods = np.zeros((n, 4), np.float32)
    rods[: n // 2, 3] = 1
    activity = of("activity", Snapshot(rods, 0, 0.0, Params()))
    assert activity.shares[-1] == pytest.approx(0.5)
    assert activity.shares[0] == pytest.approx(0.5)


def test_measures_that_are_no_numbers_are_left_out():
    assert "speed" not in [
        one.name for one in distributions(state(1, 2, speed=np.full(2, np.nan, np.float32)))
    ]
    one = of("speed", state(1, 2, speed=np.array([np.nan, 2], np.float32)))
    assert one.shares.sum() == 1


@given(st.floats(1e-6, 1e6))
def test_an_axis_ends_a_little_above_what_it_shows(value):
    assert value <= round_up(value) <= 2 * value
    assert round_up(0) == 1


@given(
    st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(float("nan"))), max_size=200),
    st.integers(1, 40),
)
def test_an_outline_loses_no_least_no_greatest_and_no_end(values, groups):
    values = np.array(values, float)
    kept = outline(values, groups)
    assert np.all(np.diff(kept) > 0)
    assert len(kept) <= 2 * groups + 2
    if not len(values):
        return
    assert kept[[0, -1]].tolist() == [0, len(values) - 1]
    size = -(-len(values) // groups)
    for at in range(0, len(values), size):
        of_all, of_kept = values[at : at + size], values[kept[(kept >= at) & (kept < at + size)]]
        assert np.isnan(of_kept).all() == np.isnan(of_all).all()
        if not np.isnan(of_all).all():
            assert np.nanmin(of_kept) == np.nanmin(of_all)
            assert np.nanmax(of_kept) == np.nanmax(of_all)
