# SPDX-License-Identifier: GPL-3.0-or-later
"""Noise from (seed, step, rod): its size, its independence, and what it must not depend on."""

import jax
import numpy as np
import pytest

from engine import Start
from engine.capacity import Capacity
from engine.noise import noise
from engine.params import Params
from engine.state import to_device
from engine.step import pack, unpack

N = 4096
PARAMS = Params(D_r=0.3, D_t=0.02, dt=0.004)


@jax.jit
def _noise(state, packed):
    return noise(state, unpack(packed))[:2]


def draw(n: int = N, params: Params = PARAMS, step: int = 0, seed: int = 0):
    start = Start(np.zeros((n, 2)), np.zeros(n), np.zeros(n))
    state = to_device(start, params, Capacity(n + 2, 1, 0, 0), listed=False, step=step, seed=seed)
    drawn = tuple(np.asarray(values, np.float64) for values in _noise(state, pack(params)))
    assert not any(values[n:].any() for values in drawn), "an empty place drew"
    return tuple(values[:n] for values in drawn)


def test_variances_are_twice_the_diffusivities_times_dt():
    shifts, turns = (
        np.concatenate(v) for v in zip(*(draw(step=s) for s in range(20)), strict=True)
    )
    size = shifts.size
    # Four standard deviations of a sample variance, sqrt(2/n), and of a mean, 1/sqrt(n).
    assert (shifts**2).mean() == pytest.approx(2 * 0.02 * 0.004, rel=4 * np.sqrt(2 / size))
    assert (turns**2).mean() == pytest.approx(2 * 0.3 * 0.004, rel=4 * np.sqrt(2 / turns.size))
    assert abs(shifts.mean()) < 4 * shifts.std() / np.sqrt(size)
    assert abs(turns.mean()) < 4 * turns.std() / np.sqrt(turns.size)
    # Gaussian: the fourth moment is 3 (variance)^2, its own deviation sqrt(96/n).
    kurtosis = (turns**4).mean() / (turns**2).mean() ** 2
    assert kurtosis == pytest.approx(3.0, abs=4 * np.sqrt(96 / turns.size))


def test_draws_are_independent_of_each_other():
    first = np.column_stack([draw(step=7)[0], draw(step=7)[1]])
    later = np.column_stack([draw(step=8)[0], draw(step=8)[1]])
    other = np.column_stack([draw(step=7, seed=1)[0], draw(step=7, seed=1)[1]])
    columns = np.column_stack([first, later, other, np.roll(first, 1, axis=0)])
    correlation = np.corrcoef(columns.T) - np.eye(12)
    assert np.abs(correlation).max() < 5 / np.sqrt(N)


def test_a_rod_draws_the_same_whatever_the_number_of_rods():
    shifts, turns = draw(n=1000, step=5, seed=3)
    for n in (1, 7, 999):
        fewer, turned = draw(n=n, step=5, seed=3)
        np.testing.assert_array_equal(fewer, shifts[:n])
        np.testing.assert_array_equal(turned, turns[:n])


def test_the_same_step_and_seed_draw_the_same():
    late = {"step": 2**31 + 5, "seed": 2**32 - 1}
    np.testing.assert_array_equal(draw(**late)[0], draw(**late)[0])
    assert not np.array_equal(draw(step=1, seed=2)[0], draw(step=2, seed=1)[0])


def test_either_noise_can_be_off():
    shifts, turns = draw(params=Params(D_r=0.3, D_t=0.0))
    assert not shifts.any()
    assert turns.any()
    shifts, turns = draw(params=Params(D_r=0.0, D_t=0.3))
    assert shifts.any()
    assert not turns.any()
    assert not any(values.any() for values in draw(params=Params()))
    # Turning one on does not change what the other draws.
    both = draw(params=Params(D_r=0.3, D_t=0.3))
    np.testing.assert_array_equal(both[0], shifts)


def test_a_run_draws_anew_each_step_from_its_seed_and_its_step(pair):
    """Step k of a run takes draw k, whatever was edited or relaxed on the way."""
    values = {"k_cc": 0.0, "F_prop": 0.0, "D_t": 0.02, "D_r": 0.3, "dt": 0.004}
    params = Params(space_size=16.0, **values)
    start = Start(np.array([[4.0, 4.0], [12.0, 12.0]]), np.zeros(2), np.zeros(2))
    pair.rebuild(params=params, seed=11, start=start)
    for k in range(6):
        if k == 3:
            pair.set(length=4.5)
        before = pair.snapshot().rods.copy()
        moved = np.float64(pair.advance(1).rods) - before
        shifts, turns = draw(n=2, params=params, step=k, seed=11)
        # One rounding of a place near 12.
        np.testing.assert_allclose(moved[:, :2], shifts, rtol=0, atol=1e-6)
        np.testing.assert_allclose(moved[:, 2], turns, rtol=0, atol=1e-6)
