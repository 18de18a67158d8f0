# SPDX-License-Identifier: GPL-3.0-or-later
"""K fused steps: what decides bits, what leaves the engine, and runs against the reference."""

import dataclasses
import math

import numpy as np
import pytest

from engine import Driver, Params, Setup, Snapshot, Start
from tests.engine.conftest import CROWD, CROWD_PARAMS, NOISY, with_params
from tests.engine.programs import setup_for
from tests.oracle import reference


def same_bits(a: Snapshot, b: Snapshot) -> bool:
    return (
        a.rods.tobytes() == b.rods.tobytes()
        and a.step == b.step
        and a.time == pytest.approx(b.time, rel=1e-12)
    )


def advance_in(driver: Driver, parts) -> Snapshot:
    for K in parts:
        snapshot = driver.advance(K)
    return snapshot


SPLITS = [[1] * 64, [2] * 32, [63, 1], [1, 63], [5, 0, 7, 52], [32, 32]]


@pytest.mark.parametrize("noise", [{}, NOISY], ids=["quiet", "noisy"])
@pytest.mark.parametrize("parts", SPLITS, ids=lambda parts: f"{len(parts)} parts, {parts[0]} first")
def test_K_does_not_change_bits(crowd, parts, noise):
    crowd.set(**noise)
    at_once = crowd.advance(64)
    crowd.rebuild(CROWD, with_params(**noise), 1)
    assert same_bits(advance_in(crowd, parts), at_once)
    assert at_once.step == 64


EDITS = {
    10: {"F_prop": 5.0, "activity_thresh": 3.0},
    17: {"dt": 0.0021},
    25: {"space_size": 44.0},
    30: {"D_r": 0.05},
    33: {"length": 4.5, "dt": 0.0025},
    41: {"radius": 0.45, "sensing_range": 2.5},
    50: {"k_cc": 80.0, "dt": 0.002, "T_prop": -0.5},
}


@pytest.mark.parametrize("largest", [1, 7, 64])
def test_edits_at_the_same_steps_give_the_same_bits_whatever_K(crowd, largest):
    def run(largest: int) -> Snapshot:
        crowd.rebuild(CROWD, CROWD_PARAMS, 1)
        for stop in [*sorted(EDITS), 64]:
            while crowd.step < stop:
                crowd.advance(min(largest, stop - crowd.step))
            crowd.set(**EDITS.get(stop, {}))
        return crowd.snapshot()

    assert same_bits(run(largest), run(13))


def test_one_edit_or_many_give_the_same_bits(crowd):
    crowd.set(F_prop=5.0, dt=0.002, w_a=2.0)
    together = crowd.advance(20)
    crowd.rebuild(CROWD, CROWD_PARAMS, 1)
    crowd.set(dt=0.5)
    crowd.set(w_a=2)
    crowd.set(F_prop="5")
    crowd.set(dt=np.float32(0.002))
    assert same_bits(crowd.advance(20), together)


def test_a_fresh_a_rebuilt_and_a_reset_driver_give_the_same_bits(crowd):
    crowd.set(**NOISY)
    first = crowd.advance(30)
    crowd.reset()
    assert crowd.step == 0
    assert crowd.time == 0.0
    assert same_bits(crowd.advance(30), first)
    fresh = Driver(CROWD, with_params(**NOISY), seed=1)
    assert same_bits(fresh.advance(30), first)


def test_the_seed_decides_placement_and_noise(crowd):
    placed = crowd.snapshot()
    crowd.rebuild(seed=2)
    assert not np.array_equal(crowd.snapshot().rods, placed.rods)

    start = Start(placed.pos, placed.theta, placed.activity)
    ends = []
    for seed, noise in ((1, NOISY), (2, NOISY), (1, {}), (2, {})):
        crowd.rebuild(params=with_params(**noise), seed=seed, start=start)
        ends.append(crowd.advance(10).rods)
    assert not np.array_equal(ends[0], ends[1])
    # Without noise the seed decides nothing once the rods are placed.
    assert np.array_equal(ends[2], ends[3])


