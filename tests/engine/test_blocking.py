# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of means by blocking, against processes whose errors are known."""

import math

import numpy as np
import pytest
from scipy.signal import lfilter

from engine.study.blocking import average, errors_by_block


def remembering(rho: float, n: int, seed: int) -> np.ndarray:
    """x_{k+1} = ρ x_k + noise, of variance 1; the error of its mean is √((1 + ρ)/(1 − ρ)/n)."""
    noise = np.random.default_rng(seed).normal(0, math.sqrt(1 - rho**2), n + 1000)
    return lfilter([1.0], [1.0, -rho], noise)[1000:]


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 0.97])
def test_the_error_of_a_process_that_remembers(rho):
    n = 16384
    found = [average(remembering(rho, n, seed)) for seed in range(40)]
    assert all(one.trusted for one in found)
    true = math.sqrt((1 + rho) / (1 - rho) / n)
    assert np.mean([one.error for one in found]) == pytest.approx(true, rel=0.1)
    # And it is the scatter of the means: within three errors in nearly all of them.
    assert sum(abs(one.mean) < 3 * one.error for one in found) >= 38
    remembered = (1 + rho) / (1 - rho)
    assert np.median([one.block for one in found]) >= remembered
    assert all(one.blocks == n // one.block for one in found)


def test_single_values_would_give_too_small_an_error():
    lengths, errors = errors_by_block(remembering(0.9, 4096, 1))
    assert lengths == [2**k for k in range(12)]
    assert errors[0] == pytest.approx(1 / 64, rel=0.2)
    assert errors[6] > 3 * errors[0]


@pytest.mark.parametrize(("rho", "n"), [(0.0, 32), (0.5, 128), (0.9, 2000)])
def test_few_values_that_are_trusted_are_not_trusted_by_chance(rho, n):
    found = [average(remembering(rho, n, seed)) for seed in range(600)]
    beyond = [abs(one.mean) > 2 * one.error for one in found if one.trusted]
    assert len(beyond) > 200
    # 5 in 100 of a normal process; 9 to 13 where the first plateau's own error is taken.
    assert np.mean(beyond) < 0.085


def test_a_run_that_is_too_short_says_so():
    # One and a half times what the process remembers.
    found = [average(remembering(0.97, 100, seed)) for seed in range(100)]
    assert sum(one.trusted for one in found) <= 5
    # The bound is still above what independent values would have.
    assert np.mean([one.error for one in found]) > 1 / 10
    line = average(np.arange(200.0))
    assert not line.trusted
    assert line.drift > 1
    assert line.mean == pytest.approx(99.5)


def test_a_drift_is_told_in_errors():
    rng = np.random.default_rng(0)
    still = average(rng.normal(size=4096))
    assert abs(still.drift) < 3
    moved = average(np.concatenate([rng.normal(size=2048), rng.normal(0.5, 1, 2048)]))
    assert moved.mean == pytest.approx(0.25, abs=0.1)
    assert moved.drift > 0


def test_equal_values_have_no_error():
    found = average(np.full(50, 0.1))
    assert (found.error, found.trusted, found.drift) == (0, True, 0)


def test_values_that_are_not_known_are_left_out():
    values = np.random.default_rng(1).normal(size=1024)
    holes = np.insert(values, [5, 300], math.nan)
    assert average(holes) == average(values)


@pytest.mark.parametrize("values", [[], [2.0], [math.nan, 2.0]])
def test_less_than_two_values_have_no_error(values):
    found = average(np.array(values))
    assert math.isnan(found.error)
    assert not found.trusted
    assert found.values == len([v for v in values if v == v])
    assert math.isnan(found.mean) if found.values == 0 else found.mean == 2


def test_two_and_three_values_are_never_trusted():
    for values in ([1.0, 2.0], [1.0, 2.0, 4.0]):
        found = average(np.array(values))
        assert not found.trusted
        assert found.error == pytest.approx(np.std(values, ddof=1) / math.sqrt(len(values)))


def test_how_many_values_are_needed_is_told_to_a_factor():
    short = [average(remembering(0.9, 200, seed)) for seed in range(200)]
    needed = [one.needed for one in short if not one.trusted]
    assert len(needed) > 100
    assert min(needed) > 200
    # With all of them known, 32 (1 + ρ)/(1 − ρ) = 608.
    assert 250 < np.median(needed) < 900
    assert sum(average(remembering(0.9, 4 * 608, seed)).trusted for seed in range(100)) > 90
