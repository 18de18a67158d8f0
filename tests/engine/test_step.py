# SPDX-License-Identifier: GPL-3.0-or-later
"""One time step, against the reference. Closed forms are in `engine.study.validate`."""

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