def test_time_is_the_sum_of_dt_in_float64(pair):
    expected, parts = 0.0, ((3, 0.002), (40, 0.0013), (1, 0.003), (1000, 0.0005))
    for K, dt in parts:
        pair.set(dt=dt)
        pair.advance(K // 2)
        pair.advance(K - K // 2)
        expected += K * dt
    assert pair.time == pytest.approx(expected, rel=1e-7)
    assert pair.snapshot().time == pair.time
    assert pair.step == pair.snapshot().step == sum(K for K, _ in parts)


def test_a_snapshot_is_a_copy_of_16_bytes_a_rod(crowd):
    crowd.advance(5)
    before = crowd.snapshot()
    assert before.rods.dtype == np.float32
    assert before.rods.shape == (150, 4)
    assert before.rods.flags.c_contiguous
    assert before.rods.nbytes == 16 * before.n
    assert before.pos.shape == (150, 2)
    assert before.theta.shape == before.activity.shape == (150,)
    assert before.params == crowd.params
    kept = before.rods.copy()
    after = crowd.advance(5)
    assert np.array_equal(before.rods, kept)
    assert not np.array_equal(after.rods, kept)


def test_no_steps_change_nothing(crowd):
    before = crowd.advance(5)
    after = crowd.advance(0)
    assert same_bits(before, after)
    assert after.observables == before.observables


def test_observables_are_those_of_the_snapshot(crowd):
    crowd.advance(49)
    before = crowd.snapshot()
    after = crowd.advance(1)
    theta, activity = np.float64(after.theta), np.float64(after.activity)
    velocity, _ = reference.velocities(
        reference.rods(before.pos, before.theta, before.activity), crowd.params
    )
    expected = {
        "active_fraction": (activity > 0.5).mean(),
        "mean_activity": activity.mean(),
        "polar_order": np.hypot(np.cos(theta).mean(), np.sin(theta).mean()),
        "nematic_order": np.hypot(np.cos(2 * theta).mean(), np.sin(2 * theta).mean()),
        # The speed of the step that led here.
        "mean_speed": np.hypot(*velocity.T).mean(),
    }
    assert dict(after.observables) == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_before_the_first_step_no_speed_is_known(pair):
    start = Start(np.array([[5.0, 5.0], [15.0, 15.0]]), np.zeros(2), np.ones(2))
    pair.rebuild(params=Params(space_size=20.0, activity_thresh=0.0), start=start)
    assert math.isnan(pair.snapshot().observables["mean_speed"])
    assert math.isnan(pair.advance(0).observables["mean_speed"])
    speed = pair.advance(1).observables["mean_speed"]
    assert speed > 0
    assert pair.advance(0).observables["mean_speed"] == speed


@pytest.mark.parametrize("theta", [0.0, 2.0])
def test_a_free_rod_swims_straight_through_the_edge(pair, theta):
    """1,000 steps of v0 dt, wrapped; the second rod sleeps and stays."""
    params = Params(space_size=20.0, activity_thresh=0.0, activity_width=0.0, dt=0.003)
    start = Start(np.array([[19.0, 19.5], [8.0, 12.0]]), np.array([theta, 0.1]), np.ones(2))
    pair.rebuild(params=params, start=start)
    snapshot = pair.advance(1000)
    exact = start.pos[0] + 1000 * 0.003 * 1.0 * np.array([math.cos(theta), math.sin(theta)])
    off = reference.minimum_image(snapshot.pos[0] - exact, 20.0)
    # Each step rounds a position near 20 by at most half an ulp, 1e-6.
    assert np.abs(off).max() < 1000 * 1e-6
    assert np.all((snapshot.pos >= 0) & (snapshot.pos < 20.0))
    assert snapshot.observables["mean_speed"] == pytest.approx(1.0, rel=1e-6)


def test_a_circle_swimmer_keeps_to_the_polygon_of_the_Euler_step(pair):
    """Polygon radius exactly v0 dt/(2 sin(w0 dt/2)), a large dt so that it differs from v0/w0."""
    params = Params(
        space_size=16.0, T_prop=40.0, k_cc=1.0, dt=0.05,
        activity_thresh=-9.0, activity_width=0.0, sensing_range=0.0,
    )  # fmt: skip
    omega = 40.0 / (64 / 12)
    radius = 1.0 * 0.05 / (2 * math.sin(omega * 0.05 / 2))
    assert radius > 1.005 / omega
    start = Start(np.array([[4.0, 4.0], [12.0, 12.0]]), np.zeros(2), np.ones(2))
    pair.rebuild(params=params, start=start)
    path = [start.pos[0], *(pair.advance(1).pos[0].copy() for _ in range(60))]
    # The first corner is `start`; the centre lies to the left of the middle of the first side.
    half = omega * 0.05 / 2
    centre = start.pos[0] + radius * np.array([math.sin(half), math.cos(half)])
    distances = np.hypot(*(np.array(path) - centre).T)
    np.testing.assert_allclose(distances, radius, rtol=0, atol=3e-5)


@pytest.mark.parametrize("kernel", ["neighbours", "naive", "native"])
def test_a_crowd_follows_the_reference_for_a_while(crowd, kernel, compiled_as_for_users):
    """100 steps, 0.3 body widths at v0: well before chaos (2 d/v0)."""
    snapshot = crowd.snapshot()
    start = Start(snapshot.pos, snapshot.theta, snapshot.activity)
    got = Driver(setup_for(kernel, CROWD.rods), CROWD_PARAMS, 1, start).advance(100)
    # The parameters as the engine holds them.
    params = Params(
        **{k: float(np.float32(v)) for k, v in dataclasses.asdict(CROWD_PARAMS).items()}
    )
    true = reference.run(reference.rods(start.pos, start.theta, start.activity), params, 100)
    off = reference.minimum_image(got.pos - true.pos, params.space_size)
    # Round-off of 2e-6 a step, amplified by collisions; most rods stay much closer.
    assert np.abs(off).max() < 5e-3
    assert np.median(np.abs(off)) < 1e-4
    assert np.abs(got.activity - true.activity).max() < 5e-3


def test_a_start_keeps_the_rods_as_given(pair):
    start = Start(np.array([[3.0, 4.0], [39.0, 0.5]]), np.array([0.25, -3.0]), np.array([1.0, 0.0]))
    pair.rebuild(start=start)
    snapshot = pair.snapshot()
    np.testing.assert_array_equal(snapshot.pos, np.float32(start.pos))
    np.testing.assert_array_equal(snapshot.theta, np.float32(start.theta))
    np.testing.assert_array_equal(snapshot.activity, np.float32(start.activity))
    assert snapshot.step == 0


def test_one_rod_alone_runs():
    driver = Driver(Setup(rods=1), Params(space_size=12.0, activity_thresh=0.0), seed=3)
    assert np.isfinite(driver.advance(50).rods).all()
