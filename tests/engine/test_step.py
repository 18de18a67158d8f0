# SPDX-License-Identifier: GPL-3.0-or-later
"""One time step: against the reference, and against what can be computed by hand."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import Driver, Params
from engine.step import activation
from tests.engine import seam
from tests.engine.programs import NATIVE_ROOM, ROOM, setup_for
from tests.oracle import reference, rounding
from tests.oracle.reference import defaults

KERNELS = pytest.mark.parametrize("kernel", seam.KERNEL_NAMES)


def angle_between(a, b):
    return np.abs(np.mod(np.asarray(a) - b + np.pi, 2 * np.pi) - np.pi)


def gap_between(a, b, space_size):
    return np.abs(reference.minimum_image(np.asarray(a) - b, space_size))


CASES = {
    "thrust": {"F_prop": 8.0},
    "thrust and torque": {"F_prop": 8.0, "T_prop": -1.5},
    "smooth activation": {"activity_thresh": 2.5, "activity_width": 0.7},
    "hard activation": {"activity_thresh": 2.5, "activity_width": 0.0, "F_prop": 3.0},
    "memory": {"activity_thresh": 2.5, "activity_width": 0.7, "tau_a": 0.02},
    "hard with memory": {"activity_thresh": 2.5, "activity_width": 0.0, "tau_a": 5.0},
    "pure contagion": {"w_d": 0.0, "w_a": 1.0, "activity_thresh": 1.5, "activity_width": 0.25},
    "quorum quench": {"w_d": -1.0, "w_a": 0.0, "activity_thresh": -5.0, "tau_a": 1.0},
    "viscous": {"gamma": 7.0, "F_prop": 20.0},
    "other rods": {"length": 9.0, "radius": 0.4, "F_prop": 18.0, "T_prop": 0.3, "k_cc": 135.0},
}


@KERNELS
@pytest.mark.parametrize("name", CASES)
def test_a_step_is_the_reference_step(kernel, name):
    params = seam.params_of(defaults(space_size=36.0, **CASES[name]))
    rods = seam.random_rods(np.random.default_rng(5), 100, params)
    got, velocity, spin = seam.step_of(rods, params, kernel)
    expected = reference.one_timestep(rods, params)
    true_velocity, true_spin = reference.velocities(rods, params)

    allowed = rounding.bounds(reference.pairs(rods, params), rods, params)
    zeta, _, zeta_r = reference.drag(params)
    slow, turn = allowed.force / zeta + 1e-5, allowed.torque / zeta_r + 1e-5
    assert np.all(np.hypot(*(velocity - true_velocity).T) <= slow)
    assert np.all(np.abs(spin - true_spin) <= turn)
    ulp = 2.0**-22 * params.space_size
    moved = gap_between(got.pos, expected.pos, params.space_size)
    assert np.all(moved <= slow[:, None] * params.dt + ulp)
    assert np.all(angle_between(got.theta, expected.theta) <= turn * params.dt + 1e-6)
    np.testing.assert_allclose(got.activity, expected.activity, rtol=0, atol=3e-6)
    assert np.all((got.pos >= 0) & (got.pos < params.space_size))
    assert np.all((got.activity >= 0) & (got.activity <= 1))


@KERNELS
def test_thrust_forces_and_sensing_read_the_same_instant(kernel):
    """A rod that falls asleep in this step still moves by its old activity; one that wakes does not
    move yet."""
    values = defaults(F_prop=8.0, activity_thresh=0.5, activity_width=0.0, sensing_range=2.0)
    rods = reference.rods([[5, 5], [20, 20], [20, 21.5]], [0, 0, 0], [1.0, 0.0, 0.0])
    got, velocity, _ = seam.step_of(rods, seam.params_of(values), kernel)
    np.testing.assert_allclose(velocity, [[1, 0], [0, 0], [0, 0]], atol=1e-6)
    np.testing.assert_array_equal(got.activity, [0.0, 1.0, 1.0])


@pytest.mark.parametrize("theta", [0.0, 1.0, -2.7])
@pytest.mark.parametrize("activity", [0.0, 0.4, 1.0])
def test_free_rod_speed(theta, activity):
    """v = F_prop/(2 gamma l), along the rod."""
    params = seam.params_of(defaults(F_prop=11.0, gamma=0.8))
    rods = reference.rods([[20.0, 20.0]], [theta], [activity])
    _, velocity, spin = seam.step_of(rods, params)
    speed = 11.0 / (2 * 0.8 * 4.0) * activity
    np.testing.assert_allclose(
        velocity[0], speed * np.array([np.cos(theta), np.sin(theta)]), rtol=1e-6, atol=1e-6
    )
    assert spin[0] == 0.0


def test_a_circle_swimmer_turns_at_T_prop_over_its_drag():
    params = seam.params_of(defaults(F_prop=8.0, T_prop=0.5))
    _, velocity, spin = seam.step_of(reference.rods([[20, 20]], [0.3], [1.0]), params)
    assert spin[0] == pytest.approx(0.5 / (64 / 12), rel=1e-6)
    assert np.hypot(*velocity[0]) / spin[0] == pytest.approx(1.0 * (64 / 12) / 0.5, rel=1e-6)


def overlap_of(rods, params) -> float:
    return float(reference.pairs(rods, params).overlap[0, 1])


@KERNELS
def test_overlap_decays_by_one_minus_lambda_dt(kernel):
    """Contact through both centres, no thrust: lambda = 2k/zeta."""
    params = seam.params_of(defaults(k_cc=60.0, dt=0.003))
    rods = seam.single(reference.rods([[5.0, 5.0], [5.0, 5.75]], [0, 0], [0, 0]), params)
    factor = 1 - (2 * 60.0 / 4.0) * 0.003
    overlap = overlap_of(rods, params)
    assert overlap == pytest.approx(0.25, abs=1e-6)
    for _ in range(20):
        rods, _, spin = seam.step_of(rods, params, kernel)
        np.testing.assert_allclose(spin, 0, atol=1e-3)
        overlap *= factor
        # Positions near 5 have an ulp of 5e-7.
        assert overlap_of(rods, params) == pytest.approx(overlap, abs=3e-6)


def test_tip_on_tip_is_the_stiffest_contact():
    """lambda_0 = 8k/(gamma l): two tips pushed apart across their rods.

    Each tip moves by F/zeta + (l/2)^2 F/zeta_R = 4F/zeta.
    """
    params = seam.params_of(defaults(k_cc=60.0, dt=0.003))
    # Antiparallel rods, tips 0.03 apart along the axis so that eps draws no contact point inwards.
    rods = seam.single(reference.rods([[8, 8], [12.03, 8.75]], [0, math.pi], [0, 0]), params)
    pairs = reference.pairs(rods, params)
    assert pairs.s[0, 1] == pairs.s[1, 0] == 2.0
    _, velocity, spin = seam.step_of(rods, params)
    tips = velocity + spin[:, None] * 2.0 * np.array([[0.0, 1.0], [0.0, -1.0]])
    normal = pairs.e[0, 1] / np.hypot(*pairs.e[0, 1])
    rate = (tips[0] - tips[1]) @ normal / pairs.overlap[0, 1]
    # The normal leans by 0.04 from the perpendicular: 4 becomes 4 - 3 (0.04)^2.
    assert rate == pytest.approx(8 * 60.0 / 4.0, rel=2e-3)


def settle(rods, params, steps):
    for _ in range(steps):
        rods, velocity, _ = seam.step_of(rods, params)
    return rods, velocity


@pytest.mark.parametrize("q", [0.02, 0.067, 0.1])
def test_head_on_pair_rests_at_overlap_F_eff_over_k(q):
    """The balance is unstable sideways, so it is read before round-off has grown."""
    thrust = 2 * q * 60.0
    params = seam.params_of(
        defaults(F_prop=thrust, k_cc=60.0, activity_thresh=-50.0, activity_width=0.0)
    )
    rods = reference.rods([[10, 10], [14.9, 10]], [0, math.pi], [1, 1])
    rods, velocity = settle(seam.single(rods, params), params, 150)
    assert overlap_of(rods, params) == pytest.approx(0.5 * thrust / 60.0, rel=1e-3, abs=3e-6)
    np.testing.assert_allclose(velocity, 0, atol=1e-3)


def test_active_rod_rams_a_passive_one_broadside():
    """Overlap F_eff/2k, pair speed v0/2. w_d = w_a = 0 and a long memory keep the activities."""
    params = seam.params_of(
        defaults(F_prop=8.0, k_cc=60.0, w_d=0.0, w_a=0.0, activity_thresh=9.0, tau_a=1e9)
    )
    rods = reference.rods([[10, 10], [12.95, 10]], [0, math.pi / 2], [1, 0])
    rods, velocity = settle(seam.single(rods, params), params, 400)
    assert overlap_of(rods, params) == pytest.approx(4.0 / 120.0, rel=2e-3)
    np.testing.assert_allclose(velocity, [[0.5, 0], [0.5, 0]], atol=1e-3)


@KERNELS
@pytest.mark.parametrize("phi_box", [60.0, 30.0])
def test_the_centre_moves_with_the_mean_thrust(kernel, phi_box):
    """V_cm = v0 <a u>: contacts cancel, whatever the crowd."""
    params = seam.params_of(defaults(space_size=phi_box, F_prop=8.0, k_cc=60.0))
    rods = seam.random_rods(np.random.default_rng(11), 100, params)
    _, velocity, _ = seam.step_of(rods, params, kernel)
    axis = np.stack([np.cos(rods.theta), np.sin(rods.theta)], axis=1)
    np.testing.assert_allclose(
        velocity.mean(0), (rods.activity[:, None] * axis).mean(0), rtol=0, atol=2e-5
    )


@pytest.mark.parametrize("factor", [0.25, 2.0, 8.0])
def test_noise_free_scaling(factor):
    """F_prop, T_prop, k_cc x c and dt / c: the same trajectory; to the bit for powers of two."""
    values = {"F_prop": 8.0, "T_prop": 0.5, "k_cc": 60.0, "dt": 0.0025}
    scaled = {k: v / factor if k == "dt" else v * factor for k, v in values.items()}
    shared = {"space_size": 32.0, "activity_thresh": 3.0, "activity_width": 0.7}
    one, other = (seam.params_of(defaults(**shared, **v)) for v in (values, scaled))
    rods = same = seam.random_rods(np.random.default_rng(12), 100, one)
    for _ in range(20):
        rods, _, _ = seam.step_of(rods, one)
        same, _, _ = seam.step_of(same, other)
    for mine, theirs in zip(rods, same, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_short_trajectory_follows_the_reference():
    """60 steps of a crowd, a fifth of a body width: before chaos, all rods within 1e-3 d."""
    params = seam.params_of(
        defaults(space_size=36.0, F_prop=8.0, T_prop=0.2, activity_thresh=3.0, activity_width=0.7)
    )
    rods = seam.random_rods(np.random.default_rng(13), 100, params)
    rods = seam.single(reference.run(rods, params, 50), params)
    true = rods
    for _ in range(60):
        rods, _, _ = seam.step_of(rods, params, "rowsum")
        true = reference.one_timestep(true, params)
    assert gap_between(rods.pos, true.pos, params.space_size).max() < 1e-3
    assert angle_between(rods.theta, true.theta).max() < 1e-3
    assert np.abs(rods.activity - true.activity).max() < 1e-3


def activate(sensed, thresh, width):
    return np.asarray(
        jax.jit(activation)(jnp.float32(sensed), jnp.float32(thresh), jnp.float32(width))
    )


@given(
    st.floats(-100, 100, width=32),
    st.floats(-20, 20, width=32),
    st.floats(0.015625, 10, width=32),
)
def test_smooth_activation(sensed, thresh, width):
    expected = reference.activation(np.float64(sensed), thresh, width)
    np.testing.assert_allclose(activate(sensed, thresh, width), expected, rtol=2e-4, atol=1e-6)


def test_hard_activation_includes_the_threshold():
    """S takes whole values, so the sign matters."""
    got = activate([2.0, 2.9999998, 3.0, 3.0000002, 40.0], 3.0, 0.0)
    np.testing.assert_array_equal(got, [0, 0, 1, 1, 1])
    np.testing.assert_array_equal(activate([-6.0, -5.0, -4.0], -5.0, 0.0), [0, 1, 1])


def test_activation_of_extremes_is_finite():
    got = activate([-1e30, 1e30, 0.0], 0.0, 1e-30)
    np.testing.assert_array_equal(got, [0.0, 1.0, 0.5])


def test_memory_relaxes_by_the_exact_exponential():
    """a <- A + (a - A) exp(-dt/tau): a lone rod sleeps with A = 0."""
    params = seam.params_of(defaults(activity_thresh=50.0, activity_width=0.0, tau_a=0.01))
    rods = reference.rods([[1, 1]], [0], [1.0])
    for _ in range(10):
        rods, _, _ = seam.step_of(rods, params)
    assert rods.activity[0] == pytest.approx(math.exp(-10 * 0.003 / 0.01), rel=1e-5)


@pytest.mark.parametrize("kernel", ["naive", "rowsum", "neighbours", "native"])
def test_where_jax_has_64_bits_the_engine_keeps_its_32_and_the_bits(kernel, monkeypatch):
    """As in a notebook that asks for them at its top."""

    # In arrays of the sizes that other tests have, and compiled all the same.
    room = NATIVE_ROOM if kernel == "native" else ROOM
    monkeypatch.setattr("engine.runner.capacity_for", lambda *_: room)

    def rods() -> np.ndarray:
        driver = Driver(setup_for(kernel, 40), Params(space_size=40.0, D_r=0.1), seed=1)
        assert driver.stats.compiles == 1
        return driver.advance(20).rods

    usual = rods()
    with jax.enable_x64(True):
        wide = rods()
    assert wide.dtype == np.float32
    np.testing.assert_array_equal(wide, usual)
